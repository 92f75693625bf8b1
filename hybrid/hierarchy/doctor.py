"""Diagnose a hierarchy (errors, useless levels, missing values), and change a listed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes
from hybrid.base.atomic import write_text
from hybrid.base.errors import Finding, HierarchyError, Problem
from hybrid.base.sentence import sentence
from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.files import YAML_SUFFIXES, csv_line, read_rows, separator_of
from hybrid.hierarchy.levels import distinct_values, parse_texts, texts_of
from hybrid.hierarchy.load import load_hierarchy, read_hierarchy
from hybrid.hierarchy.tree import MISSING, MOST_LISTED, Hierarchy
from hybrid.table import Column, Table
from hybrid.table.holders import holders, row_persons


@dataclass(frozen=True)
class LevelSummary:
    """One level of a hierarchy on the data it is for."""

    level: int
    """0 is the values themselves."""
    labels: int
    """Labels that occur in the data."""
    share: float
    """Mean part of the domain that a row's label covers, in (0, 1]: the loss of the level."""
    smallest: int
    median: int
    """People who have the rarest label, and the median one."""
    alone: int
    """People whose label no other person has."""
    examples: tuple[str, ...]
    """The commonest labels, at most five. Private: on level 0 these are cell values."""


def summarize(hierarchy: Hierarchy, table: Table, name: str) -> list[LevelSummary]:
    """Effect of each level of a hierarchy on a column, from the values to the root; the table has rows."""
    nodes, persons = hierarchy.node_of[hierarchy.encode(table.frame[name])], row_persons(table)
    return [_summary(hierarchy, level, nodes[:, level], persons) for level in range(hierarchy.n_levels)]


def _summary(hierarchy: Hierarchy, level: int, nodes: Array, persons: Codes) -> LevelSummary:
    present, codes, rows = np.unique(nodes, return_inverse=True, return_counts=True)
    counts = holders(codes, len(present), persons)
    commonest = present[np.argsort(-rows, kind="stable")[:5]]
    return LevelSummary(
        level=level,
        labels=len(present),
        share=float(hierarchy.share[nodes].mean()),
        smallest=int(counts.min()),
        median=int(np.median(counts)),
        alone=int((counts == 1).sum()),
        examples=tuple(hierarchy.labels[node] for node in commonest),
    )


def examine(path: Path, column: Column, values: pd.Series) -> list[Finding]:
    """Everything that is wrong, or of no use, in a hierarchy file.

    Errors (malformed, not nested, several roots, values not covered); or "ok", and notes about levels that change
    nothing and values of the file that the data does not have.
    """
    try:
        hierarchy = load_hierarchy(path, column, values)
    except HierarchyError as error:
        return [Finding.error(problem) for problem in error.problems]
    where, present = str(path), values.nunique()
    covers = sentence("hierarchy.covers", path=where, n=hierarchy.n_levels, values=present, column=repr(column.name))
    found = [Finding("ok", covers)]
    for level in range(1, hierarchy.n_levels):
        below, above = (len(np.unique(hierarchy.node_of[:, at])) for at in (level - 1, level))
        if below == above and not (hierarchy.intervals and level == 1):
            same = sentence("hierarchy.same", path=where, n=level, below=level - 1)
            found.append(Finding("note", same, "remove the level: it only makes the search longer"))
    unused = hierarchy.n_leaves - (hierarchy.missing_leaf is not None) - present
    if unused > 0:
        more = sentence("hierarchy.unused", path=where, n=unused)
        found.append(Finding("note", more, "fine if they could occur: they count as part of the domain"))
    if hierarchy.n_levels == 2 and present > 2:
        found.append(
            Finding("note", sentence("hierarchy.flat", path=where), "add groups in between, so that less is lost")
        )
    return found


def uncovered(path: Path, column: Column, values: pd.Series) -> list[str]:
    """Values that a column has and its hierarchy file lacks, as the column writes them, sorted."""
    present = distinct_values(values, column)
    hierarchy = read_hierarchy(path, column, values)
    known = pd.Index(hierarchy.leaves[: hierarchy.missing_leaf])
    return texts_of(present[~pd.Index(present).isin(known)], column)


