"""Local outlier factors of records, and their isolation by random trees."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import Columns, Space

NEIGHBOURS = 20
TREES = 300
"""Trees of an isolation forest: the people whom few trees isolate first are a matter of chance."""


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


def isolation_scores(numbers: Array, codes: Array, rng: np.random.Generator) -> Array:
    """Isolation of each record from the others by random cuts.

    An isolation forest (Liu, Ting and Zhou 2008): :data:`TREES` trees of 256 records each. A category counts as the
    negative logarithm of its share of the records, so that the width of the table stays that of its columns.

    Parameters
    ----------
    numbers : numpy.ndarray, shape (n, p), float64
        NaN where missing: there at the column's mean.
    codes : numpy.ndarray, shape (n, q), int
        Categories, from -1.
    rng : numpy.random.Generator
        Draws the trees.

    Returns
    -------
    numpy.ndarray, shape (n,), float64
        0..1, the larger the sooner.
    """
    from sklearn.ensemble import IsolationForest

    known = ~np.isnan(numbers)
    middle = np.where(known, numbers, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    rarity = [-np.log(np.bincount(column + 1)[column + 1] / len(codes)) for column in codes.T]
    features = np.column_stack([np.where(known, numbers, middle), *rarity])
    forest = IsolationForest(n_estimators=TREES, random_state=int(rng.integers(2**31)))
    scores: Array = -forest.fit(features).score_samples(features)
    return scores
