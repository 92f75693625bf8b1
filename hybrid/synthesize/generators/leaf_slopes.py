"""Slopes within the leaves of a tree: what is drawn follows what the row is like.

A leaf of fifty people holds many values of every column before. A donor's value says what such a person has; where
people bear out a slope, a number is moved as far as the row differs from its donor, so that the row gets the value of a
person like itself. So large leaves keep relations that would need small ones, which give single people away. It is the
regression adjustment of Beaumont, Zhang, Balding (Genetics 162(4), 2002, eq. 4) on ranks, within the nodes of a tree as
in M5 (Quinlan 1992). Ranks are those of numbers, of two states, and of states with an order.

Of two states a leaf's people say how many have each. What all leaves together bear out says who: a logistic regression
with a level of its own in each leaf, as in the logistic model trees of Landwehr, Hall, Frank (Machine Learning 59,
2005), but with the same slopes in all of them, so that few people suffice. So who answers one campaign answers the
next, though no leaf holds enough of them to show it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.regressions import reflected
from hybrid.synthesize.protocol import Feature

K = TypeVar("K")
MOST_SLOPES = 3
"""Columns that all leaves have a slope for, at most, and numbers that a node has one of its own for."""
MOST_CANDIDATES = 12
"""Columns that slopes are looked for in: those that follow the column best within all leaves together."""
CHANCE = 0.01
"""Probability that chance alone gives the leaves, or a node, of a column without relations a first slope."""
FEWEST_VALUES = 10.0
"""Values of a column for which nodes have slopes of their own, at least, counted as :attr:`Places.effective` counts.
Ranks of few values are steps, and moves within a leaf would carry a rare value off."""
_FLAT = 1e-9
"""Share of a number's spread below which nothing of it is left beside those that have a slope already."""


class NodesWithSums(Protocol):
    """Nodes of a tree over n training rows."""

    @property
    def leaves(self) -> Array:
        """Leaf of each row; shape (n,), int."""

    @property
    def weights(self) -> Array:
        """Weight of each row, 1 over the rows of its person; shape (n,)."""

    def sums(self, values: Array) -> Array:
        """Weighted sums of numbers (n,) over the rows of every node, the root first; shape (n_nodes,)."""


@dataclass(frozen=True)
class Places:
    """Numbers by their mean rank among training values, 0 to 1.

    ``distinct`` (m,): the values, sorted; ``below`` (m + 1,): share of the training values below each, and 1.
    """

    distinct: Array
    below: Array

    @classmethod
    def of(cls, values: Array) -> Places:
        distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        return cls(distinct, np.concatenate([[0.0], np.cumsum(counts) / max(counts.sum(), 1)]))

    @property
    def effective(self) -> float:
        """Number of values, as many as evenly held ones: 1 / (sum of squared shares); 2 of a fair coin.

        Hill's number of order 2 (Ecology 54(2), 1973).
        """
        return float(1 / max((np.diff(self.below) ** 2).sum(), 1e-12))

    def rank(self, values: Array) -> Array:
        """Ranks of shape (n,); NaN stays NaN."""
        low, high = self._ends(values)
        return np.where(np.isnan(values), np.nan, (low + high) / 2)

    def drawn_rank(self, values: Array, rng: np.random.Generator) -> Array:
        """Ranks of values that are not missing, each drawn evenly from those of its value; shape (n,)."""
        low, high = self._ends(values)
        return np.asarray(low + rng.random(len(values)) * (high - low))

    @property
    def crossed(self) -> float:
        """Change of the mean rank when all ranks move by a small step, per step: 1/2 of a fair coin, 1 of many values.

        Only ranks that cross from one value to the next change it; none does beyond the ends.
        """
        return float(1 - (self.below[1] + 1 - self.below[-2]) / 2)

    def _ends(self, values: Array) -> tuple[Array, Array]:
        """Shares of the training values below each value, and up to it."""
        left, right = (np.searchsorted(self.distinct, values, side=side) for side in ("left", "right"))
        return self.below[left], self.below[right]

    def value(self, ranks: Array) -> Array:
        """Training values at these ranks, 0 to 1; shape (n,)."""
        at = np.searchsorted(self.below, ranks, side="right") - 1
        return self.distinct[np.clip(at, 0, len(self.distinct) - 1)]


