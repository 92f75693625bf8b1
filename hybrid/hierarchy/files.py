"""Read and write hierarchy files: tables of labels (CSV) and descriptions (YAML)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import TypeAdapter, ValidationError

from hybrid.base.config_files import ConfigSource, expected, parse_yaml
from hybrid.base.errors import HierarchyError, Problem
from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.spec import HierarchySpec
from hybrid.hierarchy.tree import Hierarchy

YAML_SUFFIXES = (".yaml", ".yml")
SEPARATORS = (";", ",", "\t")
MOST_LEVELS = 1_000
"""Levels of a hierarchy in a CSV file at most."""
LONGEST_FIELD = 131_072
"""Characters of a field of a CSV hierarchy at most."""
_FREE_TEXT = ("tree", "levels", "edges")
"""Keys below which a file holds values; a message names nothing below them."""


def read_rows(path: Path) -> Rows:
    """Read a CSV hierarchy in UTF-8: one line per value, column i is level i, no header.

    Comma, semicolon or tab are between the fields; whichever fits is taken. White space around fields is removed.
    """
    return parse_rows(_read_text(path), str(path))


def parse_rows(text: str, name: str) -> Rows:
    """Rows of the text of a CSV hierarchy."""
    if not text.strip():
        raise HierarchyError(f"{name}: the file is empty", hint="write one line per value: value, label, ..., *")
    separator = _best_separator(text)
    try:
        rows = _split(text, separator)
    except csv.Error:
        raise HierarchyError(
            f"{name}: a field has more than {LONGEST_FIELD:,} characters: no separator of fields fits",
            hint="separate the fields by semicolons, and close every quote",
        ) from None
    if not rows:
        raise HierarchyError(f"{name}: the file has no values", hint="write one line per value: value, label, ..., *")
    width = max(map(len, rows))
    if width > MOST_LEVELS:
        raise HierarchyError(f"{name}: {width:,} fields in a line; at most {MOST_LEVELS:,} levels are read")
    short = [at for at, row in enumerate(rows, start=1) if len(row) != width]
    if short:
        raise HierarchyError(
            f"{name}: {len(short)} lines have fewer fields than the longest, which has {width} (the first: {short[0]})",
            hint="give every line one field per level; quote fields that contain the separator",
        )
    empty = [at for at, row in enumerate(rows, start=1) if not all(row[1:])]
    if empty:
        raise HierarchyError(
            f"{name}: {len(empty)} lines have an empty label (the first: {empty[0]})",
            hint="give every value a label on every level",
        )
    return rows


def separator_of(path: Path) -> str:
    """The character between the fields of a CSV hierarchy; errors as :func:`read_rows`."""
    return _best_separator(_read_text(path))


def _best_separator(text: str) -> str:
    return max(SEPARATORS, key=lambda separator: _fitness(text, separator))


def _split(text: str, separator: str) -> Rows:
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    rows = [tuple(field.strip() for field in line) for line in lines if any(field.strip() for field in line)]
    # The limit of the csv module is one for the whole process, and other packages raise it.
    if any(len(field) > LONGEST_FIELD for row in rows for field in row):
        raise csv.Error("a field is too long")
    return rows


def _fitness(text: str, separator: str) -> tuple[bool, bool, int]:
    """Higher for equally long lines, one root, many levels."""
    try:
        rows = _split(text, separator)
    except csv.Error:
        rows = []
    if not rows:
        return False, False, 0
    one_length = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return one_length, one_length and len({row[-1] for row in rows}) == 1, len(rows[0])


def read_spec(path: Path) -> HierarchySpec:
    """Read a YAML hierarchy; all problems at once, each with its line.

    Every scalar is the text of the file: ``no`` is Norway, not false, and ``01`` keeps its zero.
    """
    return parse_spec(_read_text(path), str(path))


def parse_spec(text: str, name: str) -> HierarchySpec:
    """Description in the text of a YAML hierarchy; errors are those of :func:`read_spec` and call the text ``name``."""
    content, source = parse_yaml(text, name, as_text=True, error=HierarchyError)
    if not isinstance(content, dict):
        raise HierarchyError(f"{name}: a mapping with the key 'type' was expected", hint="start with type: intervals")
    try:
        spec: HierarchySpec = TypeAdapter(HierarchySpec).validate_python(content)
    except ValidationError as error:
        raise HierarchyError(_problem(source, detail) for detail in error.errors()) from None
    return spec


def _problem(source: ConfigSource, detail: Any) -> Problem:
    keys = [str(part) for part in detail["loc"][1:]]
    file = source.at(keys or ["type"])
    if keys and keys[0] in _FREE_TEXT:
        keys = keys[:1]
    where = ".".join(keys)
    if detail["type"] == "extra_forbidden":
        return Problem(f"{file}: {where}: unknown key for type {detail['loc'][0]}", "correct or remove it")
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return Problem(f"{file}: type: one of intervals, dates, mask, tree, groups, list was expected")
    message = expected(detail)
    return Problem(f"{file}: {where}: {message}" if where else f"{file}: {message}")


def _read_text(path: Path) -> str:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise HierarchyError(f"{path}: the hierarchy file {what}", hint="correct the path under data.columns")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HierarchyError(f"{path}: the file is not text in UTF-8", hint="save it as UTF-8") from None
    except OSError as error:
        raise HierarchyError(f"{path}: the file could not be opened ({error.strerror})") from None


def rows_of(hierarchy: Hierarchy) -> Rows:
    """Labels of every level for each value.

    The missing leaf is left out; loading adds it where a column has missing values. Of a hierarchy of intervals the
    observed values are listed: what is loaded again covers these and no others.
    """
    names = np.array(hierarchy.labels, dtype=object)
    return [tuple(row) for row in names[hierarchy.node_of[: hierarchy.missing_leaf]]]


def text_of_rows(rows: Rows, separator: str = ";") -> str:
    """Text of a CSV hierarchy: one line per value, column i is level i, no header."""
    return "".join(csv_line(row, separator) for row in rows)


def csv_line(row: Sequence[str], separator: str) -> str:
    return separator.join(map(_field, row)) + "\n"


def text_of_spec(spec: HierarchySpec, comment: str = "") -> str:
    """Text of a YAML hierarchy, without its defaults, below the lines of a comment."""
    content = {"type": spec.type, **_plain(spec.model_dump(exclude_defaults=True))}
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    body: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return head + body


def _field(text: str) -> str:
    if not any(character in text for character in ';,\t"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value
