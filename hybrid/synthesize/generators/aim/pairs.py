"""Counts of all pairs of columns that a graphical model expects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.aim.model import MarginalModel
from hybrid.synthesize.generators.aim.tree import Clique

_TINY = 1e-300


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
    """Neighbouring cliques of each, with the columns that both share."""
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
    """Counts of a column (first axis) with others of its clique."""
    columns = tuple(sorted({column, *others}))
    result: Array = np.moveaxis(model.marginal_in(at, columns), columns.index(column), 0)
    return result


def _onwards(model: MarginalModel, share: Array, column: int, step: _Step, wanted: Clique) -> Array:
    """Counts of a column (first axis) with columns of a further clique."""
    columns = tuple(sorted({*step.shared, *wanted}))
    counts = model.marginal_in(step.at, columns)
    result: Array = np.einsum(share, [column, *step.shared], counts, list(columns), [column, *wanted])
    return result