@dataclass(frozen=True)
class LeafSlopes(Generic[K]):
    """Slopes of a column's rank in the ranks of columns before it, by node of its tree."""

    predictors: Mapping[K, Places]
    """The p columns that any node has a slope for."""
    target: Places
    """The column itself."""
    donors: Array
    """Ranks of the donors' predictors, in the order of the donors; shape (n, p), float32."""
    slopes: Array
    """Change of the column's rank per change of a predictor's; 0 where the people of a node bear none out; shape
    (n_nodes, p)."""

    def move(self, values: Array, at: Array, node: Array, known: Mapping[K, Array], rng: np.random.Generator) -> Array:
        """Move donors' values as far as the rows differ from the donors, of which ``at`` has the positions.

        A value that many have has many ranks: one of them is moved, so that a small move seldom changes it. A rank
        beyond an end is reflected there, so that no value piles up. A missing predictor moves nothing, and a missing
        value stays missing. ``node``: where each value was drawn from.
        """
        places = np.column_stack([place.rank(known[key]) for key, place in self.predictors.items()])
        shift = (np.nan_to_num(places - self.donors[at]) * self.slopes[node]).sum(axis=1)
        moved = np.flatnonzero((shift != 0) & ~np.isnan(values))
        ranks = self.target.drawn_rank(values[moved], rng) + shift[moved]
        result = values.copy()
        result[moved] = self.target.value(reflected(ranks, 0.0, 1.0))
        return result


def is_graded(feature: Feature) -> bool:
    """True for values with ranks: numbers, two states, or states with an order; none of these states is missing."""
    return not feature.is_discrete or (not feature.missing and (feature.ordered or feature.n_levels == 2))


def fit_slopes(
    values: Array, known: Mapping[K, Array], numbers: Collection[K], nodes: NodesWithSums, least: int
) -> LeafSlopes[K] | None:
    """Slopes that people bear out; None where no node has any.

    By forward selection: a column gets a slope if chance would make the best of all columns as good with a probability
    below :data:`CHANCE` (F test of one more predictor, Bonferroni over the columns that are left). First the slopes
    that all leaves have in common, by what differs within them; a node of half the spread moves half as far, so that
    nothing moves where all are alike. Then, of a number of many values, what at least ``least`` people of a single node
    bear out beside them in other numbers.

    ``values`` (NaN where missing) and ``known``, the columns before whose values have ranks (:func:`is_graded`), are in
    the order of the leaves; ``numbers`` are those of ``known`` that are numbers.
    """
    target = Places.of(values)
    if len(target.distinct) < 2:
        return None
    held = (~np.isnan(values)).astype(np.float64)
    y = np.nan_to_num(target.rank(values) - 0.5)
    places = {key: Places.of(column) for key, column in known.items()}
    ranks = {key: place.rank(known[key]) for key, place in places.items()}
    x = {key: np.nan_to_num(column - 0.5) * held for key, column in ranks.items()}
    within = _within_leaves([*x.values(), y], held, nodes)
    followed = _candidates(within, len(y))
    if not len(followed):
        return None
    keys, at = [list(x)[place] for place in followed], [*followed, -1]
    slopes = _common(within[np.ix_(at, at)], y, held, nodes)
    own = [at for at, key in enumerate(keys) if key in numbers]
    if target.effective < FEWEST_VALUES:
        slopes /= target.crossed
    elif own:
        products = _without(_centred([held, *(x[key] for key in keys), y], nodes.sums), slopes)
        of_own = [*own, -1]
        slopes[:, own] += _selected(products[:, of_own][:, :, of_own], nodes.sums(held), least)
    used = np.flatnonzero((slopes != 0).any(axis=0))
    if not len(used):
        return None
    predictors = {keys[at]: places[keys[at]] for at in used}
    donors = np.column_stack([ranks[key] for key in predictors])
    return LeafSlopes(predictors, target, donors.astype(np.float32), slopes[:, used])


def _within_leaves(columns: Sequence[Array], held: Array, nodes: NodesWithSums) -> Array:
    """Sums of products about the means of each leaf, over all leaves; shape (len(columns), len(columns))."""
    people = np.maximum(nodes.sums(held), 1e-12)
    off = np.column_stack([(column - (nodes.sums(column) / people)[nodes.leaves]) * held for column in columns])
    return np.asarray((off * nodes.weights[:, None]).T @ off)


