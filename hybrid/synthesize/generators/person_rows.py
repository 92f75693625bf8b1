"""Rows of persons for generators that draw one row after another, and how often their categories come again.

The person table has one record per person: the static columns, the number and the extent of the rows, and the means of
numbers that they have in common. A generator of single rows learns it; the rows are then drawn one after another given
a drawn person (the parent-child scheme of synthetic relational data: Patki, Wedge, Veeramachaneni, "The Synthetic Data
Vault", IEEE DSAA 2016, doi:10.1109/DSAA.2016.49).

What is known before a row is drawn: the record of the person, the position, the row before, and summaries of all rows
before. The column that orders the rows is learned as the gap to the row before, 0 or more, so that order holds exactly.
All persons draw the row of one position at once.

That a pupil has one or two marks in each subject, or a patient each drug once, depends on all rows before. So a
category that is drawn counts by a weight that follows from how many earlier rows of the parent have it: 0, where no
parent has one more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Mask
from hybrid.base.likeness import agreement, rank_correlation
from hybrid.synthesize.generators.trees import SPIKE
from hybrid.synthesize.protocol import Children, DrawnColumns, Encoded, Feature
from hybrid.table.holders import n_with_key

MOST_SUMMARIES = 16
"""Summarized columns at most: those in which rows of a person are most alike."""
LEAST_ALIKE = 0.02
"""Likeness of successive rows (correlation of ranks, or agreement beyond chance) from which a column is summarized."""

LEAST_MEAN = 0.3
"""The same, from which the mean of a person's rows is drawn before the rows, unless half of all rows have one number: a
fee of 0 depends on what was booked, not on the mean of all fees."""
LEAST_AVERAGED = 3
"""Rows of a person whose mean is drawn: of fewer, one row says nearly as much of the next as the mean does."""
LEAST_MANY = 100
"""Persons with so many rows, at least; of fewer, no tree of their means splits."""


@dataclass(frozen=True)
class RowHistory:
    """Summaries of the rows before a row.

    The mean of numbers, and the first row's category, of the columns in which rows of a person are most alike.
    """

    features: Mapping[int, Feature]
    """The summarized columns by their position."""
    sums: Mapping[int, Array]
    known: Mapping[int, Array]
    """Sum and number of the known values of every summarized number so far; shape (n_persons,)."""
    first: Mapping[int, Array]
    """First row's code of every summarized category; the number of levels before any row; shape (n_persons,)."""

    @classmethod
    def empty(cls, features: Mapping[int, Feature], n_persons: int) -> RowHistory:
        numbers = [at for at, feature in features.items() if not feature.is_discrete]
        categories = {at: feature for at, feature in features.items() if feature.is_discrete}
        none = {at: np.full(n_persons, feature.n_levels, dtype=np.int32) for at, feature in categories.items()}
        sums, known = ({at: np.zeros(n_persons) for at in numbers} for _ in range(2))
        return cls(features, sums, known, none)

    def summaries(self) -> dict[int, Array]:
        """Predictors of the next row by the position of their column, each of shape (n_persons,)."""
        means = {at: _means(self.sums[at], self.known[at]) for at in self.sums}
        return {at: means[at] if at in means else self.first[at] for at in self.features}

    def after(self, row: Sequence[Array]) -> RowHistory:
        seen = {at: ~np.isnan(row[at]) for at in self.sums}
        return RowHistory(
            self.features,
            {at: self.sums[at] + np.where(seen[at], row[at], 0) for at in self.sums},
            {at: self.known[at] + seen[at] for at in self.sums},
            {
                at: np.where(first == self.features[at].n_levels, row[at], first).astype(np.int32)
                for at, first in self.first.items()
            },
        )

    def of_first(self, n_persons: int) -> RowHistory:
        parts = ({at: a[:n_persons] for at, a in one.items()} for one in (self.sums, self.known, self.first))
        return RowHistory(self.features, *parts)


