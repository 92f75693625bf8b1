"""Labels of rows in a warehouse, joined, counted and sorted there part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.anonymize.decide import AnonymizationRequest, CountedRows, Decision, source_persons
from hybrid.anonymize.search.distinct_rows import DistinctRowCounts
from hybrid.anonymize.streaming.verify_file import verify_classes
from hybrid.anonymize.streaming.write_labels import ByColumn, Labels
from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.count_rows import WarehouseRows, numbered
from hybrid.anonymize.warehouse.expressions import PERSONS, RECORDS
from hybrid.base.arrays import Array, Codes, Counts
from hybrid.base.errors import VerificationError
from hybrid.table.read_batches import ValueNumbers

Part = tuple[tuple[int, int], ...]
"""First and last label of each of the leading quasi-identifiers; further ones may have any."""

_ROW_BYTES, _CELL_BYTES = 24, 8
"""What a sort takes for a row and each cell; 15 to 78 bytes in all were measured in DuckDB for rows of 4 to 9 labels,
numbers or short texts."""


def rows_at_once(sort_bytes: float, n_columns: int) -> float:
    """Rows of so many columns that a sort has room for."""
    return sort_bytes / (_ROW_BYTES + _CELL_BYTES * n_columns)


def parts_of(labels: Sequence[Codes], records: Counts, most: float) -> Iterator[Part]:
    """Ranges of labels that share out all rows.

    Parameters
    ----------
    labels : sequence of numpy.ndarray, each of shape (n_classes,), int
        Positions of the labels of each class, by quasi-identifier.
    records : numpy.ndarray, shape (n_classes,), int64
        Rows of each class.
    most : float
        Rows of a part. A class with more is a part of its own.

    Yields
    ------
    Part
        In the order of their labels. Each class is in one of them, so that the parts tell nothing of a row but its
        labels.
    """
    if not labels or records.sum() <= most:
        yield ()
        return
    here, *others = labels
    for first, last in _ranges(np.bincount(here, records), most):
        if first < last:
            yield ((first, last),)
            continue
        within = here == first
        for rest in parts_of([codes[within] for codes in others], records[within], most):
            yield ((first, last), *rest)


def _ranges(records: Array, most: float) -> Iterator[tuple[int, int]]:
    """First and last label of neighbours that together have at most ``most`` records, or are one label."""
    used = np.flatnonzero(records)
    first, last, total = int(used[0]), int(used[0]), records[used[0]]
    for label in map(int, used[1:]):
        if total + records[label] > most:
            yield first, last
            first, total = label, 0.0
        last, total = label, total + records[label]
    yield first, last


@dataclass(frozen=True)
class SentLabels:
    """Labels in a warehouse, and the classes that rows with them make.

    Parameters
    ----------
    mappings : list of ibis tables
        The label of each value, by quasi-identifier.
    nulls : ibis table or None
        The labels of missing values.
    of_null : dict of int to int
        Their positions, by that of their quasi-identifier.
    suppressed : ibis table or None
        Combinations of labels that are left out.
    classes : list of numpy.ndarray, each of shape (n_classes,), int
        Positions of the labels of each class, by quasi-identifier.
    records : numpy.ndarray, shape (n_classes,), int64
        Rows of each class.
    """

    rows: WarehouseRows
    names: list[str]
    mappings: list[Any]
    nulls: Any | None
    of_null: dict[int, int]
    suppressed: Any | None
    classes: list[Codes]
    records: Counts

    def kept(self, part: Part = ()) -> Any:
        """Released rows of a part with labels beside them, an expression."""
        chosen = [
            expressions.labels_between(mapping, at, *part[at]) if at < len(part) else mapping
            for at, mapping in enumerate(self.mappings)
        ]
        given = [at for at, label in self.of_null.items() if at >= len(part) or part[at][0] <= label <= part[at][1]]
        nulls = expressions.null_labels_of(self.nulls, given) if given else None
        return expressions.kept_rows(self.rows.table, self.names, chosen, nulls, self.suppressed)

    def parts(self, n_columns: int) -> list[Part]:
        """Parts of rows of so many columns, sorted one after another."""
        most = rows_at_once(self.rows.warehouse.sort_bytes, n_columns)
        return list(parts_of(self.classes, self.records, most))


def send_labels(
    rows: WarehouseRows, asked: AnonymizationRequest, counted: CountedRows, decided: Decision
) -> SentLabels:
    """Send the label of each value, and the suppressed combinations of labels."""
    labels = Labels.of(decided.schema, decided.task, decided.recoding)
    names = asked.names
    by_column = ByColumn(decided.task, decided.recoding, labels, decided.leaf_of)
    mappings, of_null = [], {}
    for at, (numbers, of_value, texts) in enumerate(
        zip(counted.numbers[: len(names)], by_column.of_value, labels.texts, strict=True)
    ):
        given = np.flatnonzero((of_value >= 0) & (np.arange(len(of_value)) > 0))
        content = expressions.mapping(numbers.values.take(pa.array(given)), _chosen(of_value[given], texts), at)
        mappings.append(rows.warehouse.send(f"labels of {numbers.name}", content))
        if numbers.counts[0] and of_value[0] >= 0:
            of_null[at] = int(of_value[0])
    texts_of_null = {at: _chosen(np.array([label]), labels.texts[at]) for at, label in of_null.items()}
    nulls = rows.warehouse.send("labels of missing values", expressions.null_labels(texts_of_null)) if of_null else None
    left_out = _suppressed(counted, by_column, labels)
    suppressed = rows.warehouse.send("suppressed combinations of labels", left_out) if len(left_out) else None
    released = ~decided.recoding.suppressed & (decided.task.records.counts > 0)
    nodes = decided.recoding.nodes[released]
    classes = [of_node[column] for of_node, column in zip(labels.of_node, nodes.T, strict=True)]
    records = decided.task.records.counts[released]
    return SentLabels(rows, names, mappings, nulls, of_null, suppressed, classes, records)


def _chosen(positions: Codes, texts: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(positions, pa.int32()), texts)


def _suppressed(counted: CountedRows, by_column: ByColumn, labels: Labels) -> pa.Table:
    """Combinations of labels that are left out.

    Released rows have each of the labels, and never all together.
    """
    columns = counted.found.columns[: len(labels.texts)]
    kept, given = by_column.label(columns, [np.arange(len(numbers)) for numbers in counted.numbers[: len(columns)]])
    left_out = np.flatnonzero(~kept & np.logical_and.reduce([codes >= 0 for codes in given]))
    distinct = pd.DataFrame({at: codes[left_out] for at, codes in enumerate(given)}).drop_duplicates()
    return pa.table(
        {f"hybrid_label_{at}": _chosen(distinct[at].to_numpy(), texts) for at, texts in enumerate(labels.texts)}
    )


@dataclass(frozen=True)
class VerifiedClasses:
    """Classes of labels, measured by queries."""

    sizes: Counts
    """Records of each class; shape (n_classes,), int64."""
    reached: dict[str, Any]
    """As :func:`hybrid.anonymize.streaming.verify_file.verify_classes`."""
    classes: pa.Table
    """The labels of each class, as texts."""


def verify_rows(
    rows: WarehouseRows,
    labelled: Any,
    written: Any,
    asked: AnonymizationRequest,
    counted: CountedRows,
    decided: Decision,
) -> VerifiedClasses:
    """Measure what labels reach, by queries that are independent of the search.

    Parameters
    ----------
    labelled : ibis table
        Released rows with labels and the keys of their persons.
    written : ibis table
        The same rows as they are released.
    asked, counted, decided : AnonymizationRequest, CountedRows, Decision
        What was asked for, counted and decided.

    Raises
    ------
    VerificationError
        The labels do not keep what was promised.
    """
    names = [*asked.names, *asked.attributes]
    found = rows.warehouse.fetch("classes as written", expressions.combinations(written, names))
    labels = [ValueNumbers(name, pa.string()) for name in asked.names]
    for column in labels:
        column.number(found[column.name].cast(pa.string()).combine_chunks())
    numbers = [*labels, *counted.numbers[len(labels) :]]
    again = DistinctRowCounts(len(names), len(found) + 1, "labels")
    again.add(numbered(found, numbers), found[RECORDS].cast(pa.int64()).to_numpy())
    again.merge()
    origin = source_persons(asked, counted, decided)
    sizes, verified = verify_classes(decided.task, decided.recoding, again, decided.value_of, origin)
    if rows.persons:
        _verify_persons(rows, labelled, asked.names, sizes, verified["k"])
    classes = found.select(asked.names).group_by(asked.names).aggregate([])
    return VerifiedClasses(sizes, verified, classes)


def _verify_persons(rows: WarehouseRows, labelled: Any, names: Sequence[str], sizes: Counts, k: int) -> None:
    """Compare the classes with a count of distinct persons in the warehouse."""
    expression = expressions.persons_of_classes(labelled, names, rows.persons)
    found = rows.warehouse.fetch("persons of classes", expression)
    least = min(found[PERSONS].to_pylist(), default=0)
    if least != k or sorted(found[RECORDS].to_pylist()) != sorted(sizes.tolist()):
        raise VerificationError(
            f"the warehouse counts {least} persons in the smallest class, and {k} were decided on",
            hint="the table may have changed meanwhile: run again; do not release the labels",
        )
