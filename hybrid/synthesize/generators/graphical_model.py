"""Graphical model of the greatest entropy among those that fit noisy marginals best, and rows drawn from it.

Private-PGM (McKenna, Sheldon and Miklau 2019, arXiv:1901.09136): mirror descent on the weighted squared error of the
measured marginals, with beliefs by message passing in a junction tree. Every measured set of columns lies in one clique
of that tree. Columns are numbered, and sets of columns are bit masks while cliques are searched (Koller and Friedman
2009, Probabilistic Graphical Models, chapters 9 and 10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hybrid.base.arrays import Array

Clique = tuple[int, ...]
"""Columns in ascending order."""


@dataclass(frozen=True)
class CliqueEdge:
    """Two neighbouring cliques and the columns they share.

    ``parent`` and ``child`` are positions in :attr:`JunctionTree.cliques`.
    """

    parent: int
    child: int
    shared: Clique


@dataclass(frozen=True)
class JunctionTree:
    """Cliques and the tree that joins them."""

    cliques: tuple[Clique, ...]
    """The first is the root."""
    edges: tuple[CliqueEdge, ...]
    """Parents come before their children."""

    def holding(self, columns: Clique) -> int:
        """Position of the first clique with all these columns."""
        wanted = set(columns)
        return next(at for at, clique in enumerate(self.cliques) if wanted <= set(clique))


def junction_tree(sizes: Sequence[int], measured: Iterable[Clique]) -> JunctionTree:
    """Join columns into a tree of cliques, one of which holds each of the measured sets."""
    found = sorted(_maximal(_eliminated(sizes, measured)), key=lambda mask: (-mask.bit_count(), mask))
    cliques = tuple(_columns(mask) for mask in found)
    return JunctionTree(cliques, tuple(_spanning_edges(found)))


def tree_cells(sizes: Sequence[int], measured: Iterable[Clique]) -> float:
    """Cells of all cliques of the junction tree together."""
    cliques = _maximal(_eliminated(sizes, measured))
    return math.fsum(math.prod(sizes[column] for column in _columns(mask)) for mask in cliques)


def _eliminated(sizes: Sequence[int], measured: Iterable[Clique]) -> Iterator[int]:
    """Cliques that arise when columns are eliminated, each time the one whose clique has the fewest cells."""
    near = [1 << column for column in range(len(sizes))]
    for clique in measured:
        mask = _mask(clique)
        for column in clique:
            near[column] |= mask
    logs = [math.log(size) for size in sizes]
    left = set(range(len(sizes)))
    cells = {column: _log_cells(near[column], logs) for column in left}
    while left:
        column = min(left, key=lambda each: (cells[each], each))
        mask = near[column]
        yield mask
        left.remove(column)
        for other in _columns(mask & ~(1 << column)):
            near[other] = (near[other] | mask) & ~(1 << column)
            cells[other] = _log_cells(near[other], logs)


def _log_cells(mask: int, logs: Sequence[float]) -> float:
    return math.fsum(logs[column] for column in _columns(mask))


def _maximal(masks: Iterable[int]) -> list[int]:
    found: list[int] = []
    for mask in sorted(set(masks), key=lambda each: -each.bit_count()):
        if not any(mask & other == mask for other in found):
            found.append(mask)
    return found


def _spanning_edges(masks: Sequence[int]) -> Iterator[CliqueEdge]:
    """Edges of a spanning tree with the most shared columns."""
    best = dict.fromkeys(range(1, len(masks)), 0)
    while best:
        child = max(best, key=lambda at: ((masks[at] & masks[best[at]]).bit_count(), -at))
        parent = best.pop(child)
        yield CliqueEdge(parent, child, _columns(masks[parent] & masks[child]))
        for at, known in best.items():
            if (masks[at] & masks[child]).bit_count() > (masks[at] & masks[known]).bit_count():
                best[at] = child


def _mask(columns: Clique) -> int:
    return sum(1 << column for column in columns)


def _columns(mask: int) -> Clique:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


_ARMIJO = 0.5
_HALVINGS = 25
_TOLERANCE = 1e-5
_PATIENCE = 20
"""Steps after which a relative gain below the tolerance ends the descent."""
_TINY = 1e-300


@dataclass(frozen=True)
class Measurement:
    """Noisy counts of one set of columns."""

    columns: Clique
    """Ascending."""
    counts: Array
    """True counts with noise."""
    variance: float | Array
    """Of the noise of each count; shape of ``counts``."""


@dataclass(frozen=True)
class MarginalModel:
    """Distribution of all columns."""

    sizes: tuple[int, ...]
    """States of each column."""
    tree: JunctionTree
    """Cliques."""
    beliefs: tuple[Array, ...]
    """Expected counts of each clique, one axis per column; each sums to ``total``."""
    total: float
    """Estimated number of rows."""
    parameters: Mapping[Clique, Array]
    """Log-linear parameters of each measured set of columns."""

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
    """Fit a model to one noisy marginal or more, by so many steps of mirror descent at most.

    ``before``: parameters of an earlier model, to start from.
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
    """Mean of all noisy counts of one set of columns, of weight 1 / variance."""

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
    """Estimated number of rows: mean of the sums of noisy counts, each weighted by the inverse of its variance."""
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


