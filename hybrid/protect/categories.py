"""Protected categories: those that few people hold are replaced; text columns need a decision."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError, Problem
from hybrid.hierarchy import Hierarchy
from hybrid.protect.donors import category_codes, draw_alike, draw_below
from hybrid.protect.group_values import decoded, grouped, with_names
from hybrid.protect.options import ProtectOptions, Replace
from hybrid.table import Kind, Table
from hybrid.table.holders import holders, n_distinct, row_holders

OTHER = "other"
"""The category of all rare ones together, under ``replace: other``."""


@dataclass(frozen=True)
class Rarity:
    """Rare categories of a column."""

    codes: Array
    """Category of each record, by the alphabet; -1 where missing; shape (n,), int64."""
    names: list[str]
    """The m categories."""
    rare: Array
    """Categories that too few people hold; shape (m,), bool."""

    @property
    def affected(self) -> Array:
        """Records with a rare category, shape (n,), bool."""
        held: Array = (self.codes >= 0) & np.append(self.rare, False)[self.codes]
        return held


def rarity(values: pd.Series, least: int, persons: Array) -> Rarity:
    """Count who holds each category of a column of categories or booleans."""
    if values.dtype == "boolean":
        codes, names = values.astype("Int8").fillna(-1).to_numpy(dtype=np.int64), ["False", "True"]
        held = holders(codes, 2, persons)
        return Rarity(codes, names, (held < least) & (held > 0))
    codes, names = category_codes(values)
    return Rarity(codes, names, holders(codes, len(names), persons) < least)


def protect_categories(
    values: pd.Series,
    found: Rarity,
    replace: Replace,
    least: int,
    matrix: Array,
    rng: np.random.Generator,
    persons: Array,
    tree: Hierarchy | None = None,
    *,
    named: bool = False,
) -> pd.Series:
    """Replace the categories of a column that fewer than ``least`` people hold.

    ``replace`` says by what. A boolean column has no ``other``, and fewer than ``least`` people together do not make
    one: then a value is drawn, as for ``sample``, by the other columns (``matrix``). Where no category has enough
    holders, the values become missing. With a ``tree`` the categories under the lowest node that has any are drawn
    from. ``named``: the lowest group that enough people share is written instead, by its name
    (:func:`~hybrid.protect.group_values.grouped`).
    """
    affected, boolean = found.affected, values.dtype == "boolean"
    if not affected.any():
        return values
    kept = (found.codes >= 0) & ~affected
    people = n_distinct(persons[affected])
    codes, names = found.codes.copy(), [*found.names, OTHER]
    if replace == "other" and not boolean and tree is None and (people >= least or OTHER in _kept_names(found)):
        codes[affected] = names.index(OTHER) if OTHER in _kept_names(found) else len(found.names)
    elif replace != "missing" and named and tree is not None:
        leaves = tree.encode(values)
        top = np.full(len(leaves), tree.n_levels - 1)
        return decoded(*with_names(tree, grouped(tree, leaves, affected, top, least, rng, persons)), values)
    elif replace == "missing" or not kept.any():
        codes[affected] = -1
    else:
        known = found.codes >= 0
        if tree is None:
            codes[affected] = draw_alike(codes[known], kept[known], matrix[known], rng)
        else:
            leaf = {str(value): at for at, value in enumerate(tree.leaves[: tree.missing_leaf])}
            levels = tree.node_of[[leaf[name] for name in found.names], 1:]
            codes[affected] = draw_below(codes[known], kept[known], levels, rng)
    if boolean:
        return pd.Series(pd.arrays.BooleanArray(codes == 1, codes < 0))
    return _categorical(codes, names, values)


def _kept_names(found: Rarity) -> list[str]:
    return [name for name, rare in zip(found.names, found.rare, strict=True) if not rare]


def _categorical(codes: Array, names: list[str], values: pd.Series) -> pd.Series:
    """Categorical column with only the occurring categories; the dtype's order is kept."""
    occurring = {names[code] for code in np.unique(codes[codes >= 0])}
    before = [name for name in map(str, values.cat.categories) if name in occurring]
    categories = [*before, *sorted(occurring - set(before))]
    place = {name: at for at, name in enumerate(categories)}
    new = np.array([place.get(name, -1) for name in names] + [-1], dtype=np.int64)
    dtype = pd.CategoricalDtype(pd.Index(categories, dtype=values.cat.categories.dtype), ordered=values.cat.ordered)
    return pd.Series(pd.Categorical.from_codes(new[codes], dtype=dtype))


MOST_CHANGED = 0.2
"""Share of the records of a categorical column that may change without a decision."""


def text_problems(
    table: Table,
    options: ProtectOptions,
    k: int = 0,
    generalized: Container[str] = (),
) -> list[Problem]:
    """Columns without a decision, and decisions about columns that the table of training records does not have.

    ``k`` is that of the anonymization, 0 without one; columns that will be ``generalized`` need no decision.
    """
    return [*_unknown(table, options), *_texts(table, options, k, generalized)]


def refuse_texts(
    table: Table,
    options: ProtectOptions,
    k: int = 0,
    generalized: Container[str] = (),
) -> None:
    """Refuse a table with columns that need a decision.

    Arguments as for :func:`text_problems`.
    """
    problems = text_problems(table, options, k, generalized)
    if problems:
        raise DataError(problems)


def _unknown(table: Table, options: ProtectOptions) -> Iterator[Problem]:
    names = ", ".join(table.schema.names)
    for name in options.columns:
        if name not in table.schema:
            yield Problem(f"protect.columns.{name}: no such column, or an identifier", f"one of: {names}")


def _texts(table: Table, options: ProtectOptions, k: int, generalized: Container[str]) -> Iterator[Problem]:
    least = options.least_holders(k)
    for name, share in texts_to_decide(table, options, k, generalized):
        yield Problem(
            f"data.columns.{name}: {100 * share:.0f} % of the records hold a value that fewer than {least} "
            f"of the {len(table):,} training records hold; this is a text that may name people",
            f"set role: identifier, or leave the column out of the file, or decide what its rare values become "
            f"with protect.columns.{name}: sample, other or missing (keep releases them)",
        )


def texts_to_decide(
    table: Table, options: ProtectOptions, k: int = 0, generalized: Container[str] = (), most: float = MOST_CHANGED
) -> Iterator[tuple[str, float]]:
    """Categorical columns that need a decision, and the share of their records that would change, 0..1.

    Arguments as for :func:`text_problems`; ``most``: the share that may change without a decision.
    """
    least, persons = options.least_holders(k), row_holders(table)
    for column in table.schema:
        decided = column.name in options.columns or column.name in generalized
        if column.kind is not Kind.CATEGORICAL or decided or not len(table):
            continue
        share = float(rarity(table.frame[column.name], least, persons).affected.mean())
        if share > most:
            yield column.name, share