def past_summaries(features: Mapping[int, Feature], columns: Sequence[Array], counts: Array) -> dict[int, Array]:
    """Summaries that :class:`RowHistory` has before each row.

    Rows of a person are adjacent and in order; ``counts`` are the rows of each.
    """
    start = np.repeat(np.cumsum(counts) - counts, counts)
    found = {}
    for at, feature in features.items():
        values = columns[at]
        if feature.is_discrete:
            later = np.arange(len(values)) > start
            found[at] = np.where(later, values[start], feature.n_levels).astype(np.int32)
        else:
            seen = ~np.isnan(values)
            totals = [np.append(0.0, np.cumsum(side)) for side in (np.where(seen, values, 0), seen)]
            rows = np.arange(len(values))
            found[at] = _means(*(total[rows] - total[start] for total in totals))
    return found


def lasting_columns(
    features: Sequence[Feature], columns: Sequence[Array], counts: Array, least: float = LEAST_ALIKE
) -> dict[int, Feature]:
    """Columns in which successive rows of a person are alike, the most first; parameters as :func:`past_summaries`."""
    rows = np.flatnonzero(np.arange(counts.sum()) > np.repeat(np.cumsum(counts) - counts, counts))
    if len(rows) < 2:
        return {}
    alike = {}
    for at, (feature, values) in enumerate(zip(features, columns, strict=True)):
        likeness = agreement if feature.is_discrete else rank_correlation
        alike[at] = abs(likeness(values[rows - 1], values[rows]))
    best = sorted((at for at, value in alike.items() if value >= least), key=lambda at: -alike[at])
    return {at: features[at] for at in best[:MOST_SUMMARIES]}


def _means(sums: Array, known: Array) -> Array:
    return np.asarray(np.where(known > 0, sums / np.maximum(known, 1), np.nan))


LEAST_HEAVY = 10
"""Persons who have the largest number of rows that is learned: larger numbers are coded as it."""


@dataclass(frozen=True)
class PersonTable:
    """Persons with summaries of their rows."""

    encoded: Encoded
    """Static columns, then the number of rows, then summaries."""
    counts_at: int
    first_at: int | None
    """Positions of the number of rows, and of the first value of the column that orders the rows."""
    n_static: int
    """Number of static columns."""


def order_values(feature: Feature, values: Array) -> Array:
    """Values of the order as numbers, shape (n,), float64; missing ones are NaN."""
    numbers = values.astype(np.float64)
    if feature.is_discrete and feature.missing:
        numbers[values == feature.n_levels - 1] = np.nan
    return numbers


def encoded_order(feature: Feature, values: Array) -> Array:
    """Values of the order in the column's encoding: as they are, or codes."""
    if not feature.is_discrete:
        return values
    known = feature.n_levels - feature.missing
    codes = np.where(np.isnan(values), known, np.clip(np.rint(np.nan_to_num(values)), 0, known - 1))
    return codes.astype(np.int32)


def most_rows(counts: Array) -> int:
    """Largest number of rows that at least ten persons reach; the smallest number, where there are fewer persons."""
    return int(np.sort(counts)[::-1][min(LEAST_HEAVY, len(counts)) - 1])


def person_table(data: Children) -> PersonTable:
    """Summarize the rows of every person: their number, coded at the largest that ten persons reach, and their extent.

    Of the order these are the first value and the span; of the numbers in which rows of a person are most alike the
    mean: what a person's rows have in common, such as ability, then follows the person's other columns once, and not as
    much less as a tree shows of each single row.
    """
    static, counts = data.parents, data.counts
    features = [*static.features, _number("number of rows", missing=False)]
    columns = [*static.columns, np.minimum(counts, most_rows(counts)).astype(np.float64)]
    first_at = None
    if data.order is not None:
        first_at = len(features)
        feature = data.features[data.order]
        first, last = _ends(order_values(feature, data.columns[data.order]), counts)
        columns += [first, last - first]
        features += [_number(f"first {feature.name}"), _number(f"span of {feature.name}")]
    averaged = int((counts >= LEAST_AVERAGED).sum()) >= LEAST_MANY
    for at, feature in lasting_columns(data.features, data.columns, counts, LEAST_MEAN).items():
        if averaged and not feature.is_discrete and at != data.order and not _has_spike(data.columns[at]):
            columns.append(_mean(data.columns[at], counts))
            features.append(_number(f"mean of {feature.name}"))
    return PersonTable(Encoded(features, columns, static.persons), len(static.features), first_at, len(static.features))