def _candidates(within: Array, n: int) -> Array:
    """Positions of the columns with the largest correlation within leaves, at most :data:`MOST_CANDIDATES`."""
    own, spread = np.diagonal(within)[:-1], within[-1, -1]
    varying = np.flatnonzero(np.minimum(own, spread) > _FLAT * n)
    shares = within[varying, -1] ** 2 / (own[varying] * spread)
    return np.asarray(varying[np.argsort(-shares, kind="stable")[:MOST_CANDIDATES]])


def _common(within: Array, y: Array, held: Array, nodes: NodesWithSums) -> Array:
    """Slopes of all leaves together, less in nodes of less spread; shape (n_nodes, p)."""
    people, n_leaves = nodes.sums(held), len(np.unique(nodes.leaves))
    freedom = people[0] - n_leaves + 1
    slopes = _selected(within[None], np.array([freedom]), 0)
    spread = nodes.sums(y**2) - nodes.sums(y) ** 2 / np.maximum(people, 1e-12)
    share = np.clip(spread / np.maximum(people, 1e-12) / (within[-1, -1] / people[0]), 0, 1)
    return np.asarray(share[:, None] * slopes)


def _without(products: Array, slopes: Array) -> Array:
    """The products with less of the last column: without what its slopes in the others explain; same shape."""
    change = np.repeat(np.eye(products.shape[1])[None], len(products), axis=0)
    change[:, -1, :-1] = -slopes
    return change @ products @ change.transpose(0, 2, 1)


def _centred(columns: Sequence[Array], sums: Callable[[Array], Array]) -> Array:
    """Sums of products about the means of each node: of all columns but the first, which counts.

    Shape (n_nodes, len(columns) - 1, len(columns) - 1).
    """
    counts, *others = columns
    people = np.maximum(sums(counts), 1e-12)
    totals = np.stack([sums(column) for column in others], axis=1)
    products = np.empty((len(people), len(others), len(others)))
    for i, first in enumerate(others):
        for j in range(i + 1):
            products[:, i, j] = products[:, j, i] = sums(first * others[j])
    products -= totals[:, :, None] * totals[:, None, :] / people[:, None, None]
    return products


def _selected(products: Array, people: Array, least: int) -> Array:
    """Slopes of the last column in the others by forward selection, shape (n_nodes, p), 0 where none is selected.

    Gauss-Jordan elimination of the selected columns leaves the products of what is not explained by them.
    """
    from scipy.stats import f

    n, width = len(products), products.shape[1] - 1
    own = np.diagonal(products, axis1=1, axis2=2)[:, :width].copy()
    rest, chosen, going = products.copy(), np.zeros((n, width), dtype=bool), people >= least
    for step in range(min(MOST_SLOPES, width)):
        left = np.diagonal(rest, axis1=1, axis2=2)[:, :width]
        free = going[:, None] & ~chosen & (left > np.maximum(_FLAT * own, _FLAT)) & (rest[:, -1:, -1] > _FLAT)
        explained = np.where(free, rest[:, :width, -1] ** 2, 0.0) / np.where(free, left * rest[:, -1:, -1], 1.0)
        best, freedom = explained.argmax(axis=1), people - step - 2
        share = np.clip(explained[np.arange(n), best], 0.0, 1 - 1e-12)
        odds = f.sf(share / (1 - share) * freedom, 1, np.maximum(freedom, 1))
        going = free.any(axis=1) & (freedom >= 1) & (odds * free.sum(axis=1) < CHANCE)
        at, pivot = np.flatnonzero(going), best[going]
        row = rest[at, pivot] / rest[at, pivot, pivot][:, None]
        rest[at] -= rest[at, :, pivot][:, :, None] * row[:, None, :]
        rest[at, pivot], chosen[at, pivot] = row, True
    return np.where(chosen, rest[:, :width, -1], 0.0)


MOST = 6
"""Columns, or values of columns, with a slope, at most."""
FREQUENT = 0.1
"""Share of the rows from which on a value is frequent; as many have another."""
_RIDGE = 0.01
"""Precision of a normal prior of each slope in ranks: where a column parts the states, its slope stays finite."""
_UNINFORMED = 1e-9
"""Information below which a column tells nothing beside the levels."""
_STEPS, _LONGEST, _STILL = 25, 5.0, 1e-4
"""Newton steps at most, their length, and the change that ends them."""


