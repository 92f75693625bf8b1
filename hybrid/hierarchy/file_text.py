"""Texts of hierarchy files: tables of labels (CSV) and descriptions (YAML)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import yaml

from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.spec import HierarchySpec
from hybrid.hierarchy.tree import Hierarchy


def rows_of(hierarchy: Hierarchy) -> Rows:
    """Labels of every level for each value.

    The missing leaf is left out; loading adds it where a column has missing values. Of a hierarchy of intervals the
    observed values are listed: what is loaded again covers these and no others.
    """
    names = np.array(hierarchy.labels, dtype=object)
    return [tuple(row) for row in names[hierarchy.node_of[: hierarchy.missing_leaf]]]


def text_of_rows(rows: Rows, separator: str = ";") -> str:
    """Text of a CSV hierarchy.

    One line per value, column i = level i, no header.
    """
    return "".join(csv_line(row, separator) for row in rows)


def csv_line(row: Sequence[str], separator: str) -> str:
    """One line of a CSV hierarchy."""
    return separator.join(map(_field, row)) + "\n"


def text_of_spec(spec: HierarchySpec, comment: str = "") -> str:
    """Text of a YAML hierarchy, without its defaults.

    Parameters
    ----------
    spec : IntervalsSpec, DatesSpec, MaskSpec, TreeSpec, GroupsSpec or ListSpec
        What the levels are.
    comment : str
        Lines to write above it.
    """
    content = {"type": spec.type, **_plain(spec.model_dump(exclude_defaults=True))}
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    body: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return head + body


def _field(text: str) -> str:
    """CSV field, quoted where needed.

    Python's csv module leaves a lone carriage return unquoted.
    """
    if not any(character in text for character in ';,\t"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _plain(value: Any) -> Any:
    """Tuples as lists, decimal numbers as YAML numbers."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value
