"""Labels of records in batches, from a recoding of distinct rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.anonymize.search.outcome import Recoding
from hybrid.anonymize.search.problem import SearchProblem
from hybrid.base.arrays import Codes, Mask
from hybrid.base.keys import RowIndex, RowKeys
from hybrid.hierarchy import LabelTable
from hybrid.table import Schema, Table

Columns = Sequence[Codes]
"""One array of numbers per quasi-identifier, each of shape (n_rows,)."""


class Labelling(Protocol):
    """Labelling of batches: a label per cell, a mask of suppressed records."""

    def label(self, codes: Columns, numbers: Columns) -> tuple[Mask, list[Codes]]:
        """Label a batch.

        Parameters
        ----------
        codes, numbers : sequences of numpy.ndarray
            Of each quasi-identifier, as :meth:`hybrid.table.read_batches.ValueNumbers.number` gives them.

        Returns
        -------
        kept : numpy.ndarray, shape (n_rows,), bool
            Records that are not left out.
        labels : list of numpy.ndarray, each of shape (n_rows,), int32
            Position of each record's label in :attr:`Labels.texts`; -1 for some records that are left out.
        """


@dataclass(frozen=True)
class Labels:
    """The labels of the released records.

    Parameters
    ----------
    texts : list of pyarrow.Array
        The labels of each quasi-identifier.
    of_node : list of numpy.ndarray, each of shape (n_nodes,), int32
        Position in ``texts`` of each node of the hierarchy; -1 for nodes that no released record has.
    """

    texts: list[pa.Array]
    of_node: list[Codes]

    @classmethod
    def of(cls, schema: Schema, task: SearchProblem, recoding: Recoding) -> Labels:
        """Labels that a decision releases, named as in a label table."""
        kept = ~recoding.suppressed & (task.records.counts > 0)
        nodes = recoding.nodes[kept]
        nothing_else = Table(pd.DataFrame(index=pd.RangeIndex(len(nodes))), Schema(()))
        used = schema.only(task.records.names)
        frame = LabelTable(nodes, nothing_else, used, task.hierarchies).to_table().frame
        texts, of_node = [], []
        for at, hierarchy in enumerate(task.records.hierarchies):
            labels = frame[hierarchy.column].cat
            texts.append(pa.array(labels.categories.astype(object), pa.string()))
            lookup = np.full(hierarchy.n_nodes, -1, dtype=np.int32)
            lookup[nodes[:, at]] = labels.codes
            of_node.append(lookup)
        return cls(texts, of_node)


class ByColumn:
    """Global recoding.

    A cell's label follows from its value; a record is kept if its labels are a released class.

    Parameters
    ----------
    task, recoding : SearchProblem, Recoding
        What was asked for and what was decided.
    labels : Labels
        Of the decision.
    leaf_of : sequence of numpy.ndarray, each of shape (n_values,), int
        Hierarchy leaf of each value number; anything for numbers that no record has.
    """

    of_value: list[Codes]
    """Position in :attr:`Labels.texts` of each value number's label, by quasi-identifier; -1: no released record."""

    def __init__(self, task: SearchProblem, recoding: Recoding, labels: Labels, leaf_of: Columns) -> None:
        assert recoding.levels is not None
        records = task.records
        columns = zip(labels.of_node, records.hierarchies, leaf_of, recoding.levels.values(), strict=True)
        self.of_value = [of_node[hierarchy.node_of[leaves, level]] for of_node, hierarchy, leaves, level in columns]
        released = recoding.nodes[~recoding.suppressed & (records.counts > 0)]
        classes = [of_node[nodes] + 1 for of_node, nodes in zip(labels.of_node, released.T, strict=True)]
        sizes = [len(texts) + 1 for texts in labels.texts]
        packing = RowKeys(classes, sizes)
        self._classes = RowIndex(packing.decode(np.unique(packing.keys)), sizes)

    def label(self, codes: Columns, numbers: Columns) -> tuple[Mask, list[Codes]]:
        """As :meth:`Labelling.label`."""
        columns = zip(self.of_value, codes, numbers, strict=True)
        labels = [of_value[number][code] for of_value, code, number in columns]
        return self._classes.find([label + 1 for label in labels]) >= 0, labels


class ByRow:
    """Local recoding: records are looked up by all their quasi-identifying values.

    Parameters
    ----------
    task, recoding, labels
        As for :class:`ByColumn`.
    rows : sequence of numpy.ndarray
        Value numbers of each quasi-identifier in the rows that ``task.records`` was collected from.
    sizes : sequence of int
        How many value numbers each quasi-identifier has.
    """

    def __init__(
        self, task: SearchProblem, recoding: Recoding, labels: Labels, rows: Columns, sizes: Sequence[int]
    ) -> None:
        packing = RowKeys(rows, sizes)
        distinct, first = np.unique(packing.keys, return_index=True)
        self._rows = RowIndex(packing.decode(distinct), sizes)
        at = task.records.row_of[first]
        self._kept = ~recoding.suppressed[at]
        self._of_row = [of_node[nodes] for of_node, nodes in zip(labels.of_node, recoding.nodes[at].T, strict=True)]

    def label(self, codes: Columns, numbers: Columns) -> tuple[Mask, list[Codes]]:
        """As :meth:`Labelling.label`."""
        at = self._rows.find([number[code] for code, number in zip(codes, numbers, strict=True)])
        return self._kept[at] & (at >= 0), [of_row[at] for of_row in self._of_row]
