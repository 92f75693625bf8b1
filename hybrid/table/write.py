"""Write tables in the conventions of their source, atomically."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hybrid.base.atomic import atomic_file
from hybrid.table.arrow import to_arrow
from hybrid.table.schema import PARQUET_SUFFIXES, Table
from hybrid.table.write_csv import Layout, write_csv

MARK = {b"synthetic": b"true"}
"""Entry of the metadata of a Parquet file whose rows are synthetic."""


def marked(schema: pa.Schema) -> pa.Schema:
    """A schema with :data:`MARK` in its metadata."""
    return schema.with_metadata((schema.metadata or {}) | MARK)


def write_table(
    table: Table,
    path: Path,
    separator: str = ",",
    encoding: str = "utf-8",
    layout: Layout | None = None,
    synthetic: bool = False,
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
    synthetic : bool
        Whether a Parquet file says in its metadata that its rows are synthetic (:data:`MARK`). CSV has no place for it.

    Raises
    ------
    OutputError
        The path is not writable or the disk is full.
    """
    with atomic_file(path) as temporary:
        if path.suffix.lower() in PARQUET_SUFFIXES:
            content = to_arrow(table)
            pq.write_table(content.cast(marked(content.schema)) if synthetic else content, temporary)
        else:
            write_csv(table, temporary, separator, encoding, layout or Layout())
