"""Labels of rows in a warehouse, joined, counted and sorted there part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.anonymize.decide import AnonymizationRequest, Decision, source_persons
from hybrid.anonymize.search.distinct_rows import DistinctRowCounts
from hybrid.anonymize.verify_classes import verify_classes
from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.count_rows import CombinationTable, WarehouseRows, integers
from hybrid.anonymize.warehouse.expressions import CLASS, NUMBER, PERSONS, RECORDS
from hybrid.base.arrays import Codes, Counts, Mask
from hybrid.base.errors import VerificationError
from hybrid.hierarchy import LabelTable
from hybrid.table import Schema, Table

Part = tuple[int, int]
"""First and last class of some rows."""

_ROW_BYTES, _CELL_BYTES = 24, 8
"""What a sort takes for a row and each cell; 15 to 78 bytes in all were measured in DuckDB for rows of 4 to 9 labels,
numbers or short texts."""


def rows_at_once(sort_bytes: float, n_columns: int) -> float:
    """Rows of so many columns that a sort has room for."""
    return sort_bytes / (_ROW_BYTES + _CELL_BYTES * n_columns)


def parts_of(records: Counts, most: float) -> Iterator[Part]:
    """Ranges of neighbouring classes that share out all rows, ``most`` in a part; a class with more is one of its own.

    Each class is in one of them, so that the parts tell nothing of a row but its labels.
    """
    first, total = 0, 0.0
    for at, own in enumerate(records.tolist()):
        if at > first and total + own > most:
            yield first, at - 1
            first, total = at, 0.0
        total += own
    yield first, len(records) - 1


@dataclass(frozen=True)
class Classes:
    """Classes of released rows, in the order of their labels."""

    labels: pa.Table
    """The labels of each, in dictionaries whose texts are in order; one column per quasi-identifier."""
    records: Counts
    """Rows of each; shape (n_classes,), int64."""
    of_row: Codes
    """Class of each distinct row of the search; -1 for those that are left out; shape (n_distinct,), int64."""

    @classmethod
    def of(cls, decided: Decision) -> Classes:
        """Classes that a decision releases, their labels named as in a label table."""
        task, recoding = decided.task, decided.recoding
        released: Mask = ~recoding.suppressed & (task.records.counts > 0)
        nodes = recoding.nodes[released]
        rest = Table(pd.DataFrame(index=pd.RangeIndex(len(nodes))), Schema(()))
        used = decided.schema.only(task.records.names)
        frame = LabelTable(nodes, rest, used, task.hierarchies).to_table().frame[task.records.names]
        texts = {name: sorted(frame[name].cat.categories) for name in frame}
        codes = pd.DataFrame({name: frame[name].cat.set_categories(own).cat.codes for name, own in texts.items()})
        number = codes.groupby(list(codes), sort=True).ngroup().to_numpy()
        distinct = codes.assign(number=number).drop_duplicates("number").sort_values("number")
        labels = {
            name: pa.DictionaryArray.from_arrays(pa.array(distinct[name].to_numpy(), pa.int32()), pa.array(own))
            for name, own in texts.items()
        }
        of_row = np.full(len(released), -1, dtype=np.int64)
        of_row[released] = number
        records = np.bincount(number, task.records.counts[released], len(distinct)).astype(np.int64)
        return cls(pa.table(labels), records, of_row)


@dataclass(frozen=True)
class SentClasses:
    """Classes of a decision, and the rows of a warehouse in them."""

    rows: WarehouseRows
    names: list[str]
    """The quasi-identifiers."""
    classes: Classes
    """With their labels here."""
    combinations: Any
    """The class of each combination of values."""
    missing: set[str]
    """Quasi-identifiers that lack values."""

    def kept(self, part: Part | None = None) -> Any:
        """Released rows of a part with the number of their class, an expression; all without a part."""
        combinations = self.combinations if part is None else expressions.in_classes(self.combinations, *part)
        return expressions.kept_rows(self.rows.table, combinations, self.names, self.missing)

    def labels(self) -> Any:
        """Send the labels of the classes."""
        named = dict(zip(expressions.label_names(self.names), self.classes.labels.columns, strict=True))
        numbers = pa.array(np.arange(len(self.classes.records)))
        return self.rows.warehouse.send("labels of classes", pa.table({CLASS: numbers, **named}))

    def parts(self, n_columns: int) -> list[Part]:
        """Parts of rows of so many columns, sorted one after another."""
        return list(parts_of(self.classes.records, rows_at_once(self.rows.warehouse.sort_bytes, n_columns)))


def send_classes(
    rows: WarehouseRows, asked: AnonymizationRequest, combinations: CombinationTable, decided: Decision
) -> SentClasses:
    """Send the number of the class of each combination that is not left out."""
    classes, warehouse = Classes.of(decided), rows.warehouse
    of_combination = classes.of_row[decided.task.records.row_of]
    kept = of_combination >= 0
    numbers = pa.table({NUMBER: combinations.numbers[kept], CLASS: of_combination[kept]})
    sent = warehouse.send("classes of combinations", numbers)
    classified = warehouse.keep(expressions.classified(combinations.kept, sent, asked.names))
    known = combinations.counted.numbers[: len(asked.names)]
    missing = {column.name for column in known if column.counts[0]}
    return SentClasses(rows, asked.names, classes, classified, missing)


@dataclass(frozen=True)
class VerifiedClasses:
    """Classes of labels, measured by queries."""

    sizes: Counts
    """Records of each class; shape (n_classes,), int64."""
    reached: dict[str, Any]
    """As :func:`hybrid.anonymize.verify_classes.verify_classes`."""
    classes: pa.Table
    """The labels of each class, as texts."""


def verify_rows(
    sent: SentClasses,
    written: Any,
    asked: AnonymizationRequest,
    combinations: CombinationTable,
    decided: Decision,
    values: Sequence[pa.Array] | None = None,
) -> VerifiedClasses:
    """Measure what labels reach, by queries that are independent of the search; else a VerificationError.

    ``values`` are those of each attribute by their numbers, as they are written; as they were counted if not given.
    """
    names, rows = [*asked.names, *asked.attributes], sent.rows
    found = rows.warehouse.fetch("classes as written", expressions.combinations(written, names))
    texts = [pd.factorize(found[name].cast(pa.string()).to_pandas(), use_na_sentinel=False)[0] for name in asked.names]
    counted, first = combinations.counted, len(asked.names)
    known = [column.values for column in counted.numbers[first:]] if values is None else values
    columns = zip(asked.attributes, known, counted.found.columns[first:], strict=True)
    attributes = [_positions(found[name], own, numbers) for name, own, numbers in columns]
    again = DistinctRowCounts([*texts, *attributes], integers(found[RECORDS]))
    origin = source_persons(asked, counted, decided)
    sizes, verified = verify_classes(decided.task, decided.recoding, again, decided.value_of, origin)
    if rows.persons:
        _verify_persons(sent, sizes, verified["k"])
    return VerifiedClasses(sizes, verified, found.select(asked.names).group_by(asked.names).aggregate([]))


def _positions(found: pa.ChunkedArray, values: pa.Array, counted: Codes) -> Codes:
    """Numbers of values as they are written, of the numbers that were counted."""
    numbers = np.unique(counted)
    at = pc.index_in(found.combine_chunks().cast(values.type), value_set=values.take(pa.array(numbers)))
    if at.null_count:
        raise VerificationError("written values are not those that were counted", hint="run again; do not release them")
    positions: Codes = numbers[at.to_numpy(zero_copy_only=False)]
    return positions


def _verify_persons(sent: SentClasses, sizes: Counts, k: int) -> None:
    """Compare the classes with a count of distinct persons in the warehouse."""
    rows = sent.rows
    found = rows.warehouse.fetch("persons of classes", expressions.persons_of_classes(sent.kept(), rows.persons))
    least = min(found[PERSONS].to_pylist(), default=0)
    if least != k or sorted(found[RECORDS].to_pylist()) != sorted(sizes.tolist()):
        raise VerificationError(
            f"the warehouse counts {least} persons in the smallest class, and {k} were decided on",
            hint="the table may have changed meanwhile: run again; do not release the labels",
        )