def _number(name: str, missing: bool = True) -> Feature:
    return Feature(name, 0, ordered=True, missing=missing)


def _has_spike(values: Array) -> bool:
    counts = np.unique(values, return_counts=True)[1]
    return bool(counts.max() >= SPIKE * counts.sum())


def _mean(values: Array, counts: Array) -> Array:
    """Mean of the known values of each person with enough rows, else NaN; shape (n_persons,)."""
    owner, known = np.repeat(np.arange(len(counts)), counts), ~np.isnan(values)
    sums = np.bincount(owner[known], values[known], minlength=len(counts))
    means = _means(sums, np.bincount(owner[known], minlength=len(counts)))
    return np.where(counts >= LEAST_AVERAGED, means, np.nan)


def _ends(values: Array, counts: Array) -> tuple[Array, Array]:
    """Smallest and largest known value of each person, NaN without one; each of shape (n_persons,)."""
    grouped = pd.Series(values).groupby(np.repeat(np.arange(len(counts)), counts))
    least, most = (found.reindex(range(len(counts))).to_numpy() for found in (grouped.min(), grouped.max()))
    return least, most


LEAST_REPEATED = 0.05
"""Share of rows that repeat the value of the row before, beyond chance, from which repeats are drawn on their own."""
Known = dict[str, Array]
"""Columns by name, one value per row that is drawn."""
DrawRow = Callable[[Known, Sequence[Array], int], list[Array]]
"""From what is known, the rows before and the position to the columns of the rows there."""
PERSON, PAST, BEFORE, ROW, POSITION, TIME = "person ", "past ", "before ", "row ", "position", "time"
"""Names of columns (with their number), of the row's place among those of the person, and of its value in the order."""


@dataclass(frozen=True)
class RowPlan:
    """Order in which rows of drawn persons are drawn."""

    counts_at: int
    first_at: int | None
    n_static: int
    """As in :class:`PersonTable`."""
    features: tuple[Feature, ...]
    """Columns of a row."""
    order: int | None
    """The column that orders the rows."""
    lasting: Mapping[int, Feature]
    """Columns of a row of which there are summaries (:class:`RowHistory`)."""
    end: float = np.inf
    """Largest known value of the order."""

    @classmethod
    def of(cls, data: Children, table: PersonTable) -> RowPlan:
        found = lasting_columns(data.features, data.columns, data.counts)
        lasting = {at: feature for at, feature in found.items() if at != data.order}
        places = table.counts_at, table.first_at, table.n_static
        if data.order is None:
            return cls(*places, tuple(data.features), None, lasting)
        times = order_values(data.features[data.order], data.columns[data.order])
        end = float(np.max(times, where=~np.isnan(times), initial=-np.inf))
        return cls(*places, tuple(data.features), data.order, lasting, end)

    def draw(self, people: Sequence[Array], draw_row: DrawRow) -> DrawnColumns:
        """Draw the rows of drawn persons, position by position; of those beyond the learned end only a first one."""
        n_persons, counts = len(people[0]), np.rint(people[self.counts_at]).astype(np.int64)
        persons = np.argsort(-counts, kind="stable")
        starts = np.cumsum(counts) - counts
        before, history = no_row(self.features, self.order, n_persons), RowHistory.empty(self.lasting, n_persons)
        columns = [np.empty(int(counts.sum()), dtype=column.dtype) for column in before]
        for position in range(int(counts.max(initial=0))):
            persons = persons[: int((counts[persons] > position).sum())]
            before, history = [column[: len(persons)] for column in before], history.of_first(len(persons))
            known = {f"{PERSON}{at}": people[at][persons] for at in range(len(people))}
            known |= {f"{PAST}{at}": summary for at, summary in history.summaries().items()}
            known[POSITION] = np.full(len(persons), float(position))
            known |= {f"{BEFORE}{at}": column for at, column in enumerate(before)}
            before = row = draw_row(known, before, position)
            history = history.after(row)
            for column, values in zip(columns, row, strict=True):
                column[starts[persons] + position] = values
        if self.order is not None:
            owner, later = np.repeat(np.arange(n_persons), counts), np.ones(int(counts.sum()), dtype=bool)
            later[starts[counts > 0]] = False
            beyond = later & (columns[self.order] > self.end)
            columns = [column[~beyond] for column in columns]
            counts -= np.bincount(owner[beyond], minlength=n_persons)
            columns[self.order] = encoded_order(self.features[self.order], columns[self.order])
        return DrawnColumns(columns, people[: self.n_static], counts)

    def time(self, known: Known, gap: Array, last: Array, position: int) -> Array:
        """Value of the order in each row: that of the row before plus a gap, or the person's first."""
        if position == 0 and self.first_at is not None:
            return known[f"{PERSON}{self.first_at}"]
        return last + gap


