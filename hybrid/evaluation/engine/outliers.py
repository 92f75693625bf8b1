"""Local outlier factor of records."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import Columns, Space

NEIGHBOURS = 20


def local_outlier_factors(space: Space, records: Columns, k: int = NEIGHBOURS) -> Array:
    """Local outlier factor of each record among all.

    Breunig, Kriegel, Ng and Sander 2000, definitions 5 to 7: the mean local reachability density of the k nearest
    records over the record's own. About 1 inside of a cluster, larger outside. As in scikit-learn, exactly k neighbours
    count where more are as near, and 1e-10 is added to the mean reachability distance, which is 0 among copies.

    Parameters
    ----------
    space : Space
        In which the records were placed.
    records : Columns
        n records.
    k : int
        n - 1 where there are fewer records.

    Returns
    -------
    numpy.ndarray, shape (n,), float64
    """
    n = records.codes.shape[1]
    if n < 2:
        return np.ones(n)
    distances, near = nearest(space, records, records, min(k, n - 1), np.arange(n))
    reach = np.maximum(distances, distances[near, -1])
    density = 1 / (reach.mean(axis=1) + 1e-10)
    factors: Array = density[near].mean(axis=1) / density
    return factors
