"""Protection of all columns of a table, and its result in aggregates only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.hierarchy import Hierarchy
from hybrid.protect.categories import protect_categories, rarity, refuse_texts
from hybrid.protect.donors import ranks_of
from hybrid.protect.options import ProtectOptions, Replace
from hybrid.protect.related_dates import Start, moved_with, protect_distances, protect_ties, redraw
from hybrid.table import Column, Kind, Role, Table
from hybrid.table.holders import row_holders, row_persons

BELOW_LABELS = "below labels"
"""Method of columns that are generalized with their true values, and protected where values are restored."""


@dataclass(frozen=True)
class ColumnProtection:
    """Protection of one column."""

    column: str
    method: str
    """keep, sample, other, missing; draw: numbers and dates, coded at both ends and drawn anew where rare; below
    labels: generalized as they are, and rare values written as groups below the same label when they are restored."""
    values: int
    """Distinct values before."""
    rare: int | None
    """How many of them too few people held; None: some, but fewer than `min_count`."""
    changed: float | None
    """Share of the records whose value is another one now, 0..1; None: some, but of fewer than `min_count` records."""

    @property
    def sentence(self) -> str:
        if self.method == "keep":
            return sentence("protected.kept", column=self.column, n=self.values)
        if self.rare == 0 and self.changed == 0:
            return sentence("protected.unchanged", column=self.column, n=self.values)
        rare = sentence("protected.few") if self.rare is None else sentence("count", n=self.rare)
        if self.method == BELOW_LABELS:
            return sentence("protected.below", column=self.column, rare=rare, n=self.values)
        share = sentence("protected.very_few")
        if self.changed is not None:
            share = sentence("protected.share", n=f"{100 * self.changed:.1f}")
        return sentence("protected.changed", column=self.column, rare=rare, n=self.values, share=share)


@dataclass(frozen=True)
class Protection:
    """Protection of a table: the content of ``protection.json``."""

    min_count: int
    """People who must hold a value so that it stays."""
    columns: tuple[ColumnProtection, ...]

    @property
    def kept(self) -> list[str]:
        """Columns that were left as they are by decision."""
        return [column.column for column in self.columns if column.method == "keep"]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Protected:
    """A protected table, and what was changed."""

    table: Table
    """What a generator may learn as it is; n records."""
    result: Protection
    labelled: Table
    """The same records to be generalized: quasi-identifiers with a hierarchy have their true values, so that no label
    is false; dates tied to these are counted from them; n records."""


def protect(
    table: Table,
    options: ProtectOptions,
    rng: np.random.Generator,
    k: int = 0,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    ties: Mapping[str, str] | None = None,
    starts: Mapping[str, Start] | None = None,
    decided: bool = False,
) -> Protected:
    """Replace all values of training records that fewer people hold than the options ask for; missing ones stay.

    The order of the records does not matter: in another one they get the same values. ``k`` of the anonymization raises
    the default of ``min_count``; 0 without one.

    ``hierarchies`` are those of quasi-identifiers that will be generalized, and of sensitive columns that have one.
    They need no decision, and ``labelled`` has the true quasi-identifiers. In ``table`` rare categories of
    quasi-identifiers become groups, those of sensitive columns others under the lowest node with any; where a file
    lists numbers, nothing else is drawn.

    ``ties`` are dates that are protected by their gap to another one of the row, each with that one
    (:func:`~hybrid.protect.related_dates.protect_ties`); columns that a decision keeps, or whose values a file lists,
    are protected on their own. ``starts`` are dates that are protected by their distance from one of the row's parent
    (:func:`~hybrid.protect.related_dates.protect_distances`); those of ``ties`` are left out.

    Columns that need a decision are refused, unless they were ``decided`` on a larger table of which this is a sample.
    """
    trees = {} if hierarchies is None else hierarchies
    if not decided:
        refuse_texts(table, options, k, generalized=trees)
    ranks = ranks_of(table)
    order = np.lexsort(ranks.T[::-1]) if ranks.shape[1] else np.arange(len(table))
    ranks, back = ranks[order], np.argsort(order)
    sorted_table = table.take(order)
    people, histories = row_holders(sorted_table), row_persons(sorted_table)
    least = options.least_holders(k)
    columns: dict[str, pd.Series] = {}
    results: dict[str, ColumnProtection] = {}
    streams = rng.spawn(len(table.schema) + 1)
    for at, (column, stream) in enumerate(zip(table.schema, streams[:-1], strict=True)):
        values, choice = sorted_table.frame[column.name], options.choice(column.name)
        tree = trees.get(column.name)
        if choice == "keep":
            new, result = values, ColumnProtection(column.name, choice, values.nunique(), 0, 0.0)
        elif column.kind.is_continuous:
            new, result = _numbers(values, column, least, stream, people, histories, _listed(tree))
        else:
            others = np.delete(ranks, at, axis=1)
            new, result = _categories(values, column, choice, least, others, stream, people, tree)
        columns[column.name], results[column.name] = new, result
    drawn = {name for name, one in results.items() if one.method == "draw" and _listed(trees.get(name)) is None}
    plain, beside, above = streams[-1].spawn(3)
    tied = {name: anchor for name, anchor in (ties or {}).items() if {name, anchor} <= drawn}
    together = protect_ties(sorted_table, columns, tied, least, plain)
    begun = {name: one.take(order) for name, one in (starts or {}).items() if name in drawn - set(ties or {})}
    placed = protect_distances(sorted_table, columns, begun, least, above)
    together |= moved_with(sorted_table, columns | together, placed, tied)
    for name, new in together.items():
        changed = _changed(sorted_table.frame[name], new)
        results[name] = replace(results[name], changed=_masked_share(changed, len(table), least))
    true = {name: sorted_table.frame[name] for name in table.schema.quasi_identifiers if name in trees}
    counted = {
        name: anchor
        for name, anchor in (ties or {}).items()
        if name in drawn - set(true) and anchor in drawn | set(true)
    }
    apart = together
    if true:
        apart = protect_ties(sorted_table, columns | true, counted, least, beside, fixed=true)
        free = {name: dates for name, dates in placed.items() if name not in true}
        apart |= moved_with(sorted_table, columns | apart, free, counted)
    results |= {name: replace(results[name], method=BELOW_LABELS) for name in true if results[name].method != "keep"}

    def unsorted(found: Mapping[str, pd.Series]) -> Table:
        there = {name: new.iloc[back].reset_index(drop=True) for name, new in found.items()}
        frame = pd.DataFrame(there, index=pd.RangeIndex(len(table)), columns=pd.Index(table.schema.names))
        return replace(table, frame=frame)

    found = Protection(least, tuple(results.values()))
    return Protected(unsorted(columns | together), found, unsorted(columns | apart | true))


def _listed(tree: Hierarchy | None) -> Array | None:
    return None if tree is None or tree.rule is not None else tree.leaves[: tree.missing_leaf]


def _numbers(
    values: pd.Series,
    column: Column,
    least: int,
    rng: np.random.Generator,
    persons: Array,
    histories: Array,
    listed: Array | None,
) -> tuple[pd.Series, ColumnProtection]:
    redrawn = redraw(values, column, least, rng, histories, persons, listed)
    changed = _changed(values, redrawn.values)
    return redrawn.values, _result(column, "draw", redrawn.distinct, redrawn.rare, changed, len(values), least)


def _categories(
    values: pd.Series,
    column: Column,
    replace: Replace,
    least: int,
    others: Array,
    rng: np.random.Generator,
    persons: Array,
    tree: Hierarchy | None,
) -> tuple[pd.Series, ColumnProtection]:
    found = rarity(values, least, persons)
    named = column.kind is Kind.CATEGORICAL and column.role is Role.QUASI_IDENTIFIER
    new = protect_categories(values, found, replace, least, others, rng, persons, tree, named=named)
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
        _masked_share(changed, n, least),
    )


def _changed(before: pd.Series, now: pd.Series) -> int:
    return int((before.notna() & (now.isna() | (before != now).fillna(True))).sum())


def _masked_share(count: int, n: int, least: int) -> float | None:
    return None if 0 < count < least else round(count / max(n, 1), 3)
