"""Distinct combinations of columns of a Parquet file, counted in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hybrid.anonymize.search.distinct_rows import DistinctRowCounts, add_up
from hybrid.anonymize.search.person_rows import Members
from hybrid.base.arrays import Codes, Counts, Mask
from hybrid.base.keys import RowIndex, RowKeys
from hybrid.base.progress import Progress
from hybrid.table.read_batches import MOST_PARTS, ParquetRows, ValueNumbers

_BATCH = 1 << 20
_LEAST_BATCH = 1 << 14
_SEARCHED = 0.6
_NUMBER_BYTES = 160
"""What the search takes per combination and column; measured on the demo's 700,000 combinations of 7 columns."""


@dataclass(frozen=True)
class MemoryBudget:
    """Limit of the memory in use at a time.

    Parameters
    ----------
    batch : int
        Records read at once.
    parts : int
        Files that a shuffle goes through.
    combinations : int
        Distinct rows.
    """

    batch: int
    parts: int
    combinations: int

    @classmethod
    def of(cls, n_bytes: float, rows: ParquetRows, n_columns: int) -> MemoryBudget:
        """Share out memory: most of it to the combinations and their search, the rest to records.

        Parameters
        ----------
        n_bytes : float
            That may be taken, beyond what the program itself needs.
        n_columns : int
            Quasi-identifiers and attributes of privacy models.
        """
        per_row = rows.row_bytes()
        batch = int(n_bytes / 24 / per_row)
        parts = -(-rows.n_rows * per_row // (n_bytes / 16))
        return cls(
            batch=min(max(batch, _LEAST_BATCH), _BATCH),
            parts=int(min(max(parts, 1), MOST_PARTS)),
            combinations=most_combinations(n_bytes, n_columns),
        )


def most_combinations(n_bytes: float, n_columns: int) -> int:
    """Distinct rows of ``n_columns`` numbers that the search has room for."""
    return max(int(_SEARCHED * n_bytes / (_NUMBER_BYTES * n_columns)), 1000)


def count_combinations(
    rows: ParquetRows,
    numbers: Sequence[ValueNumbers],
    room: MemoryBudget,
    *,
    training: Mask | None = None,
    step: str,
    progress: Progress,
) -> DistinctRowCounts:
    """The distinct rows of some columns.

    Parameters
    ----------
    numbers : sequence of ValueNumbers
        The columns; values of all records get numbers.
    room : MemoryBudget
        Batch size and the most combinations.
    training : numpy.ndarray, shape (n_rows,), bool, optional
        Records that count; all if not given.
    step : str
        What progress calls this.
    progress : Progress
        Receives the number of records read.

    Raises
    ------
    DataError
        More combinations than there is room for, or a file that cannot be read.
    """
    names = [column.name for column in numbers]
    found = DistinctRowCounts(len(names), room.combinations, ", ".join(map(repr, names)))
    done = 0
    for batch in rows.batches(names, room.batch, numbered=names):
        progress(step, done, rows.n_rows)
        counted = None if training is None else training[done : done + len(batch)]
        found.add(*_combinations_of(batch, numbers, counted))
        done += len(batch)
    found.merge()
    return found


def _combinations_of(
    batch: pa.RecordBatch, numbers: Sequence[ValueNumbers], counted: Mask | None
) -> tuple[list[Codes], Counts]:
    numbered = [column.number(values) for column, values in zip(numbers, batch.columns, strict=True)]
    packing = RowKeys([codes for codes, _ in numbered], [len(here) for _, here in numbered])
    distinct, counts = add_up(packing.keys if counted is None else packing.keys[counted])
    columns = zip(numbered, packing.decode(distinct), strict=True)
    return [here[column].astype("int32") for (_, here), column in columns], counts


def count_members(
    rows: ParquetRows,
    numbers: Sequence[ValueNumbers],
    found: DistinctRowCounts,
    room: MemoryBudget,
    persons: Codes,
    *,
    training: Mask | None = None,
    progress: Progress,
) -> Members:
    """Persons of each distinct row, in one more pass.

    Parameters
    ----------
    rows, numbers, room, training, progress
        As for :func:`count_combinations`.
    found : DistinctRowCounts
        The distinct rows of these columns.
    persons : numpy.ndarray, shape (n_rows,), int
        Person of each record (:func:`hybrid.table.persons.person_codes`).

    Returns
    -------
    Members
        Each pair of a distinct row and a person once, with its records.
    """
    names = [column.name for column in numbers]
    known = RowIndex(found.columns, [len(column) for column in numbers])
    place, done = np.full(rows.n_rows, -1, dtype=np.int32), 0
    for batch in rows.batches(names, room.batch, numbered=names):
        progress("persons", done, rows.n_rows)
        numbered = [column.number(values, grow=False) for column, values in zip(numbers, batch.columns, strict=True)]
        place[done : done + len(batch)] = known.find([here[codes] for codes, here in numbered])
        done += len(batch)
    if training is not None:
        place, persons = place[training], persons[training]
    least = int(persons.min(initial=0))
    span = int(persons.max(initial=0)) + 1 - least
    keys, counts = add_up(place.astype(np.int64) * span + (persons - least))
    return Members(keys // span, keys % span + least, counts)
