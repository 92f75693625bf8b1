"""Synthetic tables larger than memory, drawn and written in parts.

All parts come from one trained model, each with random numbers of its own. The evaluation judges a random sample of
their rows; which training records are repeated exactly is counted on all rows.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from hybrid.base.arrays import Array
from hybrid.base.progress import Progress
from hybrid.base.scratch import scratch
from hybrid.evaluation.measure import AllRows
from hybrid.pipeline.generation import Generated
from hybrid.table import Table
from hybrid.table.arrow import plain_schema, to_arrow
from hybrid.table.persons import n_persons
from hybrid.table.record_hash import SECRET_BYTES, record_hashes
from hybrid.table.schema import concat_rows
from hybrid.table.write import marked

Draw = Callable[[int, int], Generated]
"""``draw(n, number)`` gives about n rows in random order; each number has random numbers of its own."""
Finish = Callable[[Table, int, int], Table]
"""``finish(table, rows, persons)`` gives the columns to release of a table after so many rows and persons."""


@dataclass(frozen=True)
class DrawnInParts(Generated):
    """Random sample of the rows of all parts, and their file."""

    all_rows: AllRows | None = None
    """What was counted on all rows."""
    file: Path = Path()
    """All rows with the columns to release, as Parquet, in a private folder."""
    folder: tempfile.TemporaryDirectory[str] | None = None
    """That folder, which is removed with this object."""


def draw_in_parts(
    rows: int,
    part_rows: int,
    draw: Draw,
    finish: Finish,
    known: Mapping[str, Table | None],
    progress: Progress,
    said: str = "",
) -> DrawnInParts:
    """Draw and write rows in parts, and sample them.

    ``part_rows`` are most rows of a part and of the sample; where persons are drawn, about as many. ``known`` has
    ``train`` and ``control``: original records, of which those that occur among all rows are counted. ``said``: how the
    rows were made, for the metadata of the file. Each part gives the sample the same share of its rows, or persons.
    """
    n_parts = -(-rows // part_rows)
    ends = [rows * at // n_parts for at in range(n_parts + 1)]
    folder = scratch("parts")
    file = Path(folder.name) / "synthetic.parquet"
    counted, sampled, writer = _Repeats(known), [], None
    written = persons = 0
    first: Generated | None = None
    try:
        for number, (start, end) in enumerate(pairwise(ends), start=1):
            part = draw(end - start, number)
            first = first or part
            table = part.table
            counted.add(table)
            released = to_arrow(finish(table, written, persons))
            writer = writer or pq.ParquetWriter(file, marked(plain_schema(released.schema), synthetic=True, said=said))
            writer.write_table(released.cast(writer.schema))
            sampled.append(_share(table, 1 / n_parts, persons))
            written += len(table)
            persons += n_persons(table)
            progress("parts", number, n_parts)
    finally:
        if writer is not None:
            writer.close()
    assert first is not None
    judged = reduce(_joined, sampled)
    found = AllRows(rows=written, judged=len(judged), **counted.counts)
    about = first.fallbacks, first.redrawn, first.losses
    return DrawnInParts(judged, *about, all_rows=found, file=file, folder=folder)


class _Repeats:
    def __init__(self, known: Mapping[str, Table | None]) -> None:
        self._known, self._secret = known, secrets.token_bytes(SECRET_BYTES)
        self._hashes: dict[str, Array] = {}
        self._found: dict[str, Array] = {}

    def add(self, drawn: Table) -> None:
        names = drawn.schema.names
        if not self._hashes:
            tables = {name: table for name, table in self._known.items() if table is not None}
            self._hashes = {name: record_hashes(table.only(names), self._secret) for name, table in tables.items()}
            self._found = {name: np.zeros(len(hashes), dtype=bool) for name, hashes in self._hashes.items()}
        rows = np.unique(record_hashes(drawn, self._secret))
        for name, hashes in self._hashes.items():
            self._found[name] |= np.isin(hashes, rows)

    @property
    def counts(self) -> dict[str, int]:
        counts = {name: len(hashes) for name, hashes in self._hashes.items()}
        return counts | {f"{name}_found": int(found.sum()) for name, found in self._found.items()}


def _share(table: Table, share: float, persons: int) -> Table:
    """First rows, or all rows of the first persons: the order is random."""
    some = table.take(np.flatnonzero(table.persons < round(share * n_persons(table))))
    return some if table.rows_are_persons else replace(some, named_persons=some.persons + persons)


def _joined(table: Table, other: Table) -> Table:
    both = None if table.rows_are_persons else np.concatenate([table.persons, other.persons])
    return Table(concat_rows(table.frame, other.frame), table.schema, both)