def _belief(edge: CliqueEdge, tree: JunctionTree, parent: Array, potential: Array, message: Array) -> Array:
    shared = np.log(np.maximum(summed(parent, tree.cliques[edge.parent], edge.shared), _TINY))
    potential += _spread(shared - message, edge.shared, tree.cliques[edge.child])
    return np.exp(potential)


def summed(values: Array, clique: Clique, columns: Clique) -> Array:
    """Counts of some columns of a clique, in ascending order."""
    axes = tuple(axis for axis, column in enumerate(clique) if column not in columns)
    return values.sum(axis=axes) if axes else values


def _logsummed(values: Array, clique: Clique, columns: Clique) -> Array:
    axes = tuple(axis for axis, column in enumerate(clique) if column not in columns)
    if not axes:
        return values
    highest = values.max(axis=axes, keepdims=True)
    return np.asarray(np.log(np.exp(values - highest).sum(axis=axes)) + highest.squeeze(axes))


def _spread(values: Array, columns: Clique, clique: Clique) -> Array:
    """Values with an axis of length 1 for each absent column."""
    shape = iter(values.shape)
    return values.reshape([next(shape) if column in columns else 1 for column in clique])


def all_pairs(model: MarginalModel) -> dict[Clique, Array]:
    """Expected counts of each pair, the lower column first."""
    neighbours = _neighbours(model)
    return {
        (column, other): counts
        for column in range(len(model.sizes))
        for other, counts in _with_others(model, column, neighbours).items()
        if other > column
    }


@dataclass(frozen=True)
class _Step:
    """Way into the next clique, away from those that hold a column.

    ``given``: counts of the column (first axis) with the columns that both cliques share.
    """

    before: int
    at: int
    shared: Clique
    given: Array


def _neighbours(model: MarginalModel) -> list[list[tuple[int, Clique]]]:
    found: list[list[tuple[int, Clique]]] = [[] for _ in model.tree.cliques]
    for edge in model.tree.edges:
        found[edge.parent].append((edge.child, edge.shared))
        found[edge.child].append((edge.parent, edge.shared))
    return found