@dataclass(frozen=True)
class Has:
    """A value that rows have or have not; the two answers are half a rank apart, as any two states are."""

    asked: float

    def rank(self, values: Array) -> Array:
        """1/2 for rows that have the value, else 0; shape (n,)."""
        return np.where(values == self.asked, 0.5, 0.0)


@dataclass(frozen=True)
class LeafLogits(Generic[K]):
    """Log odds of the second of two states, by node of the column's tree."""

    states: tuple[float, float]
    predictors: Sequence[tuple[K, Places | Has]]
    """What has a slope: p columns, by their ranks, or values of columns."""
    means: Array
    """Mean ranks of the people of each node; shape (n_nodes, p)."""
    level: Array
    """Log odds of a row with these ranks; infinite where all people of the node are alike; shape (n_nodes,)."""
    slopes: Array
    """Change of the log odds per change of a rank; shape (p,)."""

    def move(
        self,
        values: Array,
        at: Array,  # noqa: ARG002  (as of LeafSlopes)
        node: Array,
        known: Mapping[K, Array],
        rng: np.random.Generator,
    ) -> Array:
        """States of rows that are drawn in a node, whatever the donor's; arguments as of ``LeafSlopes.move``."""
        ranks = np.column_stack([place.rank(known[key]) for key, place in self.predictors])
        odds = self.level[node] + np.nan_to_num(ranks - self.means[node]) @ self.slopes
        low, high = self.states
        return np.where(rng.random(len(node)) < _probability(odds), high, low).astype(values.dtype)


def fit_logits(
    values: Array, known: Mapping[K, Array], features: Mapping[K, Feature], nodes: NodesWithSums, drawn_in: Array
) -> LeafLogits[K] | None:
    """Slopes that people bear out; None where there are none.

    By forward selection: a column gets a slope if chance would make the best of all columns as good with a probability
    below ``CHANCE`` (score test of one more predictor, Bonferroni over those that are left). ``values``, of two
    different ones and none missing, and the columns before them are in the order of the leaves; ``drawn_in``: node that
    rows like each are mostly drawn in, its leaf or one above.
    """
    (low, high), y = np.unique(values, return_inverse=True)
    asked = [(key, place) for key, column in known.items() for place in _asked(column, features[key])]
    if not asked:
        return None
    ranks = [place.rank(known[key]) for key, place in asked]
    means = [_means(column, nodes) for column in ranks]
    off = np.column_stack([np.nan_to_num(column - mean[drawn_in]) for column, mean in zip(ranks, means, strict=True)])
    people = np.maximum(nodes.sums(np.ones(len(y))), 1e-12)
    share = np.clip(nodes.sums(y.astype(np.float64)) / people, 0.0, 1.0)
    undecided = np.flatnonzero((share[drawn_in] > 0) & (share[drawn_in] < 1))
    if not len(undecided):
        return None
    rows = undecided[np.argsort(drawn_in[undecided], kind="stable")]  # A node may be drawn in before and after another.
    parts, part = np.unique(drawn_in[rows], return_inverse=True)
    level = _odds(share)
    regression = _Regression(off[rows], y[rows], nodes.weights[rows], part, level[parts])
    chosen, slopes, level[parts] = regression.selected()
    if not chosen:
        return None
    return LeafLogits(
        (float(low), float(high)),
        [asked[at] for at in chosen],
        np.column_stack([means[at] for at in chosen]),
        level,
        slopes,
    )


def _asked(column: Array, feature: Feature) -> Iterator[Places | Has]:
    """Ranks of a column that has them, and each frequent value of one with more than two: of a number, its spikes."""
    if is_graded(feature):
        yield Places.of(column)
    distinct, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    shares = counts / max(len(column), 1)
    if len(distinct) > 2 and not (feature.is_discrete and feature.ordered):
        yield from map(Has, distinct[(shares >= FREQUENT) & (shares <= 1 - FREQUENT)].tolist())


def _means(column: Array, nodes: NodesWithSums) -> Array:
    """Mean of each node, over the rows that have a rank; shape (n_nodes,)."""
    held = ~np.isnan(column)
    return np.asarray(nodes.sums(np.where(held, column, 0.0)) / np.maximum(nodes.sums(held.astype(np.float64)), 1e-12))


def _odds(share: Array) -> Array:
    """Log odds of shares; infinite for 0 and 1."""
    with np.errstate(divide="ignore"):
        odds: Array = np.log(share) - np.log1p(-share)
    return odds


