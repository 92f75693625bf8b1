"""Local outlier factor of points."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.encoder.embed import placed, sphere
from hybrid.evaluation.engine.neighbours import nearest

NEIGHBOURS = 20


def outlier_factors(points: Array, k: int = NEIGHBOURS) -> Array:
    """Local outlier factor (Breunig et al. 2000) of each point among all.

    The mean density around its k nearest neighbours over its own, both by reachability distances. About 1 inside of a
    cluster, larger outside.

    Parameters
    ----------
    points : numpy.ndarray, shape (n, d), float64
        Two or more.
    k : int
        n - 1 where there are fewer points.

    Returns
    -------
    numpy.ndarray, shape (n,), float64
    """
    n = len(points)
    columns = placed(points)
    distances, near = nearest(sphere(points.shape[1]), columns, columns, min(k, n - 1), np.arange(n))
    reach = np.maximum(distances, distances[near, -1])
    density = 1 / (reach.mean(axis=1) + 1e-10)
    factors: Array = density[near].mean(axis=1) / density
    return factors
