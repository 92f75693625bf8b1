"""Log odds within the leaves of a tree: which of two states a row has follows what the row is like.

A leaf's people say how many have a state. What all leaves together bear out says who: a logistic regression with a
level of its own in each leaf, as in the logistic model trees of Landwehr, Hall, Frank (Machine Learning 59, 2005), but
with the same slopes in all of them, so that few people suffice. So who answers one campaign answers the next, though no
leaf holds enough of them to show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.leaf_slopes import CHANCE, MOST_CANDIDATES, NodesWithSums, Places, is_graded
from hybrid.synthesize.protocol import Feature

K = TypeVar("K")
MOST = 6
"""Columns, or values of columns, with a slope, at most."""
FREQUENT = 0.1
"""Share of the rows from which on a value is frequent; as many have another."""
_RIDGE = 0.01
"""Precision of a normal prior of each slope in ranks: where a column parts the states, its slope stays finite."""
_FLAT = 1e-9
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
    means: Array = nodes.sums(np.where(held, column, 0.0)) / np.maximum(nodes.sums(held.astype(np.float64)), 1e-12)
    return means


def _odds(share: Array) -> Array:
    """Log odds of shares; infinite for 0 and 1."""
    with np.errstate(divide="ignore"):
        odds: Array = np.log(share) - np.log1p(-share)
    return odds


def _probability(odds: Array) -> Array:
    from scipy.special import expit

    probability: Array = expit(odds)
    return probability


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
        gain = np.where(information > _FLAT, (off.T @ rest) ** 2 / np.maximum(information, _FLAT), 0.0)
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
        gain = np.where(own > 1e-6 * alone + _FLAT, score[n:] ** 2 / np.maximum(own, 1e-12), 0.0)
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