@dataclass(frozen=True)
class _Regression:
    """Logistic regression of y (n,), 0 or 1, in columns (n, m), with a level for each part of the rows."""

    columns: Array
    y: Array
    weights: Array
    part: Array
    """Number of each row's part, ascending; shape (n,)."""
    start: Array
    """Log odds of each part without any column; shape (n_parts,)."""

    def selected(self) -> tuple[list[int], Array, Array]:
        """Positions of the columns that have a slope, the slopes, and the level of each part."""
        candidates = self._candidates()
        chosen: list[int] = []
        slopes, level = np.empty(0), self.start
        while len(chosen) < MOST and len(chosen) < len(candidates):
            best, odds = self._best(candidates, chosen, slopes, level)
            if odds * (len(candidates) - len(chosen)) >= CHANCE:
                break
            chosen.append(best)
            slopes, level = self._fitted(chosen, np.append(slopes, 0.0), level)
        return chosen, slopes, level

    def _candidates(self) -> list[int]:
        """Columns with the largest score without any other, at most :data:`MOST_CANDIDATES`."""
        off, rest, spread = self._beside_levels(slice(None), self.start[self.part])
        information = np.einsum("ij,ij,i->j", off, off, spread)
        gain = np.where(information > _UNINFORMED, (off.T @ rest) ** 2 / np.maximum(information, _UNINFORMED), 0.0)
        order = np.argsort(-gain, kind="stable")[:MOST_CANDIDATES]
        return [int(at) for at in order if gain[at] > 0]

    def _best(self, candidates: list[int], chosen: list[int], slopes: Array, level: Array) -> tuple[int, float]:
        """The best candidate beside the chosen ones, and the probability that chance makes one as good."""
        from scipy.stats import chi2

        left = [at for at in candidates if at not in chosen]
        eta = level[self.part] + self.columns[:, chosen] @ slopes
        score, information = self._scores([*chosen, *left], eta)
        n = len(chosen)
        inner = information[:n, :n] + _RIDGE * np.eye(n)
        cross = information[:n, n:]
        alone = np.diagonal(information)[n:]
        own = alone - (cross * np.linalg.solve(inner, cross)).sum(axis=0) if n else alone
        gain = np.where(own > 1e-6 * alone + _UNINFORMED, score[n:] ** 2 / np.maximum(own, 1e-12), 0.0)
        at = int(gain.argmax())
        return left[at], float(chi2.sf(gain[at], 1))

    @cached_property
    def _first(self) -> Array:
        """First row of each part."""
        return np.searchsorted(self.part, np.arange(len(self.start)))

    def _sums(self, values: Array) -> Array:
        """Sums over the rows of each part; shape (n_parts, ...)."""
        return np.add.reduceat(values, self._first, axis=0)

    def _scores(self, columns: list[int], eta: Array) -> tuple[Array, Array]:
        """Score and information of some columns beside the levels."""
        off, rest, spread = self._beside_levels(columns, eta)
        return off.T @ rest, (off * spread[:, None]).T @ off

    def _beside_levels(self, columns: list[int] | slice, eta: Array) -> tuple[Array, Array, Array]:
        """Some columns without their mean in each part, the rows' scores, and their information."""
        p = _probability(eta)
        rest, spread = self.weights * (self.y - p), self.weights * p * (1 - p)
        x = self.columns[:, columns]
        mean = self._sums(x * spread[:, None]) / np.maximum(self._sums(spread), 1e-12)[:, None]
        return x - mean[self.part], rest, spread

    def _fitted(self, chosen: list[int], slopes: Array, level: Array) -> tuple[Array, Array]:
        """Slopes and levels of greatest penalized likelihood: Newton steps of the slopes and of the levels in turn."""
        x = self.columns[:, chosen]
        for _ in range(_STEPS):
            score, information = self._scores(chosen, level[self.part] + x @ slopes)
            step = np.linalg.solve(information + _RIDGE * np.eye(len(chosen)), score - _RIDGE * slopes)
            slopes = slopes + np.clip(step, -_LONGEST, _LONGEST)
            p = _probability(level[self.part] + x @ slopes)
            rest, spread = self._sums(self.weights * (self.y - p)), self._sums(self.weights * p * (1 - p))
            level = level + np.clip(rest / np.maximum(spread, 1e-9), -1.0, 1.0)
            if np.abs(step).max() < _STILL:
                break
        return slopes, level


def _probability(odds: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(odds))
