"""Read the table that a configuration names."""

from __future__ import annotations

from pathlib import Path

from hybrid.table.options import DataOptions
from hybrid.table.schema import Table

__all__ = ["load_table"]


def load_table(options: DataOptions, folder: Path) -> Table:
    """Read the table that a configuration names.

    Parameters
    ----------
    options : DataOptions
        Where it is and what its columns are.
    folder : Path
        What relative paths are relative to.

    Raises
    ------
    ConfigError, MissingExtraError
        The address is none, or needs a package.
    DataError
        The source cannot be reached, or as :func:`hybrid.table.read_file.read_table`.
    """
    return options.source.read(options.place, options, folder)
