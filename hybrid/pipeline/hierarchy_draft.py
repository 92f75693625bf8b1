"""New hierarchy of a column in a draft, checked on the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError, HierarchyError
from hybrid.base.ownership import own_path
from hybrid.hierarchy.files import YAML_SUFFIXES, text_of_spec
from hybrid.hierarchy.from_data import QUANTILES, quantiles
from hybrid.hierarchy.load import load_hierarchy, parse_hierarchy
from hybrid.pipeline.draft_column import DraftColumn
from hybrid.pipeline.starter.columns import free_path, guess_hierarchy, hierarchy_path, starter_text
from hybrid.table import Role, Table
from hybrid.table.holders import row_holders

FOLDER = "hierarchies"
"""Folder of new hierarchy files, beside the configuration."""


@dataclass(frozen=True)
class HierarchyFile:
    """Text of a hierarchy file, and its place."""

    relative: str
    """Path as the configuration writes it."""
    path: Path
    text: str
    """Its content; of a CSV hierarchy it holds cell values."""

    @classmethod
    def of(cls, column: DraftColumn, relative: str, text: str) -> HierarchyFile:
        """File beside the configuration of a column."""
        return cls(relative, own_path(column.draft.folder, relative), text)

    def write(self) -> None:
        """Write the file, a new one with mode 0600."""
        write_text(self.path, self.text, private=not self.path.exists())


def starter_file(column: DraftColumn, table: Table) -> HierarchyFile:
    """Hierarchy to start from, in a file that does not exist yet."""
    own = column.path[-1]
    schema, values = replace(table.schema[own], role=Role.QUASI_IDENTIFIER), table.frame[own]
    if values.nunique() < 2:
        raise ConfigError(
            f"{column.name!r} has fewer than two values: there is nothing to generalize", hint="another role"
        )
    spec = guess_hierarchy(schema, values)
    path = hierarchy_path(own, spec, Path(FOLDER), lambda path: (column.draft.folder / path).exists())
    return HierarchyFile.of(column, path.as_posix(), starter_text(spec, schema, values))


def description(column: DraftColumn, table: Table, content: dict[str, Any]) -> str:
    """Text of a hierarchy's description, with the edges of quantiles found on the data.

    ``content`` is as a YAML file describes a hierarchy, or ``type: quantiles`` with ``counts``: intervals on levels 1,
    2, ... A person counts once for each value of the column that it has.
    """
    if content.get("type") != "quantiles":
        return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None))
    own = column.path[-1]
    schema, values = table.schema[own], table.frame[own]
    if not schema.kind.is_number:
        raise HierarchyError(f"quantiles are of numbers, and {column.name!r} is {schema.kind}", hint="another type")
    held = pd.DataFrame({"holder": row_holders(table), "value": values.to_numpy()})
    values = values[~held.duplicated().to_numpy()]
    counts = content.get("counts", QUANTILES)
    if set(content) - {"type", "counts"} or not counts or not all(isinstance(one, int) for one in counts):
        raise HierarchyError("quantiles have counts alone, and these are whole numbers", hint="such as counts=[8,4,2]")
    return text_of_spec(quantiles(schema, values, counts))


def checked_file(column: DraftColumn, table: Table, text: str, suffix: str) -> HierarchyFile:
    """Hierarchy file with a given text, checked on the data.

    ``suffix`` is ``.yaml`` or ``.csv``. A hierarchy of the same sort is replaced; one of the other sort stays, and the
    new one gets a file of its own. One that is malformed, or does not cover the values, is refused.
    """
    own = column.path[-1]
    load_hierarchy(parse_hierarchy(text, Path(f"hierarchy{suffix}")), table.schema[own], table.frame[own])
    current = column.hierarchy
    is_yaml = suffix in YAML_SUFFIXES
    if current is not None and (Path(current).suffix.lower() in YAML_SUFFIXES) == is_yaml:
        return HierarchyFile.of(column, current, text)
    name = Path(FOLDER) / f"{Path(current).stem if current else 'column'}{suffix}"
    path = free_path(name, lambda path: (column.draft.folder / path).exists())
    return HierarchyFile.of(column, path.as_posix(), text)
