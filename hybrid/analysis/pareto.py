"""Pareto front of configurations on two axes."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array


def pareto_front(first: Array, second: Array) -> Array:
    """Non-dominated points, where higher is better on both axes.

    A point is beaten by one that is at least as good on both axes and better on one.

    Parameters
    ----------
    first, second : numpy.ndarray, shape (n,), float64
        Larger is better. Points with a NaN are never on the front.

    Returns
    -------
    numpy.ndarray, shape (n,), bool
        Whether each point is on the front; equal points are on it or off it together.
    """
    front = np.zeros(len(first), dtype=bool)
    known = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
    order = known[np.lexsort((-second[known], -first[known]))]
    best, at = -np.inf, 0
    while at < len(order):
        # All points of one value on the first axis; the best of them on the second come first.
        end = at
        while end < len(order) and first[order[end]] == first[order[at]]:
            end += 1
        top = second[order[at]]
        if top > best:
            tied = order[at:end]
            front[tied[second[tied] == top]] = True
            best = top
        at = end
    return front
