"""Nearest records by Minkowski's, Chebyshev's and Hamming's distance."""

from __future__ import annotations

import math

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.space import Columns
from hybrid.evaluation.engine.threads import in_chunks


def mean_of_nearest(queries: Columns, references: Columns, distance: str | float, k: int, own: Array) -> Array:
    """Mean distance of each query to its k nearest references.

    Minkowski's of order p: the p-th root of the sum over columns of the p-th power of their differences (the share of
    the range of numbers, 1 for a different category or a number missing on one side); Chebyshev's: the largest of them;
    Hamming's: the number of columns that differ. All pairs are compared.

    Parameters
    ----------
    queries, references : Columns
        In Gower's space.
    distance : float or str
        p, at least 1; "chebyshev" or "hamming".
    k : int
        Fewer where there are fewer references.
    own : numpy.ndarray, shape (n,), int
        Which reference is the query itself, -1 for none.

    Returns
    -------
    numpy.ndarray, shape (n,), float64
        0 where there is no other reference.
    """
    from hybrid.evaluation.engine import kernels

    power = {"hamming": 0.0, "chebyshev": math.inf}.get(str(distance)) if isinstance(distance, str) else distance
    assert power is not None
    best = np.full((len(own), k), np.inf)

    def work(start: int, stop: int) -> None:
        kernels.nearest_by_power(queries, references, own, power, start, stop, best)

    in_chunks(work, len(own))
    found = np.isfinite(best)
    values = np.where(found, best, 0.0)
    if power not in (0.0, math.inf):
        values = values ** (1 / power)
    mean: Array = values.sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    return mean
