"""Load the hierarchies of a table, check that they cover it, and read public domains from them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import HierarchyError, Problem
from hybrid.hierarchy.build import Rows, build_hierarchy, from_rows
from hybrid.hierarchy.files import YAML_SUFFIXES, parse_rows, parse_spec, read_rows, read_spec
from hybrid.hierarchy.levels import parse_texts
from hybrid.hierarchy.spec import HierarchySpec, rule_of
from hybrid.hierarchy.tree import MISSING, Hierarchy
from hybrid.table import Column, Kind, Schema, Table

_USUAL_MARKERS = ("?", "*", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-", ".")
"""Texts that mean "missing" in hierarchy files of numbers and dates, where they cannot be a value."""
HierarchySource: TypeAlias = Path | HierarchySpec | Rows
"""Origin of a hierarchy: a file; or in memory its description, or the labels of each value."""


def load_hierarchies(
    table: Table,
    sources: Mapping[str, HierarchySource],
    unneeded: Container[str] = (),
    read: Mapping[str, Hierarchy] = MappingProxyType({}),
) -> dict[str, Hierarchy]:
    """Load and check the hierarchies of quasi-identifiers, which need one, and of sensitive columns that have one.

    The whole table must be covered, and a column with missing values gets a leaf for them. Sources of other columns,
    and ``unneeded`` quasi-identifiers, are left out. Of ``read``, hierarchies of another table with these columns and
    sources, those of listed labels are not read again.
    """
    loaded: dict[str, Hierarchy] = {}
    problems: list[Problem] = []
    sensitive = [name for name in table.schema.sensitive if name in sources]
    for column in table.schema.only([*table.schema.quasi_identifiers, *sensitive]):
        name = column.name
        if name in unneeded:
            continue
        if name not in sources:
            problems.append(
                Problem(
                    f"column {name!r}: a quasi-identifier needs a hierarchy",
                    f"set data.columns.{name}.hierarchy; hybrid hierarchy make CONFIG writes one to start from",
                )
            )
            continue
        try:
            loaded[name] = load_hierarchy(sources[name], column, table.frame[name], read=read.get(name))
        except HierarchyError as error:
            problems.extend(error.problems)
    if problems:
        raise HierarchyError(problems)
    return loaded


def load_hierarchy(
    source: HierarchySource,
    column: Column,
    values: pd.Series,
    counts: Array | None = None,
    read: Hierarchy | None = None,
) -> Hierarchy:
    """Load one hierarchy and check that it covers a column; with a missing leaf exactly if values are missing.

    A source is a YAML file (``.yaml``, ``.yml``), else CSV, or a description. ``counts`` are the records that have each
    value, for messages: they count what is not covered, and the names are in their private part. ``read`` is the
    hierarchy of the same source for other values.
    """
    same = read is not None and _is_listed(source) and (read.missing_leaf is None) != bool(values.isna().any())
    hierarchy = read if read is not None and same else read_hierarchy(source, column, values)
    try:
        hierarchy.encode(values, counts)
    except HierarchyError as error:
        raise HierarchyError(
            Problem(f"{name_of(source, column)}: {problem.message}", problem.hint, problem.values)
            for problem in error.problems
        ) from None
    return hierarchy


def parse_hierarchy(text: str, path: Path) -> HierarchySource:
    """Source in the text of a hierarchy file: YAML or CSV, by the suffix of ``path``."""
    return (parse_spec if path.suffix.lower() in YAML_SUFFIXES else parse_rows)(text, path.name)


def name_of(source: HierarchySource, column: Column) -> str:
    """Name of a hierarchy in messages."""
    return str(source) if isinstance(source, Path) else f"hierarchy of {column.name!r}"


def read_hierarchy(source: HierarchySource, column: Column, values: pd.Series) -> Hierarchy:
    """Read a hierarchy as :func:`load_hierarchy`, and allow uncovered values."""
    if isinstance(source, Sequence):
        return from_rows(_without_markers(source, column), column, bool(values.isna().any()), name_of(source, column))
    if not isinstance(source, Path):
        return build_hierarchy(source, column, values, name_of(source, column))
    if source.suffix.lower() in YAML_SUFFIXES:
        return build_hierarchy(read_spec(source), column, values, str(source))
    rows = _without_markers(read_rows(source), column)
    return from_rows(rows, column, bool(values.isna().any()), str(source))


def _without_markers(rows: Rows, column: Column) -> Rows:
    markers = {"", MISSING, column.format.missing.strip()}
    if column.kind is not Kind.CATEGORICAL:
        candidates = [row[0] for row in rows if row[0] in _USUAL_MARKERS]
        bad = parse_texts(candidates, column).bad if candidates else ()
        markers |= {candidates[i] for i in bad}
    return [row for row in rows if row[0] not in markers]


def listed_values(schema: Schema, sources: Mapping[str, HierarchySource]) -> dict[str, Array]:
    """The values that files list, by column, in the file's order, without the missing value.

    Only columns whose file names every value: CSV, and YAML of the types ``tree`` and ``groups`` (without ``others``).
    """
    found: dict[str, Array] = {}
    for column in schema:
        source = sources.get(column.name)
        if source is not None and _lists_all(source):
            found[column.name] = read_hierarchy(source, column, pd.Series([], dtype=column.kind.type.dtype)).leaves
    return found


def _is_listed(source: HierarchySource) -> bool:
    """True for labels of each value, which do not depend on the values of a table."""
    return isinstance(source, Sequence) or (isinstance(source, Path) and source.suffix.lower() not in YAML_SUFFIXES)


def _lists_all(source: HierarchySource) -> bool:
    if _is_listed(source):
        return True
    assert not isinstance(source, Sequence)
    return rule_of(read_spec(source) if isinstance(source, Path) else source) is None