@dataclass(frozen=True)
class TrainingRows:
    """Training rows with all predictors and targets."""

    features: Mapping[str, Feature]
    """Description of every column of ``known``."""
    known: Mapping[str, Array]
    """Person, position, row before, summaries, value of the order, and columns of the row itself; shape (n_rows,)."""
    targets: Sequence[Array]
    """Columns of a row; the gap to the row before in the place of the column that orders the rows; shape (n_rows,)."""
    persons: Array
    """Person of each row; negative for rows without a key; shape (n_rows,), int64."""
    later: Array
    """Rows that follow another one of their person; all rows, where none does."""

    @property
    def given(self) -> list[str]:
        """Names of the columns that are known before a row is drawn."""
        return [name for name in self.known if not name.startswith((TIME, ROW))]

    @property
    def first(self) -> Array:
        """Rows that follow none of their person; int64."""
        return np.flatnonzero(self.known[POSITION] == 0)

    @property
    def owner(self) -> Array:
        """Place of each row's person among those with rows; shape (n_rows,), int64."""
        return np.asarray(np.cumsum(self.known[POSITION] == 0) - 1)

    def kind(self, target: int) -> Feature:
        name = f"{ROW}{target}"
        return self.features[name if name in self.features else TIME]

    def last(self, target: int, like: int | None) -> tuple[Array, Array]:
        """Value of the row before, or of the last with the same category of ``like``; and the rows that have one."""
        if like is None:
            return self.known[f"{BEFORE}{target}"], self.later
        values = pd.Series(self.targets[target]).groupby([self.owner, self.targets[like]]).shift(1).to_numpy()
        return values, np.flatnonzero(~np.isnan(values))

    def repeated(self, target: int, like: int | None = None) -> Array:
        """Rows that repeat the value of :meth:`last`; none, where there are no more than by chance.

        Chance is what two random rows have in common; the excess counts from :data:`LEAST_REPEATED`.
        """
        same, excess = self._repeats(target, like)
        return same if excess >= LEAST_REPEATED else same[:0]

    def most_repeated(self, target: int, likes: Sequence[int]) -> int | None:
        """The column of categories, of several, by which most rows repeat a value; None: that of the row before.

        A salary comes again each month, with other payments between.
        """
        excess = {like: self._repeats(target, like)[1] for like in (None, *likes)}
        return max(excess, key=excess.__getitem__)

    def _repeats(self, target: int, like: int | None) -> tuple[Array, float]:
        values, (last, rows) = self.targets[target], self.last(target, like)
        same = rows[values[rows] == last[rows]]
        shares = np.unique(values[~np.isnan(values)], return_counts=True)[1] / max(len(values), 1)
        return same, len(same) / len(self.later) - float(shares @ shares) * len(rows) / len(self.later)