def _with_others(
    model: MarginalModel, column: int, neighbours: Sequence[Sequence[tuple[int, Clique]]]
) -> dict[int, Array]:
    """Counts of one column (first axis) with each other.

    From the cliques that hold the column outwards: given what two cliques share, their sides are independent.
    """
    found: dict[int, Array] = {}
    cliques = model.tree.cliques
    steps: list[_Step] = []
    for at in (at for at, clique in enumerate(cliques) if column in clique):
        found.update((other, _joint(model, at, column, (other,))) for other in cliques[at] if other != column)
        steps += [
            _Step(at, there, shared, _joint(model, at, column, shared))
            for there, shared in neighbours[at]
            if column not in cliques[there]
        ]
    while steps:
        step = steps.pop()
        share = step.given / np.maximum(model.marginal_in(step.at, step.shared), _TINY)
        new = [other for other in cliques[step.at] if other not in step.shared]
        found.update((other, _onwards(model, share, column, step, (other,))) for other in new)
        steps += list(_further(model, share, column, step, neighbours[step.at]))
    return found


def _further(
    model: MarginalModel, share: Array, column: int, step: _Step, neighbours: Sequence[tuple[int, Clique]]
) -> Iterator[_Step]:
    for there, shared in neighbours:
        if there != step.before:
            yield _Step(step.at, there, shared, _onwards(model, share, column, step, shared))


def _joint(model: MarginalModel, at: int, column: int, others: Clique) -> Array:
    columns = tuple(sorted({column, *others}))
    return np.moveaxis(model.marginal_in(at, columns), columns.index(column), 0)


def _onwards(model: MarginalModel, share: Array, column: int, step: _Step, wanted: Clique) -> Array:
    columns = tuple(sorted({*step.shared, *wanted}))
    counts = model.marginal_in(step.at, columns)
    return np.asarray(np.einsum(share, [column, *step.shared], counts, list(columns), [column, *wanted]))


def draw_rows(model: MarginalModel, n_rows: int, rng: np.random.Generator) -> list[Array]:
    """Draw rows in random order.

    The states of a clique's further columns are spread evenly over the rows that agree in the columns drawn before
    (systematic sampling), so that counts differ from the expected ones by about one row, not by chance.
    """
    drawn: dict[int, Array] = {}
    tree = model.tree
    _add(drawn, model, 0, (), n_rows, rng)
    for edge in tree.edges:
        _add(drawn, model, edge.child, edge.shared, n_rows, rng)
    order = rng.permutation(n_rows)
    return [drawn[column][order].astype(np.int32) for column in range(len(model.sizes))]


def _add(
    drawn: dict[int, Array], model: MarginalModel, at: int, known: Clique, n_rows: int, rng: np.random.Generator
) -> None:
    clique = model.tree.cliques[at]
    new = tuple(column for column in clique if column not in known)
    if not new:
        return
    counts = np.moveaxis(model.beliefs[at], [clique.index(column) for column in known], range(len(known)))
    shape = [model.sizes[column] for column in known]
    groups = np.ravel_multi_index([drawn[column] for column in known], shape) if known else np.zeros(n_rows, dtype=int)
    chosen = _spread_evenly(counts.reshape(int(np.prod(shape, dtype=int)), -1), groups, rng)
    drawn.update(zip(new, np.unravel_index(chosen, [model.sizes[column] for column in new]), strict=True))


def _spread_evenly(counts: Array, groups: Array, rng: np.random.Generator) -> Array:
    """One state per row, by the counts (n_groups, n_states) of its group."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), _TINY)
    bounds = np.cumsum(shares, axis=1)
    bounds = np.minimum(bounds / np.maximum(bounds[:, -1:], _TINY), 1.0)
    bounds[:, -1] = 1.0
    order = np.lexsort((rng.random(len(groups)), groups))
    sizes = np.bincount(groups, minlength=len(counts))
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(groups))
    place[order] = np.arange(len(groups)) - starts[groups[order]]
    wanted = (place + rng.random(len(counts))[groups]) / sizes[groups]
    flat = (bounds + np.arange(len(counts))[:, None]).ravel()
    found = np.searchsorted(flat, groups + np.minimum(wanted, np.nextafter(1.0, 0.0)), side="right")
    return np.asarray(np.minimum(found - groups * counts.shape[1], counts.shape[1] - 1))
