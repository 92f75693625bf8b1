"""Table of training and fresh records in known shares."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError
from hybrid.base.rng import rng_for
from hybrid.lab.leak.noise import with_noise
from hybrid.pipeline.risk import KnownLeak, RiskOptions
from hybrid.table import Table
from hybrid.table.persons import person_groups


def known_leak(train: Table, fresh: Table, options: RiskOptions, seed: int) -> KnownLeak:
    """Mix training records with fresh ones in a known share.

    Levels are nested: with one seed, a larger leak holds the leaked records of every smaller one, with the same noise
    on them, so that curves over the levels are paired within a seed. (The thesis, section 3.3.5, draws afresh at every
    level.)

    Parameters
    ----------
    train : Table, shape (n_T, n_columns)
        The records that leak. All rows of a person leak before those of the next.
    fresh : Table, shape (n_R, n_columns)
        Records of other people of the same population, which no metric sees.
    options : RiskOptions
        Share and noise.
    seed : int
        The source of all randomness.

    Returns
    -------
    KnownLeak
        ``n = round(size * min(n_T, n_R))`` rows in random order, ``round(leak * n)`` of them training records.

    Raises
    ------
    DataError
        There are not enough records for so many rows.
    """
    n = round(options.size * min(len(train), len(fresh)))
    leaked = round(options.leak * n)
    if leaked > len(train) or n - leaked > len(fresh):
        raise DataError(
            f"a table of {n:,} rows with a leak of {options.leak:g} needs {leaked:,} training and {n - leaked:,} fresh "
            f"records; there are {len(train):,} and {len(fresh):,}",
            hint="a smaller risk.size, or a larger split.release",
        )
    from_train = _order(train, seed, "leaked")
    rows = with_noise(train, from_train, leaked, options, seed)
    others = fresh.frame.take(_order(fresh, seed, "fresh")[: n - leaked])
    frame = pd.concat([rows, others], ignore_index=True)
    provenance = np.concatenate([from_train[:leaked], np.full(n - leaked, -1, dtype=from_train.dtype)])
    shuffled = rng_for(seed, "leak", "order").permutation(n)
    return KnownLeak(Table(frame, train.schema).take(shuffled), provenance[shuffled])


def _order(table: Table, seed: int, part: str) -> Array:
    """All rows in random order, those of a person together."""
    groups = np.arange(len(table)) if table.persons is None else person_groups(table.persons)
    rank = rng_for(seed, "leak", part).permutation(int(groups.max(initial=-1)) + 1)
    return np.argsort(rank[groups], kind="stable")
