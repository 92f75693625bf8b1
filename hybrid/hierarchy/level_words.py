"""Levels of a hierarchy in words."""

from __future__ import annotations

from decimal import Decimal

from hybrid.hierarchy.spec import DatesSpec, IntervalsSpec, MaskSpec
from hybrid.hierarchy.tree import Hierarchy

LEFT_OUT = "left out"
"""At the root: every value reads the same, so that nothing of the column is left."""


def level_words(hierarchy: Hierarchy, level: int, unit: str = "") -> str:
    """Name the groups that a level makes of the values.

    Parameters
    ----------
    hierarchy : Hierarchy
        Of the column.
    level : int
        0 is the values themselves, the last one the root.
    unit : str
        Of numbers, such as ``year``: "10-year groups" instead of "groups of 10".

    Returns
    -------
    str
        Such as "kept as it is", "groups of 10", "first 3 characters", "by month", "4 groups", "left out". Holds no
        cell value: a width, a number of characters, a period, or a number of groups.
    """
    if level == hierarchy.n_levels - 1:
        return LEFT_OUT
    if level == 0:
        return "kept as it is"
    rule = hierarchy.rule
    if isinstance(rule, IntervalsSpec) and len(rule.widths) == hierarchy.n_levels - 2:
        width = _plain(rule.widths[level - 1])
        return f"{width}-{unit} groups" if unit else f"groups of {width}"
    if isinstance(rule, DatesSpec) and len(rule.levels) == hierarchy.n_levels - 2:
        return f"by {rule.levels[level - 1]}"
    if isinstance(rule, MaskSpec) and len(rule.keep) == hierarchy.n_levels - 2:
        kept = rule.keep[level - 1]
        return f"first {kept} characters" if kept > 1 else "first character"
    count = len(set(hierarchy.node_of[: hierarchy.missing_leaf, level].tolist()))
    return f"{count:,} group{'s' if count > 1 else ''}"


def _plain(number: Decimal) -> str:
    """A number without exponent and needless zeros."""
    return f"{number.normalize():f}"