def extend(path: Path, column: Column, new: Sequence[str], like: str | None = None) -> int:
    """Add values to a CSV hierarchy, replaced whole or not at all; the lines that are there stay as they are.

    Values are as the column writes them, whose kind decides how texts compare ("05" is no integer); those the file
    already has are left out. They get the labels of the value ``like``; without it, a new value stays itself on every
    level below the root, until a person groups it.
    """
    if path.suffix.lower() in YAML_SUFFIXES:
        raise HierarchyError(
            f"{path}: values can be added to CSV hierarchies only",
            hint="edit the file: list the values in a tree or in groups (or set others); intervals, dates and masks "
            "cover every value",
        )
    rows = read_rows(path)
    bad = [new[i] for i in parse_texts(list(new), column).bad] + [text for text in new if text in ("", MISSING)]
    if bad:
        raise HierarchyError(
            Problem(f"{len(bad)} of the new values are not {column.kind}, as {column.name!r} is", values=_some(bad))
        )
    model = next((row for row in rows if row[0] == like), None)
    if like is not None and model is None:
        raise HierarchyError(f"{path}: the value to be copied is not in the file", hint="name one that is", values=like)
    known = {row[0] for row in rows}
    root = rows[0][-1]
    width = len(rows[0])
    added = [text for text in dict.fromkeys(new) if text not in known]
    lines = [(text, *model[1:]) if model else (*(text,) * (width - 1), root) for text in added]
    if lines:
        separator = separator_of(path)
        before = path.read_bytes().decode("utf-8-sig")
        gap = "" if before.endswith("\n") else "\n"
        write_text(path, before + gap + "".join(csv_line(line, separator) for line in lines))
    return len(lines)


def _some(texts: list[str]) -> str:
    return ", ".join(texts[:MOST_LISTED])


def labels_of(rows: Rows, level: int) -> dict[str, str]:
    """Labels of one level, and what each becomes on the next, in the order of the rows."""
    return {row[level]: row[level + 1] for row in rows}


def regrouped(rows: Rows, level: int, groups: Mapping[str, str]) -> Rows:
    """Rows with other labels on one level, neither that of the values nor the root.

    ``groups`` is the new label of each label of the level below; those that are not named keep theirs. Nested as
    before: a new group of labels that differ further up is a group of its own there, to be joined on the next level.
    """
    _refuse_ends(rows, level)
    if not all(label.strip() for label in groups.values()):
        raise HierarchyError(f"level {level}: a label is empty", hint="name the group of every line")
    labels = [groups.get(row[level - 1], row[level]).strip() for row in rows]
    above: dict[str, set[tuple[str, ...]]] = {}
    for label, row in zip(labels, rows, strict=True):
        above.setdefault(label, set()).add(row[level + 1 :])
    between = _levels(rows) - level - 2
    return [
        (*row[:level], label, *(row[level + 1 :] if len(above[label]) == 1 else (*[label] * between, row[-1])))
        for label, row in zip(labels, rows, strict=True)
    ]


def with_level(rows: Rows, level: int) -> Rows:
    """Rows with one more level above this one: the same groups, for a person to join."""
    if not 0 <= level < _levels(rows) - 1:
        raise HierarchyError(f"there is no level {level} below the root", hint="look at the levels again")
    return [(*row[: level + 1], *row[level:]) for row in rows]


def without_level(rows: Rows, level: int) -> Rows:
    """Rows without one level."""
    _refuse_ends(rows, level)
    return [(*row[:level], *row[level + 1 :]) for row in rows]


def _levels(rows: Rows) -> int:
    return len(rows[0]) if rows else 0


def _refuse_ends(rows: Rows, level: int) -> None:
    if not 0 < level < _levels(rows) - 1:
        raise HierarchyError(f"level {level} is not between the values and the root", hint="look at the levels again")