def training_rows(data: Children, table: PersonTable, plan: RowPlan) -> TrainingRows:
    """Training rows with what would be known before each."""
    features, order, counts = data.features, data.order, data.counts
    owner = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    later = np.flatnonzero(position > 0)
    columns = [order_values(features[at], c) if at == order else c for at, c in enumerate(data.columns)]
    kinds = [_as_number(feature) if at == order else feature for at, feature in enumerate(features)]
    described = {f"{PERSON}{at}": feature for at, feature in enumerate(table.encoded.features)}
    known: Known = {f"{PERSON}{at}": column[owner] for at, column in enumerate(table.encoded.columns)}
    known[POSITION], described[POSITION] = position.astype(np.float64), Feature(POSITION, 0, True, False)
    for at, (kind, column, empty) in enumerate(zip(kinds, columns, no_row(features, order, len(owner)), strict=True)):
        empty[later] = column[later - 1]
        known[f"{BEFORE}{at}"], described[f"{BEFORE}{at}"] = empty, _with_none(kind)
        name = TIME if at == order else f"{ROW}{at}"
        known[name], described[name] = column, kind
    for at, summary in past_summaries(plan.lasting, columns, counts).items():
        known[f"{PAST}{at}"], described[f"{PAST}{at}"] = summary, _with_none(kinds[at])
    targets = list(columns)
    if order is not None:
        targets[order] = np.zeros(len(owner))
        targets[order][later] = columns[order][later] - columns[order][later - 1]
    return TrainingRows(described, known, targets, data.persons, later if len(later) else np.arange(len(owner)))


def no_row(features: Sequence[Feature], order: int | None, n: int) -> list[Array]:
    """Columns of the row before the first one: NaN, or a state of its own; each of shape (n,)."""
    return [
        np.full(n, feature.n_levels, dtype=np.int32) if feature.is_discrete and at != order else np.full(n, np.nan)
        for at, feature in enumerate(features)
    ]


def _as_number(feature: Feature) -> Feature:
    return Feature(feature.name, 0, ordered=True, missing=feature.missing)


def _with_none(feature: Feature) -> Feature:
    return Feature(feature.name, feature.n_levels + feature.is_discrete, feature.ordered, missing=True)


MOST_LEVELS = 100
"""Categories of a column at most: of more, few come twice."""
MOST_EARLIER = 8
"""Earlier rows with the same category that are told apart at most."""
MOST_ROWS = 20_000
"""Rows at most that weights are fitted to."""
LEAST_SHARE = 0.05
"""Share of the rows with another number of earlier rows, beyond chance, from which on there are weights."""
ERRORS = 3.0
"""The same in standard errors of a share of half of the persons."""
ROUNDS = 4
"""Draws, each of which corrects the weights by what it shows too often."""
PROPOSALS = 8
"""Draws of the tree, one of which is taken by its weight."""
MOST_TRIES = 10
"""Times that all of these may have no weight; then any is taken."""
SHRINKAGE = 50.0
"""Rows of all categories together that are added to those of each category."""

Propose = Callable[[Array], Array]
"""Draws one category for each of some rows, given by position."""


