"""Changes of a listed hierarchy: other groups, more levels, fewer levels."""

from __future__ import annotations

from collections.abc import Mapping

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.build import Rows


def labels_of(rows: Rows, level: int) -> dict[str, str]:
    """Labels of one level, and what each becomes on the next.

    Parameters
    ----------
    rows : list of tuple of str
        One per value: its text, then its label on levels 1, 2, ...
    level : int
        0..n_levels - 2.

    Returns
    -------
    dict of str to str
        In the order of the rows.
    """
    return {row[level]: row[level + 1] for row in rows}


def regrouped(rows: Rows, level: int, groups: Mapping[str, str]) -> Rows:
    """Rows with other labels on one level.

    Parameters
    ----------
    rows : list of tuple of str
        As for :func:`labels_of`.
    level : int
        Of the new labels, 1..n_levels - 2: neither the values nor the root.
    groups : mapping of str to str
        New label of each label of the level below. Labels that are not named keep theirs.

    Returns
    -------
    list of tuple of str
        Nested as before: a new group of labels that differ further up is a group of its own there, to be joined on
        the next level.

    Raises
    ------
    HierarchyError
        There is no such level, or a label is empty.
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
    """Rows with one more level above this one.

    It has the same groups, for a person to join.

    Raises
    ------
    HierarchyError
        There is no such level, or it is the root.
    """
    if not 0 <= level < _levels(rows) - 1:
        raise HierarchyError(f"there is no level {level} below the root", hint="look at the levels again")
    return [(*row[: level + 1], *row[level:]) for row in rows]


def without_level(rows: Rows, level: int) -> Rows:
    """Rows without one level.

    Raises
    ------
    HierarchyError
        There is no such level, or it holds the values or the root.
    """
    _refuse_ends(rows, level)
    return [(*row[:level], *row[level + 1 :]) for row in rows]


def _levels(rows: Rows) -> int:
    return len(rows[0]) if rows else 0


def _refuse_ends(rows: Rows, level: int) -> None:
    if not 0 < level < _levels(rows) - 1:
        raise HierarchyError(f"level {level} is not between the values and the root", hint="look at the levels again")
