"""Distinct combinations of columns of a warehouse's table, counted there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hybrid.anonymize.decide import AnonymizationRequest, CountedRows
from hybrid.anonymize.search.distinct_rows import DistinctRowCounts, too_many
from hybrid.anonymize.search.person_rows import Members
from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.expressions import NUMBER, PERSON, PERSONS, RECORDS
from hybrid.base.arrays import Array, Codes
from hybrid.table.value_numbers import ValueNumbers
from hybrid.table.warehouse import Warehouse

_SEARCHED = 0.6
_NUMBER_BYTES = 160
"""What the search takes per combination and column; measured on the demo's 700,000 combinations of 7 columns."""


@dataclass(frozen=True)
class WarehouseRows:
    """The rows of a table in a warehouse."""

    warehouse: Warehouse
    """Where they are."""
    table: Any
    """With the keys of their persons (:func:`hybrid.anonymize.warehouse.expressions.with_keys`)."""
    persons: tuple[str, ...]
    """Columns that name the person of a row; none: each row is another person."""
    unit: tuple[str, ...] = ()
    """Columns whose values a sample draws persons by, in whatever order the rows are."""
    others: Any | None = None
    """All rows of the source, where some of them are not anonymized: their values count for kinds and hierarchies."""


@dataclass(frozen=True)
class CombinationTable:
    """Distinct combinations of values, in the warehouse and here."""

    kept: Any
    """With a number for each."""
    counted: CountedRows
    """The same, with records and persons."""
    numbers: Codes
    """The number of each one of ``counted``; shape (n_combinations,), int64."""


def most_combinations(n_bytes: float, n_columns: int) -> int:
    """Distinct rows of ``n_columns`` numbers that the search has room for."""
    return max(int(_SEARCHED * n_bytes / (_NUMBER_BYTES * n_columns)), 1000)


def count_rows(rows: WarehouseRows, asked: AnonymizationRequest, most: int) -> CombinationTable:
    """Count combinations of quasi-identifiers and attributes, and their persons.

    Fetched are each column's distinct values, the combinations with their counts, and for persons with several
    combinations the pairs of both, as numbers.
    """
    names, warehouse = [*asked.names, *asked.attributes], rows.warehouse
    if rows.persons:
        pairs = warehouse.keep(expressions.person_rows(rows.table, names, rows.persons))
        kept = warehouse.keep(expressions.combinations_of(pairs, names))
    else:
        pairs, kept = None, warehouse.keep(expressions.numbered(expressions.combinations(rows.table, names)))
    if scalar(warehouse, "number of combinations", kept.count()) > most:
        raise too_many(most, ", ".join(map(repr, names)))
    numbers = [distinct_values(warehouse, kept if rows.others is None else rows.others, name) for name in names]
    fetched = warehouse.fetch("combinations", kept)
    found = DistinctRowCounts(numbered(fetched, numbers), integers(fetched[RECORDS]))
    number = integers(fetched[NUMBER])
    members = None if pairs is None else _members(rows, pairs, number)
    return CombinationTable(kept, CountedRows(numbers, found, members), number)


def distinct_values(warehouse: Warehouse, rows: Any, name: str) -> ValueNumbers:
    """Distinct values of a column of rows or combinations, with their records."""
    values = warehouse.fetch(f"dictionary of {name}", expressions.counted(rows, name))
    numbers = ValueNumbers(name, values.schema.field(name).type)
    numbers.tally(values[name].combine_chunks(), integers(values[RECORDS]))
    return numbers


def numbered(fetched: pa.Table, numbers: Sequence[ValueNumbers]) -> list[Codes]:
    """Value numbers of the rows, one array of shape (n,), int32, per column."""
    columns = []
    for column in numbers:
        codes, here = column.number(fetched[column.name].combine_chunks(), grow=False)
        columns.append(here[codes].astype("int32"))
    return columns


def _members(rows: WarehouseRows, pairs: Any, number: Codes) -> Members:
    """Persons of each combination; those with one combination, and unknown ones, are numbered here."""
    place_of = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
    place_of[number] = np.arange(len(number))
    fetch = rows.warehouse.fetch
    several = fetch("persons with several combinations", expressions.shared(pairs, rows.persons))
    alone = fetch("persons with one combination", expressions.alone(pairs))
    unknown = fetch("rows without a person", expressions.nobodys(pairs, rows.persons))
    persons, (own, nobody) = integers(several[PERSON]), (integers(alone[PERSONS]), integers(unknown[RECORDS]))
    fresh = int(persons.max(initial=-1)) + 1 + np.arange(int(own.sum()))
    numbers = (several[NUMBER], np.repeat(integers(alone[NUMBER]), own), np.repeat(integers(unknown[NUMBER]), nobody))
    return Members(
        place_of[np.concatenate([integers(numbers[0]), *numbers[1:]])],
        np.concatenate([persons, fresh, -1 - np.arange(int(nobody.sum()))]),
        np.concatenate(
            [
                integers(several[RECORDS]),
                np.repeat(integers(alone[RECORDS]), own),
                np.ones(int(nobody.sum()), dtype=np.int64),
            ]
        ),
    )


def scalar(warehouse: Warehouse, operation: str, expression: Any) -> int:
    """Fetch one whole number."""
    return int(warehouse.fetch(operation, expression.name("n").as_table())["n"][0].as_py())


def integers(column: pa.ChunkedArray) -> Array:
    """A fetched column of whole numbers; shape (n,), int64."""
    values: Array = column.cast(pa.int64()).to_numpy()
    return values
