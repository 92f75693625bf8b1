"""Build the hierarchy that a YAML file describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import HierarchyError, Problem
from hybrid.hierarchy.intervals import build_dates, build_intervals
from hybrid.hierarchy.levels import distinct_values, from_levels, from_texts, texts_of
from hybrid.hierarchy.public_lists import list_rows
from hybrid.hierarchy.spec import (
    DatesSpec,
    GroupsSpec,
    HierarchySpec,
    IntervalsSpec,
    ListSpec,
    MaskSpec,
    TreeSpec,
    rule_of,
)
from hybrid.hierarchy.tree import ROOT, Hierarchy
from hybrid.table import Column, Kind

Rows = list[tuple[str, ...]]
"""One row per value: its text, then its label on levels 1, 2, ..."""


def build_hierarchy(spec: HierarchySpec, column: Column, values: pd.Series, source: str = "") -> Hierarchy:
    """Build a hierarchy for the values of a column; with a missing leaf if there are missing values."""
    _check_kind(spec, column, source)
    found = distinct_values(values, column)
    spec = _fixed_levels(spec, column, found)
    built = _built(spec, column, found, bool(values.isna().any()), source)
    return replace(built, rule=rule_of(spec), public=isinstance(spec, ListSpec))


def hierarchy_of_values(hierarchy: Hierarchy, column: Column, values: pd.Series) -> Hierarchy:
    """Rebuild a hierarchy by its own rule for some of the values that it was built for.

    Leaves, bounds of open intervals and the root's bounds come from these values alone. A hierarchy without
    :attr:`Hierarchy.rule` lists its leaves in a file and is returned as it is.
    """
    return hierarchy if hierarchy.rule is None else build_hierarchy(hierarchy.rule, column, values)


def _fixed_levels(spec: HierarchySpec, column: Column, found: Array) -> HierarchySpec:
    """A mask that hides one more character per level gets as many levels as the longest value has characters."""
    if not isinstance(spec, MaskSpec) or spec.keep or not len(found):
        return spec
    longest = max(map(len, texts_of(found, column)))
    return spec.model_copy(update={"keep": tuple(range(longest - 1, 0, -1))})


def _built(spec: HierarchySpec, column: Column, found: Array, missing: bool, source: str) -> Hierarchy:
    def texts(leaves: Array) -> list[str]:
        return texts_of(leaves, column)

    if isinstance(spec, TreeSpec):
        return from_rows(_tree_rows(spec), column, missing, source)
    if isinstance(spec, GroupsSpec):
        return from_rows(_group_rows(spec, texts(found), column, source), column, missing, source)
    if isinstance(spec, ListSpec):
        return from_rows(list_rows(spec, texts(found)), column, missing, source)
    if not len(found):
        return from_levels(column.name, column.kind, found, [[]], missing=missing, source=source)
    if isinstance(spec, IntervalsSpec):
        return build_intervals(spec, column, found, texts, missing, source)
    if isinstance(spec, DatesSpec):
        return build_dates(spec, column, found, texts, missing, source)
    return from_rows(_mask_rows(spec, texts(found)), column, missing, source)


def from_rows(rows: Rows, column: Column, missing: bool, source: str) -> Hierarchy:
    """A hierarchy of listed values: one row per value, all of the same length."""
    leaves = from_texts([row[0] for row in rows], column, source)
    levels = list(zip(*rows, strict=True))[1:] if rows else [()]
    return from_levels(
        column.name, column.kind, leaves, levels, texts=texts_of(leaves, column), missing=missing, source=source
    )


def _check_kind(spec: HierarchySpec, column: Column, source: str) -> None:
    by_kind = isinstance(spec, IntervalsSpec | DatesSpec)
    if by_kind and spec.type not in column.kind.type.hierarchies:
        suited = [kind for kind in Kind if spec.type in kind.type.hierarchies]
        kinds = " and ".join(", ".join(suited).rsplit(", ", 1))
        raise HierarchyError(
            f"{source}: type {spec.type} is for {kinds} columns, and {column.name!r} is {column.kind}",
            hint=f"use another type, or declare the column's kind under data.columns.{column.name}",
        )
    periods = column.kind.type.periods
    if isinstance(spec, DatesSpec) and not set(spec.levels) <= set(periods):
        wrong = ", ".join(level for level in spec.levels if level not in periods)
        raise HierarchyError(
            f"{source}: {column.name!r} is {column.kind}, whose values have no {wrong}",
            hint=f"use of these levels: {', '.join(periods)}",
        )


def _mask_rows(spec: MaskSpec, texts: list[str]) -> Rows:
    return [(text, *(_masked(text, n, spec) for n in spec.keep), ROOT) for text in texts]


def _masked(text: str, n: int, spec: MaskSpec) -> str:
    if spec.length == "hide":
        return text[:n] + spec.mark
    return text[:n] + spec.mark * max(len(text) - n, 0)


def _tree_rows(spec: TreeSpec) -> Rows:
    paths = [tuple(reversed(path)) for path in _paths(spec.tree, (ROOT,))]
    depth = max(map(len, paths), default=2)
    return [(path[0],) * (depth - len(path)) + path for path in paths]


def _paths(below: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(below, dict):
        for label, branch in below.items():
            yield from _paths(branch, (*path, str(label)))
    elif isinstance(below, list):
        for branch in below:
            yield from _paths(branch, path) if isinstance(branch, dict) else [(*path, str(branch))]
    elif below in (None, ""):
        yield path
    else:
        yield (*path, str(below))


def _group_rows(spec: GroupsSpec, texts: list[str], column: Column, source: str) -> Rows:
    problems = []
    listed = [value for members in spec.levels[0].values() for value in members]
    rest = sorted(set(texts) - set(listed)) if spec.others is not None else []
    labels: dict[str, tuple[str, ...]] = {value: (value,) for value in [*dict.fromkeys(listed), *rest]}
    for at, groups in enumerate(spec.levels, start=1):
        parent = {member: label for label, members in groups.items() for member in members}
        twice = [m for m, n in Counter(m for members in groups.values() for m in members).items() if n > 1]
        # The rest is a label of level 1, whether any value is in it or not.
        unknown = set(parent) - {path[-1] for path in labels.values()} - ({spec.others} if at > 1 else set())
        for names, what in ((twice, "in more than one group"), (sorted(unknown), "not labels of the level before")):
            if names:
                problems.append(
                    Problem(
                        f"{source}: hierarchy of {column.name!r}: {len(names)} members of level {at} are {what}",
                        "list each once, spelled as on the level before",
                        values=", ".join(names),
                    )
                )
        stay = spec.others if at == 1 else None
        labels = {value: (*path, parent.get(path[-1], stay or path[-1])) for value, path in labels.items()}
    if problems:
        raise HierarchyError(problems)
    return [(*path, ROOT) for path in labels.values()]
