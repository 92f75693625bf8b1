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
from hybrid.base.errors import DataError
from hybrid.base.keys import RowIndex
from hybrid.table.read_batches import ValueNumbers
from hybrid.table.warehouse import Warehouse

__all__ = ["WarehouseRows", "count_rows", "numbered"]


@dataclass(frozen=True)
class WarehouseRows:
    """The rows of a table in a warehouse.

    Parameters
    ----------
    warehouse : Warehouse
        Where they are.
    table : ibis table
        With the keys of their persons (:func:`hybrid.anonymize.warehouse.expressions.with_keys`).
    persons : tuple of str
        Columns that name the person of a row; none: each row is another person.
    """

    warehouse: Warehouse
    table: Any
    persons: tuple[str, ...]


def count_rows(rows: WarehouseRows, asked: AnonymizationRequest, most: int) -> CountedRows:
    """Count combinations of quasi-identifiers and attributes, and their persons.

    Fetched are each column's distinct values, the combinations with their counts, and for persons with several
    combinations the pairs of both, as numbers.

    Parameters
    ----------
    rows : WarehouseRows
        All of them are counted.
    most : int
        Combinations that memory has room for.

    Raises
    ------
    DataError
        More combinations than that; rows that name no person, which may be anybody's.
    """
    names, warehouse = [*asked.names, *asked.attributes], rows.warehouse
    if not rows.persons:
        pairs, kept = None, warehouse.keep(expressions.combinations(rows.table, names))
    else:
        _refuse_nobody(rows, asked.source)
        pairs = warehouse.keep(expressions.person_rows(rows.table, names, rows.persons))
        kept = warehouse.keep(expressions.combinations_of(pairs, names))
    if _scalar(warehouse, "number of combinations", kept.count()) > most:
        raise too_many(most, ", ".join(map(repr, names)))
    numbers = []
    for name in names:
        values = warehouse.fetch(f"dictionary of {name}", expressions.counted(kept, name))
        numbers.append(ValueNumbers(name, values.schema.field(name).type))
        numbers[-1].tally(values[name].combine_chunks(), _integers(values[RECORDS]))
    fetched = warehouse.fetch("combinations", kept)
    columns = numbered(fetched, numbers)
    found = DistinctRowCounts(len(names), most, ", ".join(map(repr, names)))
    found.add(columns, _integers(fetched[RECORDS]))
    found.merge()
    if pairs is None:
        return CountedRows(numbers, found, None)
    place = RowIndex(found.columns, [len(column) for column in numbers]).find(columns)
    several = warehouse.fetch("persons with several combinations", expressions.shared(pairs, rows.persons))
    return CountedRows(numbers, found, _members(fetched, place, several))


def numbered(fetched: pa.Table, numbers: Sequence[ValueNumbers]) -> list[Codes]:
    """Value numbers of the rows, one array of shape (n,), int32, per column.

    Raises
    ------
    DataError
        A value is new.
    """
    columns = []
    for column in numbers:
        codes, here = column.number(fetched[column.name].combine_chunks(), grow=False)
        columns.append(here[codes].astype("int32"))
    return columns


def _members(fetched: pa.Table, place: Codes, several: pa.Table) -> Members:
    """Persons of each combination; those with one combination are numbered here."""
    number = _integers(fetched[NUMBER])
    place_of = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
    place_of[number] = place
    alone = _integers(fetched[PERSONS])
    rows, persons = place_of[_integers(several[NUMBER])], _integers(several[PERSON])
    fresh = int(persons.max(initial=-1)) + 1 + np.arange(int(alone.sum()))
    return Members(np.append(rows, np.repeat(place, alone)), np.append(persons, fresh))


def _refuse_nobody(rows: WarehouseRows, source: str) -> None:
    nobody = _scalar(rows.warehouse, "rows without a person", expressions.without_key(rows.table, rows.persons))
    if nobody:
        raise DataError(
            f"{source}: {nobody:,} rows lack a value in data.person ({', '.join(rows.persons)})",
            hint="such a row may be one of any person: make a view without such rows, and set data.sql.table to it",
        )


def _scalar(warehouse: Warehouse, operation: str, expression: Any) -> int:
    return int(warehouse.fetch(operation, expression.name("n").as_table())["n"][0].as_py())


def _integers(column: pa.ChunkedArray) -> Array:
    values: Array = column.cast(pa.int64()).to_numpy()
    return values
