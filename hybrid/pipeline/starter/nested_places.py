"""Places that lie in one another, such as a town in its state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from hybrid.constraints.discover import Suggestion
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.pipeline.starter.column_names import has_phrase, vocabulary
from hybrid.pipeline.starter.columns import GuessedColumn
from hybrid.table import Kind, Table

_LEAST_ROWS = 50
"""Rows of small places that occur again, at least, to judge by."""
_SURE = 0.8
"""Agreement beyond chance from which a place lies in a larger one."""


def nested_places(table: Table, columns: Sequence[GuessedColumn]) -> list[Suggestion]:
    """Find columns of places of which the smaller lie in the larger ones.

    Parameters
    ----------
    table : Table
        The source.
    columns : sequence of GuessedColumn
        Of the table. Those of categories with a role and a name for places are compared.

    Returns
    -------
    list of Suggestion
        Sure ones: each names columns that belong together, the largest places first. Of two rows with the same small
        place nearly all have the same large one: Cohen's kappa of such pairs is at least 0.8. Towns of the same name in
        several states do not prevent that.
    """
    known = vocabulary()
    names = [
        one.column.name
        for one in columns
        if one.role.role.is_learned
        and one.column.kind is Kind.CATEGORICAL
        and has_phrase(known.without_fillers(known.split(one.column.name)), known.places)
    ]
    size = {name: int(table.frame[name].nunique()) for name in names}
    groups: list[set[str]] = []
    for pair in combinations(sorted(names, key=size.__getitem__), 2):
        if _agreement(table.frame, *pair) >= _SURE:
            joined = [group for group in groups if group & {*pair}]
            groups = [group for group in groups if group not in joined] + [set(pair).union(*joined)]
    found = [Combinations(combinations=tuple(sorted(group, key=size.__getitem__))) for group in groups]
    return [Suggestion(one, 0, sure=True) for one in found]


def with_places(table: Table, columns: Sequence[GuessedColumn], found: Sequence[Suggestion]) -> list[Suggestion]:
    """Suggestions of :func:`nested_places`, and those found that are not about the same places."""
    places = nested_places(table, columns)
    joined = [set(one.constraint.columns) for one in places]
    return [*places, *(one for one in found if not any(set(one.constraint.columns) <= names for names in joined))]


def _agreement(frame: pd.DataFrame, large: str, small: str) -> float:
    """Cohen's kappa of the large places of two rows with the same small one, at most 1; 0 for too few rows."""
    rows = frame[[large, small]].dropna().astype(object)
    pairs = rows.groupby([small, large]).size()
    towns = pairs.groupby(level=0).sum()
    again = towns[towns > 1]
    if again.sum() < _LEAST_ROWS:
        return 0.0
    same = (pairs * (pairs - 1)).groupby(level=0).sum()[again.index]
    observed = float((same / (again - 1)).sum() / again.sum())
    chance = float(np.square(rows[large].value_counts(normalize=True)).sum())
    return (observed - chance) / (1 - chance) if chance < 1 else 0.0
