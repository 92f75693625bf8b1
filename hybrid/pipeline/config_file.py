"""The file of a configuration, which is neither a data file nor a folder, and changes of its content."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybrid.base.config_files import YamlMapping, read_yaml
from hybrid.base.errors import ConfigError
from hybrid.base.yaml_document import YamlDocument, value_at
from hybrid.table.file_formats import CSV_SUFFIXES, SPREADSHEET_SUFFIXES, TYPED_SUFFIXES

_DATA_SUFFIXES = (*CSV_SUFFIXES, ".txt", *TYPED_SUFFIXES, *SPREADSHEET_SUFFIXES)


def is_data_file(path: Path) -> bool:
    """True for a file that holds a table, by its name."""
    return path.is_file() and path.suffix.lower() in _DATA_SUFFIXES


def read_config_file(path: Path) -> YamlMapping:
    """Read the YAML file of a configuration."""
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


def with_settings(document: YamlDocument, settings: Mapping[str, Any]) -> YamlDocument:
    """Text of a configuration with other values for dotted keys; options go as in :func:`overridden`."""
    if not settings:
        return document
    wanted = overridden(document.content, settings)
    for key, value in settings.items():
        path = tuple(key.split("."))
        section, own = document.get(path[:-1]), value_at(wanted, path[:-1])
        if isinstance(section, Mapping) and isinstance(own, Mapping):
            for name in set(section) - set(own):
                document = document.without((*path[:-1], name))
        document = document.with_value(path, value)
    return document


_CHOICES = {
    "transition.method": {"order"},
    "synthesize.generator": {"rows", "where", "balance", "filter", "isolate", "time_limit", "memory_limit"},
}
"""Keys that decide which options a section has, and the options that it has anyway."""


def overridden(content: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Copy of a configuration's content with other values for dotted keys.

    Another ``transition.method`` or ``synthesize.generator`` leaves behind the options that belong to the one before.
    """
    changed = copy.deepcopy(dict(content))
    for key in sorted(overrides, key=lambda key: key not in _CHOICES):
        _override(changed, key, overrides[key])
    return changed


def _override(content: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    at = content
    for parent in parents:
        if not isinstance(at.get(parent), dict):
            at[parent] = {}
        at = at[parent]
    if key in _CHOICES and at.get(last, value) != value:
        for option in set(at) - _CHOICES[key]:
            del at[option]
    at[last] = value
