"""Sampling weights: number of people of the population per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes
from hybrid.base.errors import DataError
from hybrid.table.codings import step_of, written
from hybrid.table.holders import holders, row_holders
from hybrid.table.persons import n_persons
from hybrid.table.schema import Column, Role, Table

HOLDERS = 10
"""People in tens of whom weighted margins are published, and who must hold a category that has a margin of its own."""
ROUNDS = 50
CLOSE = 1e-4
"""Largest difference between a margin and its target at which raking ends."""


def weight_column(table: Table) -> Column | None:
    return next((column for column in table.schema if column.role is Role.WEIGHT), None)


def weights_of(table: Table) -> Array | None:
    """Sampling weight of each row, shape (n,), 0 where missing or negative; None for a table without weights."""
    column = weight_column(table)
    if column is None:
        return None
    values = table.frame[column.name].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(np.clip(np.nan_to_num(values), 0, None))


def refuse_unusable_weights(table: Table) -> None:
    """Refuse weights that are missing or not above 0."""
    column, weights = weight_column(table), weights_of(table)
    if column is None or weights is None:
        return
    wrong = int((weights <= 0).sum())
    if wrong:
        raise DataError(
            f"column {column.name!r}: {wrong:,} sampling weights are missing or not above 0",
            hint="give every row the number of people that it counts for, or leave these rows out",
        )


@dataclass(frozen=True)
class Margin:
    """Weighted shares of the groups of one column."""

    column: str
    """Its name."""
    values: tuple[object, ...]
    """Values with a share of their own; all others, missing ones too, are a group together."""
    shares: Array
    """Target of each group, the others last; they sum to 1; shape (len(values) + 1,), float64."""

    def groups(self, frame: pd.DataFrame) -> Codes:
        """Group of each row, shape (n,)."""
        place = pd.Index(list(self.values), dtype=object).get_indexer(pd.Index(frame[self.column].astype(object)))
        return np.where(place < 0, len(self.values), place).astype(np.int64)


@dataclass(frozen=True)
class Margins:
    """Targets of released weights: a total, and shares by column."""

    total: float
    columns: tuple[Margin, ...]


def margins_of(train: Table, share: float) -> Margins | None:
    """Public weighted margins of training records that are a ``share`` of the source; None without weights.

    Every categorical and boolean column gets the weighted shares of the categories that at least :data:`HOLDERS` people
    hold. As counts of people are published in tens, shares are rounded to what ten people of average weight make up,
    and the total, that of the source, to three significant digits: two releases do not differ by one person.
    """
    weights = weights_of(train)
    if weights is None:
        return None
    n = n_persons(train)
    columns = (column for column in train.schema if not column.kind.is_continuous)
    found = tuple(_margin(train, column.name, weights / weights.sum(), HOLDERS / max(n, 1)) for column in columns)
    return Margins(float(f"{weights.sum() / share:.3g}"), tuple(margin for margin in found if margin is not None))


def _margin(train: Table, name: str, weights: Array, step: float) -> Margin | None:
    values = train.frame[name]
    codes, distinct = pd.factorize(values)
    counts = holders(codes, len(distinct), row_holders(train))
    kept = np.flatnonzero(counts >= HOLDERS)
    if not len(kept):
        return None
    sums = np.bincount(codes[codes >= 0], weights[codes >= 0], minlength=len(distinct))[kept]
    shares = np.maximum(np.round(sums / step), 1) * step
    rest = 1 - sums.sum()
    shares = np.append(shares, round(rest / step) * step)
    return Margin(name, tuple(pd.Index(distinct[kept]).astype(object)), shares / shares.sum())


def calibrated(table: Table, margins: Margins) -> Table:
    """The table of synthetic records with weights that meet the margins.

    Raking (iterative proportional fitting; Deming and Stephan 1940, doi 10.1214/aoms/1177731829): weights are
    multiplied column by column until all weighted shares are met, groups without rows left aside; then they sum to the
    total. They are written as the column writes numbers, and are never 0.
    """
    column, weights = weight_column(table), weights_of(table)
    assert column is not None and weights is not None
    if not len(table):
        return table
    weights = np.maximum(weights, np.finfo(np.float64).tiny)
    weights = _raked(weights / weights.sum(), list(_targets(table, margins.columns))) * margins.total
    return _with(table, column, weights)


def _with(table: Table, column: Column, weights: Array) -> Table:
    values = written(np.maximum(weights, step_of(column)), column)
    return replace(table, frame=table.frame.assign(**{column.name: values}))


ALIKE = 0.01
"""Relative difference of mean weights below which they are alike: totals are rounded."""


def with_weights_like(table: Table, other: Table) -> Table:
    """The table with weights of the same mean as another's, for comparisons row by row.

    Released weights sum to the total of the source, whose records are more than the training records: a row then counts
    for more people than a training record. The table itself, where the means are alike or there are no weights.
    """
    column, weights, like = weight_column(other), weights_of(table), weights_of(other)
    if column is None or weights is None or like is None or not weights.sum() or not like.sum():
        return table
    times = float(like.mean() / weights.mean())
    if abs(times - 1) < ALIKE:
        return table
    return _with(table, column, weights * times)


def _targets(table: Table, columns: Sequence[Margin]) -> Iterator[tuple[Codes, Array]]:
    for margin in columns:
        groups = margin.groups(table.frame)
        present = np.bincount(groups, minlength=len(margin.shares)) > 0
        shares = np.where(present, margin.shares, 0.0)
        if shares[present].min() > 0:
            yield groups, shares / shares.sum()


def _raked(weights: Array, targets: list[tuple[Codes, Array]]) -> Array:
    for _ in range(ROUNDS):
        worst = 0.0
        for groups, shares in targets:
            found = np.bincount(groups, weights, minlength=len(shares))
            worst = max(worst, float(np.abs(found - shares).max()))
            weights = weights * np.divide(shares, found, out=np.ones_like(shares), where=found > 0)[groups]
        if worst < CLOSE:
            break
    return np.asarray(weights / weights.sum())
