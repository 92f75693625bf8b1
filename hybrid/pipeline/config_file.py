"""The file of a configuration, which is neither a data file nor a folder."""

from __future__ import annotations

from pathlib import Path

from hybrid.base.config_files import YamlMapping, read_yaml
from hybrid.base.errors import ConfigError
from hybrid.table.file_formats import CSV_SUFFIXES, SPREADSHEET_SUFFIXES, TYPED_SUFFIXES

_DATA_SUFFIXES = (*CSV_SUFFIXES, ".txt", *TYPED_SUFFIXES, *SPREADSHEET_SUFFIXES)


def is_data_file(path: Path) -> bool:
    """True for a file that holds a table, by its name."""
    return path.is_file() and path.suffix.lower() in _DATA_SUFFIXES


def read_config_file(path: Path) -> YamlMapping:
    """Read the YAML file of a configuration.

    Raises
    ------
    ConfigError
        It is a data file or a folder, or as :func:`hybrid.base.config_files.read_yaml`.
    """
    if path.is_dir():
        inside = path / "config.yaml"
        hint = f"give the file: {inside}" if inside.is_file() else f"hybrid init {path} guesses one from its tables"
        raise ConfigError(f"{path}: this is a folder, and a configuration (YAML) was expected", hint=hint)
    if is_data_file(path):
        raise ConfigError(
            f"{path}: this is a data file, and a configuration (YAML) was expected",
            hint=f"hybrid init {path} guesses one",
        )
    return read_yaml(path)
