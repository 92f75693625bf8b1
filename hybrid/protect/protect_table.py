"""Protection of all columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.protect.alike import ranks_of
from hybrid.protect.categories import protect_categories, rarity
from hybrid.protect.numbers import protect_numbers
from hybrid.protect.options import ProtectOptions, Replace
from hybrid.protect.result import ColumnProtection, Protection
from hybrid.protect.texts import refuse_texts
from hybrid.table import Column, Table


@dataclass(frozen=True)
class Protected:
    """A protected table, and what was changed."""

    table: Table
    result: Protection


def protect(
    table: Table,
    options: ProtectOptions,
    rng: np.random.Generator,
    k: int = 0,
    persons: Array | None = None,
    listed: Mapping[str, Array] | None = None,
) -> Protected:
    """Replace all values that fewer people hold than the options ask for.

    Parameters
    ----------
    table : Table, n records
        The training records, without identifiers. Their order does not matter: the same records in another order
        get the same values.
    options : ProtectOptions
        How many people must hold a value, and what takes its place.
    rng : numpy.random.Generator
        Draws.
    k : int
        Of the anonymization, which raises the default of ``min_count``; 0 without one.
    persons : numpy.ndarray, shape (n,), int, optional
        Person of each record; by default every record is a person.
    listed : mapping of str to numpy.ndarray, optional
        Values of columns that a hierarchy file lists: of these nothing else is drawn, and no ``other`` is made.

    Returns
    -------
    Protected
        As many records, in the same order, with the same schema. Missing values stay missing.

    Raises
    ------
    DataError
        Columns need a decision (:func:`hybrid.protect.texts.text_problems`).
    """
    refuse_texts(table, options, k, persons)
    ranks = ranks_of(table)
    order = np.lexsort(ranks.T[::-1]) if ranks.shape[1] else np.arange(len(table))
    ranks, back = ranks[order], np.argsort(order)
    sorted_table = table.take(order)
    people = None if persons is None else persons[order]
    least = options.least_holders(k)
    columns, results = {}, []
    for at, (column, stream) in enumerate(zip(table.schema, rng.spawn(len(table.schema)), strict=True)):
        values, choice = sorted_table.frame[column.name], options.choice(column.name)
        within = None if listed is None else listed.get(column.name)
        if choice == "keep":
            new, result = values, ColumnProtection(column.name, choice, values.nunique(), 0, 0.0)
        elif column.kind.is_continuous:
            new, result = _numbers(values, column, least, stream, people, within)
        else:
            replace = "sample" if choice == "other" and within is not None else choice
            others = np.delete(ranks, at, axis=1)
            new, result = _categories(values, column, replace, least, others, stream, people)
        columns[column.name] = new.iloc[back].reset_index(drop=True)
        results.append(result)
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(table)), columns=pd.Index(table.schema.names))
    return Protected(Table(frame, table.schema), Protection(least, tuple(results)))


def _numbers(
    values: pd.Series,
    column: Column,
    least: int,
    rng: np.random.Generator,
    persons: Array | None,
    listed: Array | None,
) -> tuple[pd.Series, ColumnProtection]:
    redrawn = protect_numbers(values, column, least, rng, persons, listed)
    changed = int((values.notna() & (redrawn.values.isna() | (values != redrawn.values).fillna(True))).sum())
    return redrawn.values, _result(column, "draw", redrawn.distinct, redrawn.rare, changed, len(values), least)


def _categories(
    values: pd.Series,
    column: Column,
    replace: Replace,
    least: int,
    others: Array,
    rng: np.random.Generator,
    persons: Array | None,
) -> tuple[pd.Series, ColumnProtection]:
    found = rarity(values, least, persons)
    new = protect_categories(values, found, replace, least, others, rng, persons)
    n_rare, changed = int(found.rare.sum()), int(found.affected.sum())
    return new, _result(column, replace, values.nunique(), n_rare, changed, len(values), least)


def _result(
    column: Column, method: str, distinct: int, rare: int, changed: int, n: int, least: int
) -> ColumnProtection:
    return ColumnProtection(
        column.name,
        method,
        distinct,
        None if 0 < rare < least else rare,
        None if 0 < changed < least else round(changed / max(n, 1), 3),
    )
