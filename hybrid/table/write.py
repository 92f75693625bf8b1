"""Write a table the way its source was written; a file exists whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from hybrid.base.errors import OutputError
from hybrid.table.arrow import to_arrow
from hybrid.table.schema import PARQUET_SUFFIXES, Table
from hybrid.table.write_csv import Layout, write_csv


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name to write to, renamed to ``path`` when the block ends well, removed when it does not.

    Raises
    ------
    OutputError
        The folder is not writable, or the disk is full; ``path`` is as it was before.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})", hint="choose another --out") from None
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path}: writing failed ({error.strerror or type(error).__name__}); nothing was changed",
            hint="free some space, or choose another --out",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8) whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_table(
    table: Table, path: Path, separator: str = ",", encoding: str = "utf-8", layout: Layout | None = None
) -> None:
    """Write ``table`` as CSV or Parquet (by the path's suffix), in its source's conventions.

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
    with atomic(path) as temporary:
        if path.suffix.lower() in PARQUET_SUFFIXES:
            pq.write_table(to_arrow(table), temporary)
        else:
            write_csv(table, temporary, separator, encoding, layout or Layout())
