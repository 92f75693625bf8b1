"""Write tables in the conventions of their source, atomically."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from hybrid.base.atomic import atomic_file
from hybrid.table.arrow import to_arrow
from hybrid.table.schema import PARQUET_SUFFIXES, Table
from hybrid.table.write_csv import Layout, write_csv


def write_table(
    table: Table, path: Path, separator: str = ",", encoding: str = "utf-8", layout: Layout | None = None
) -> None:
    """Write ``table`` as CSV or Parquet in its source's conventions.

    The path's suffix decides the format.

    Parameters
    ----------
    table : Table
        What to write. No row index is written.
    path : Path
        ``*.parquet`` or ``*.pq`` for Parquet, anything else for CSV.
    separator, encoding : str
        For CSV.
    layout : Layout, optional
        Line ends, byte order mark and needless quotes of a CSV file (:func:`layout_of`); LF and none of these if
        not given.

    Raises
    ------
    OutputError
        The path is not writable or the disk is full.
    """
    with atomic_file(path) as temporary:
        if path.suffix.lower() in PARQUET_SUFFIXES:
            pq.write_table(to_arrow(table), temporary)
        else:
            write_csv(table, temporary, separator, encoding, layout or Layout())
