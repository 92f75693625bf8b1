"""Labels of a Parquet file's records, from a recoding of distinct rows, written in batches and random order."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from hybrid.anonymize.search.problem import Recoding, SearchProblem
from hybrid.anonymize.streaming.count_rows import MemoryBudget
from hybrid.base.arrays import Codes, Mask
from hybrid.base.keys import RowIndex, RowKeys
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.hierarchy import LabelTable
from hybrid.table import Schema, Table
from hybrid.table.read_batches import ParquetRows, Shuffle, ValueNumbers

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
    """Global recoding: a cell's label follows from its value; a record is kept if its labels are a released class.

    Parameters
    ----------
    task, recoding : SearchProblem, Recoding
        What was asked for and what was decided.
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
        at = self._rows.find([number[code] for code, number in zip(codes, numbers, strict=True)])
        return self._kept[at] & (at >= 0), [of_row[at] for of_row in self._of_row]


_SPILL = ".parts"


@dataclass(frozen=True)
class LabelWriter:
    """Records of a file, with labels in the place of their quasi-identifiers.

    Parameters
    ----------
    names : list of str
        Columns of the result, in order. Those that are no quasi-identifiers are copied.
    numbers : mapping of str to ValueNumbers
        The quasi-identifiers, as they were numbered when they were counted.
    labels, labelling : Labels, Labelling
        What each cell becomes, and who is left out.
    room : MemoryBudget
        Batch size and parts.
    training : numpy.ndarray, shape (n_rows,), bool, or None
        Records that are released or suppressed, all if None; others are left out.
    """

    rows: ParquetRows
    names: list[str]
    numbers: Mapping[str, ValueNumbers]
    labels: Labels
    labelling: Labelling
    room: MemoryBudget
    training: Mask | None

    def write(self, target: Path, seed: int, progress: Progress) -> int:
        """Write the file, in an order that follows from the seed and says nothing about the originals'.

        The parts of the shuffle are in a private folder (mode 0700) beside ``target`` meanwhile. Returns the number of
        records written.
        """
        folder = target.parent / _SPILL
        try:
            shuffle = Shuffle(folder, self._in_parts, self.room.parts)
            self._scatter(shuffle, seed, progress)
            return self._gather(shuffle, target, seed, progress)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @cached_property
    def _in_parts(self) -> pa.Schema:
        """Columns on the way: the labels' codes, and dictionaries decoded."""
        fields = [self.rows.schema.field(name) for name in self.names]
        return pa.schema(
            [field.with_type(pa.int32() if field.name in self.numbers else _decoded(field.type)) for field in fields]
        )

    @cached_property
    def _written(self) -> pa.Schema:
        fields = [self.rows.schema.field(name) for name in self.names]
        return pa.schema([field.with_type(pa.string()) if field.name in self.numbers else field for field in fields])

    def _scatter(self, shuffle: Shuffle, seed: int, progress: Progress) -> None:
        done = 0
        quasi = list(self.numbers)
        others = [name for name in self.names if name not in self.numbers]
        for number, batch in enumerate(self.rows.batches([*quasi, *others], self.room.batch, numbered=quasi)):
            progress("label", done, self.rows.n_rows)
            rng = rng_for(seed, "order", "labels", number)
            shuffle.add(*self._labelled(batch, done, shuffle, rng))
            done += len(batch)

    def _labelled(
        self, batch: pa.RecordBatch, first: int, shuffle: Shuffle, rng: np.random.Generator
    ) -> tuple[pa.RecordBatch, Codes]:
        """Released records of a batch by part, in the order in which they are written, and each part's end."""
        numbered = [column.number(batch[name], grow=False) for name, column in self.numbers.items()]
        kept, labels = self.labelling.label([codes for codes, _ in numbered], [here for _, here in numbered])
        if self.training is not None:
            kept &= self.training[first : first + len(batch)]
        rows = np.flatnonzero(kept)
        order, ends = shuffle.places(len(rows), rng)
        rows = rows[order]
        codes = dict(zip(self.numbers, labels, strict=True))
        columns = [
            pa.array(codes[field.name][rows])
            if field.name in codes
            else batch[field.name].cast(field.type).take(pa.array(rows))
            for field in self._in_parts
        ]
        return pa.record_batch(columns, schema=self._in_parts), ends

    def _gather(self, shuffle: Shuffle, target: Path, seed: int, progress: Progress) -> int:
        written = 0
        texts = dict(zip(self.numbers, self.labels.texts, strict=True))
        with pq.ParquetWriter(target, self._written) as writer:
            for part in shuffle.parts(rng_for(seed, "order", "labels")):
                progress("write", written, self.rows.n_rows)
                columns = [
                    texts[field.name].take(part[field.name])
                    if field.name in texts
                    else part[field.name].cast(field.type)
                    for field in self._written
                ]
                writer.write_table(pa.table(columns, schema=self._written), row_group_size=max(len(part), 1))
                written += len(part)
        return written


def _decoded(arrow_type: pa.DataType) -> pa.DataType:
    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
