"""Rows drawn evenly from a graphical model, clique by clique."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.aim.model import MarginalModel
from hybrid.synthesize.generators.aim.tree import Clique

_TINY = 1e-300


def draw_rows(model: MarginalModel, n_rows: int, rng: np.random.Generator) -> list[Array]:
    """Draw rows in random order.

    The states of a clique's further columns are spread evenly over the rows that agree in the columns drawn before
    (systematic sampling), so that counts differ from the expected ones by about one row, not by chance.

    Parameters
    ----------
    model : MarginalModel
        What is drawn from.
    n_rows : int
        1 or more.
    rng : numpy.random.Generator
        Draws.

    Returns
    -------
    list of numpy.ndarray, each of shape (n_rows,), int32
        Codes of each column.
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
    """Draw the new columns of a clique given those known."""
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
    result: Array = np.minimum(found - groups * counts.shape[1], counts.shape[1] - 1)
    return result