@dataclass(frozen=True)
class Recurrence:
    """Weights of the categories of a column by the number of earlier rows of the parent that have them."""

    weights: Array
    """The last column is for all larger numbers, too; shape (n_levels, m)."""

    def tally(self, n: int) -> Array:
        """Numbers of rows of ``n`` parents by category, before any row; shape (n, n_levels)."""
        return np.zeros((n, len(self.weights)), dtype=np.int32)

    def draw(self, propose: Propose, earlier: Array, avoided: Array | None, rng: np.random.Generator) -> Array:
        """Draw the category of one row of each parent, of whose earlier rows the numbers by category are given.

        ``avoided``: a category that each row does not get.
        """
        waiting = np.arange(len(earlier))
        found = propose(waiting)
        for _ in range(MOST_TRIES):
            if not len(waiting):
                break
            drawn = np.stack([propose(waiting) for _ in range(PROPOSALS)])
            weights = self._of(drawn, earlier[waiting])
            if avoided is not None:
                weights = np.where(drawn == avoided[waiting], 0.0, weights)
            summed = np.cumsum(weights, axis=0)
            taken = (summed <= rng.random(len(waiting)) * summed[-1]).sum(axis=0)
            some = taken < PROPOSALS
            found[waiting[some]] = drawn[taken[some], np.flatnonzero(some)]
            waiting = waiting[~some]
        return found

    def _of(self, drawn: Array, earlier: Array) -> Array:
        counts: Array = np.take_along_axis(earlier, drawn.T, axis=1).T
        return np.asarray(self.weights[drawn, np.minimum(counts, self.weights.shape[1] - 1)])


def earlier_rows(values: Array, first: Array, n_levels: int) -> Array:
    """Numbers of earlier rows of the same parent by category; shape (n, n_levels), int32.

    Rows of a parent are adjacent; ``first`` is the position of the first row of each row's parent.
    """
    before = np.zeros((len(values), n_levels), dtype=np.int32)
    before[np.arange(1, len(values)), values[:-1]] = 1
    summed = np.cumsum(before, axis=0)
    return summed - summed[first]


@dataclass(frozen=True)
class CategoryRows:
    """Rows that follow another one of their parent, in one column of categories."""

    values: Array
    earlier: Array
    """Numbers of earlier rows by category; shape (n, n_levels)."""
    persons: Array
    avoided: Array | None = None
    """A category that each row does not have."""

    def counts(self, drawn: Array) -> Array:
        """Numbers of earlier rows with the category drawn for each row, up to :data:`MOST_EARLIER`; shape (n,)."""
        return np.minimum(np.take_along_axis(self.earlier, drawn[:, None], axis=1)[:, 0], MOST_EARLIER)

    def cells(self, drawn: Array, rows: Mask | slice = slice(None)) -> Array:
        """Numbers of rows by category and earlier rows with it; shape (n_levels, MOST_EARLIER + 1)."""
        cells = np.zeros((self.earlier.shape[1], MOST_EARLIER + 1))
        np.add.at(cells, (drawn[rows], self.counts(drawn)[rows]), 1.0)
        return cells


def fit_recurrence(rows: CategoryRows, propose: Propose, least: int, rng: np.random.Generator) -> Recurrence | None:
    """Fit weights so that what is drawn recurs as often as in the training rows; None where it about does already.

    Each round draws a category for every row, given its real earlier rows, and multiplies the weights by how much rarer
    the drawn numbers of earlier rows are than the real ones. ``least`` persons must have a category once more, or none
    does.
    """
    people = n_with_key(rows.persons)
    if people < least:
        return None
    counts = rows.counts(rows.values)
    enough = [number for number in range(MOST_EARLIER + 1) if n_with_key(rows.persons[counts == number]) >= least]
    real = rows.cells(rows.values, np.isin(counts, enough))
    found = Recurrence(np.ones_like(real))
    for number in range(ROUNDS):
        drawn = rows.cells(found.draw(propose, rows.earlier, rows.avoided, rng))
        pooled = real.sum(axis=0), drawn.sum(axis=0)
        unlike = float(np.abs(pooled[0] - pooled[1]).sum()) / 2 / len(counts)
        if number == 0 and unlike < max(LEAST_SHARE, ERRORS / 2 / np.sqrt(people)):
            return None
        rarer = np.where(pooled[1] > 0, pooled[0] / np.maximum(pooled[1], 1), 1.0)
        found = Recurrence(found.weights * (real + SHRINKAGE * rarer) / (drawn + SHRINKAGE))
    return found
