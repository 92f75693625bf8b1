"""Labels of rows in a warehouse, joined and counted there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.anonymize.decide import Counted, Decided, Request, origin_of
from hybrid.anonymize.search.row_counts import Combinations
from hybrid.anonymize.streaming.labels import ByColumn, Labels
from hybrid.anonymize.streaming.verify_file import verify_classes
from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.count_rows import Rows, numbered
from hybrid.anonymize.warehouse.expressions import PERSONS, RECORDS
from hybrid.base.arrays import Codes, Counts
from hybrid.base.errors import VerificationError
from hybrid.table.read_batches import ValueNumbers


def kept_rows(rows: Rows, asked: Request, counted: Counted, decided: Decided) -> Any:
    """The released rows with their labels beside them, as an expression.

    Sent are the label of each value, and the suppressed combinations of labels.
    """
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
            of_null[at] = _chosen(of_value[:1], texts)
    nulls = rows.warehouse.send("labels of missing values", expressions.null_labels(of_null)) if of_null else None
    left_out = _suppressed(counted, by_column, labels)
    suppressed = rows.warehouse.send("suppressed combinations of labels", left_out) if len(left_out) else None
    return expressions.kept_rows(rows.table, names, mappings, nulls, suppressed)


def _chosen(positions: Codes, texts: pa.Array) -> pa.DictionaryArray:
    """Labels by their positions, with all labels of the column as dictionary."""
    return pa.DictionaryArray.from_arrays(pa.array(positions, pa.int32()), texts)


def _suppressed(counted: Counted, by_column: ByColumn, labels: Labels) -> pa.Table:
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
class Verified:
    """Classes of labels, measured by queries."""

    sizes: Counts
    """Records of each class; shape (n_classes,), int64."""
    reached: dict[str, Any]
    """As :func:`hybrid.anonymize.streaming.verify_file.verify_classes`."""
    classes: pa.Table
    """The labels of each class, as texts."""


def verify_rows(
    rows: Rows, labelled: Any, written: Any, asked: Request, counted: Counted, decided: Decided
) -> Verified:
    """Measure what labels reach, by queries that are independent of the search.

    Parameters
    ----------
    rows : Rows
        The originals.
    labelled : ibis table
        Released rows with labels and the keys of their persons.
    written : ibis table
        The same rows as they are released.
    asked, counted, decided : Request, Counted, Decided
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
    again = Combinations(len(names), len(found) + 1, "labels")
    again.add(numbered(found, numbers), found[RECORDS].cast(pa.int64()).to_numpy())
    again.merge()
    origin = origin_of(asked, counted, decided)
    sizes, verified = verify_classes(decided.task, decided.recoding, again, decided.value_of, origin)
    if rows.persons:
        _verify_persons(rows, labelled, asked.names, sizes, verified["k"])
    classes = found.select(asked.names).group_by(asked.names).aggregate([])
    return Verified(sizes, verified, classes)


def _verify_persons(rows: Rows, labelled: Any, names: Sequence[str], sizes: Counts, k: int) -> None:
    """Compare the classes with a count of distinct persons in the warehouse."""
    expression = expressions.persons_of_classes(labelled, names, rows.persons)
    found = rows.warehouse.fetch("persons of classes", expression)
    least = min(found[PERSONS].to_pylist(), default=0)
    if least != k or sorted(found[RECORDS].to_pylist()) != sorted(sizes.tolist()):
        raise VerificationError(
            f"the warehouse counts {least} persons in the smallest class, and {k} were decided on",
            hint="the table may have changed meanwhile: run again; do not release the labels",
        )
