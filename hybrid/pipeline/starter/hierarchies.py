"""A starter hierarchy for every quasi-identifier."""

from __future__ import annotations

import re

import pandas as pd

from hybrid.hierarchy.from_data import by_frequency, calendar, equal_width, prefixes
from hybrid.hierarchy.levels import distinct_values, texts_of
from hybrid.hierarchy.public_lists import list_of
from hybrid.hierarchy.spec import GroupsSpec, HierarchySpec
from hybrid.pipeline.starter.reading import is_place_code
from hybrid.table import Column, Kind

_CODE = re.compile(r"[A-Z]?[0-9][0-9A-Z.-]*\Z")
_LONGEST_CODE = 12
_FEW = 3


def guess_hierarchy(column: Column, values: pd.Series) -> HierarchySpec:
    """Hierarchy to start from.

    Intervals of numbers, calendar periods, a public list, masks of codes, or frequent categories.

    Parameters
    ----------
    column : Column
        The quasi-identifier.
    values : pandas.Series, shape (n,)
        At least two different values.
    """
    if column.kind in (Kind.INTEGER, Kind.DECIMAL):
        return equal_width(column, values)
    if column.kind.is_temporal:
        return calendar(values)
    texts = texts_of(distinct_values(values, column), column)
    known = list_of(column.name, texts) if column.kind is Kind.CATEGORICAL else None
    if known is not None:
        return known
    codes = all(_CODE.match(text) and len(text) <= _LONGEST_CODE for text in texts)
    if column.kind is Kind.CATEGORICAL and len(texts) > _FEW and (codes or is_place_code(column.name)):
        return prefixes(column, values)
    if len(texts) <= _FEW:
        return GroupsSpec(levels=({text: (text,) for text in texts},))
    kept = tuple(n for n in (8, 3) if n < len(texts))
    return by_frequency(column, values, kept or (1,))


def is_list(spec: HierarchySpec) -> bool:
    """True for a hierarchy written as a list of values.

    The list is a CSV file, for a person to regroup.
    """
    return isinstance(spec, GroupsSpec)
