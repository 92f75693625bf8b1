"""Graphical model that fits noisy marginals best.

The one of the greatest entropy among all that do.

Private-PGM (McKenna, Sheldon and Miklau 2019, arXiv:1901.09136): mirror descent on the weighted squared error of the
measured marginals, with beliefs by message passing in a junction tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.aim.tree import Clique, Edge, JunctionTree, junction_tree

_ARMIJO = 0.5
_HALVINGS = 25
_TOLERANCE = 1e-5
_PATIENCE = 20
"""Steps after which a relative gain below the tolerance ends the descent."""
_TINY = 1e-300


@dataclass(frozen=True)
class Measurement:
    """Noisy counts of one set of columns.

    Parameters
    ----------
    columns : tuple of int
        Ascending.
    counts : numpy.ndarray, one axis per column
        True counts with noise.
    variance : float or numpy.ndarray of the shape of ``counts``
        Of the noise of each count.
    """

    columns: Clique
    counts: Array
    variance: float | Array


@dataclass(frozen=True)
class MarginalModel:
    """Distribution of all columns.

    Parameters
    ----------
    sizes : tuple of int
        States of each column.
    tree : JunctionTree
        Cliques.
    beliefs : tuple of numpy.ndarray
        Expected counts of each clique, one axis per column; each sums to ``total``.
    total : float
        Estimated number of rows.
    parameters : mapping of tuple of int to numpy.ndarray
        Log-linear parameters of each measured set of columns.
    """

    sizes: tuple[int, ...]
    tree: JunctionTree
    beliefs: tuple[Array, ...]
    total: float
    parameters: Mapping[Clique, Array]

    def marginal(self, columns: Clique) -> Array:
        """Expected counts of columns that lie in one clique."""
        return self.marginal_in(self.tree.holding(columns), columns)

    def marginal_in(self, at: int, columns: Clique) -> Array:
        """Expected counts of columns of the clique at this position."""
        return summed(self.beliefs[at], self.tree.cliques[at], columns)


def estimate(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    iterations: int,
    before: Mapping[Clique, Array] | None = None,
) -> MarginalModel:
    """Fit a model to noisy marginals.

    Parameters
    ----------
    sizes : sequence of int
        States of each column.
    measurements : sequence of Measurement
        1 or more.
    iterations : int
        Steps of mirror descent, at most.
    before : mapping, optional
        Parameters of an earlier model, to start from.
    """
    tree = junction_tree(sizes, [each.columns for each in measurements])
    fitting = _Fitting(tuple(sizes), tree, tuple(_joined(measurements)), _total(measurements))
    start = [
        np.zeros(each.counts.shape) if before is None or each.columns not in before else before[each.columns]
        for each in fitting.measurements
    ]
    parameters, beliefs = fitting.descend(start, iterations)
    known = {each.columns: values for each, values in zip(fitting.measurements, parameters, strict=True)}
    return MarginalModel(tuple(sizes), tree, tuple(beliefs), fitting.total, known)


@dataclass(frozen=True)
class _Fitting:
    sizes: tuple[int, ...]
    tree: JunctionTree
    measurements: tuple[_Weighted, ...]
    total: float

    def descend(self, parameters: list[Array], iterations: int) -> tuple[list[Array], list[Array]]:
        """Parameters and beliefs after mirror descent with a line search."""
        beliefs = self._beliefs(parameters)
        fitted = self._fitted(beliefs)
        loss, step, history = self._loss(fitted), 1 / self.total**2, []
        for _ in range(iterations):
            slopes = [(mu - each.counts) * each.weight for mu, each in zip(fitted, self.measurements, strict=True)]
            step *= 2
            for _ in range(_HALVINGS):
                tried = [theta - step * slope for theta, slope in zip(parameters, slopes, strict=True)]
                there = self._beliefs(tried)
                new = self._fitted(there)
                gain = loss - self._loss(new)
                expected = sum(
                    float((slope * (old - mu)).sum()) for slope, old, mu in zip(slopes, fitted, new, strict=True)
                )
                if gain >= _ARMIJO * expected:
                    break
                step /= 2
            else:
                break
            parameters, beliefs, fitted = tried, there, new
            loss -= gain
            history.append(loss)
            if len(history) > _PATIENCE and history[-_PATIENCE - 1] - loss < _TOLERANCE * loss:
                break
        return parameters, beliefs

    def _beliefs(self, parameters: Sequence[Array]) -> list[Array]:
        potentials = [np.zeros([self.sizes[column] for column in clique]) for clique in self.tree.cliques]
        for each, at, theta in zip(self.measurements, self._places, parameters, strict=True):
            potentials[at] += _spread(theta, each.columns, self.tree.cliques[at])
        return _calibrated(self.tree, potentials, self.total)

    def _fitted(self, beliefs: Sequence[Array]) -> list[Array]:
        cliques = self.tree.cliques
        return [
            summed(beliefs[at], cliques[at], each.columns)
            for each, at in zip(self.measurements, self._places, strict=True)
        ]

    def _loss(self, fitted: Sequence[Array]) -> float:
        return sum(
            0.5 * float((each.weight * (mu - each.counts) ** 2).sum())
            for mu, each in zip(fitted, self.measurements, strict=True)
        )

    @cached_property
    def _places(self) -> list[int]:
        return [self.tree.holding(each.columns) for each in self.measurements]


@dataclass(frozen=True)
class _Weighted:
    """Weighted mean of all noisy counts of one set of columns.

    ``weight`` is 1 / variance.
    """

    columns: Clique
    counts: Array
    weight: float | Array


def _joined(measurements: Sequence[Measurement]) -> list[_Weighted]:
    found: dict[Clique, _Weighted] = {}
    for each in measurements:
        new = _Weighted(each.columns, each.counts.astype(np.float64), 1 / each.variance)
        old = found.get(each.columns)
        if old is not None:
            weight = old.weight + new.weight
            new = replace(new, counts=(old.counts * old.weight + new.counts * new.weight) / weight, weight=weight)
        found[each.columns] = new
    return list(found.values())


def _total(measurements: Sequence[Measurement]) -> float:
    """Estimated number of rows.

    Mean of the sums of noisy counts, each weighted by the inverse of its variance.
    """
    weights = np.array([1 / np.broadcast_to(each.variance, each.counts.shape).sum() for each in measurements])
    sums = np.array([float(each.counts.sum()) for each in measurements])
    return max(float((weights * sums).sum() / weights.sum()), 1.0)


def _calibrated(tree: JunctionTree, potentials: list[Array], total: float) -> list[Array]:
    """Counts of each clique by passing messages to the root and back."""
    messages: dict[int, Array] = {}
    for edge in reversed(tree.edges):
        messages[edge.child] = _logsummed(potentials[edge.child], tree.cliques[edge.child], edge.shared)
        potentials[edge.parent] += _spread(messages[edge.child], edge.shared, tree.cliques[edge.parent])
    root = potentials[0]
    root -= _logsummed(root, tree.cliques[0], ()) - np.log(total)
    beliefs: list[Array] = [np.empty(0)] * len(potentials)
    beliefs[0] = np.exp(root)
    for edge in tree.edges:
        beliefs[edge.child] = _belief(edge, tree, beliefs[edge.parent], potentials[edge.child], messages[edge.child])
    return beliefs


def _belief(edge: Edge, tree: JunctionTree, parent: Array, potential: Array, message: Array) -> Array:
    shared = np.log(np.maximum(summed(parent, tree.cliques[edge.parent], edge.shared), _TINY))
    potential += _spread(shared - message, edge.shared, tree.cliques[edge.child])
    result: Array = np.exp(potential)
    return result


def summed(values: Array, clique: Clique, columns: Clique) -> Array:
    """Counts of some columns of a clique, in ascending order."""
    axes = tuple(axis for axis, column in enumerate(clique) if column not in columns)
    result: Array = values.sum(axis=axes) if axes else values
    return result


def _logsummed(values: Array, clique: Clique, columns: Clique) -> Array:
    axes = tuple(axis for axis, column in enumerate(clique) if column not in columns)
    if not axes:
        return values
    highest = values.max(axis=axes, keepdims=True)
    result: Array = np.log(np.exp(values - highest).sum(axis=axes)) + highest.squeeze(axes)
    return result


def _spread(values: Array, columns: Clique, clique: Clique) -> Array:
    """Values with an axis of length 1 for each absent column."""
    shape = iter(values.shape)
    return values.reshape([next(shape) if column in columns else 1 for column in clique])
