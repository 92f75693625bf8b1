"""Domains found by noisy counts: categories, and intervals of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes
from hybrid.privacy.accounting import gaussian_rho, variance_for
from hybrid.privacy.noise import Bits, discrete_gaussian
from hybrid.table.persons import person_groups

FAN = 16
"""Parts that an interval is split into."""
_AT_ONCE = 512
"""Values that are all counted at once."""
DEVIATIONS = 5.0
"""Standard deviations of the noise that a count of an interval of its own exceeds."""


@dataclass(frozen=True)
class FoundKeys:
    """Categories that noisy counts of persons found, and the price."""

    states: tuple[str, ...]
    rho: float
    delta: float


def find_keys(values: pd.Series, persons: Codes | None, rows: int, rho: float, delta: float, bits: Bits) -> FoundKeys:
    """Find the categories that many persons have.

    Stability-based selection (Korolova et al. 2009; Bun, Nissim and Stemmer 2016) with Gaussian noise: only keys that
    occur are counted, each person once per key, and those whose noisy count reaches a threshold are found. A person has
    up to ``rows`` keys, so that the counts change by at most the root of ``rows``; a key of this person alone has count
    1 and passes with a probability of at most ``delta / rows``.

    Parameters
    ----------
    values : pandas.Series, shape (n_rows,)
        Categories, missing ones too.
    persons : numpy.ndarray, shape (n_rows,), or None
        Person of each row; None: each row is another person.
    rows : int
        Rows of one person, at most.
    rho, delta : float
        Budget.
    bits : callable
        Source of randomness.
    """
    known = values.notna().to_numpy()
    codes, keys = pd.factorize(values[known].astype(str), sort=True)
    groups = np.arange(int(known.sum())) if persons is None else person_groups(persons)[known]
    pairs = np.unique(np.stack([codes, groups]), axis=1) if len(codes) else np.empty((2, 0), dtype=np.int64)
    counts = np.bincount(pairs[0], minlength=len(keys))
    variance = variance_for(rho, rows)
    noisy = counts + discrete_gaussian(len(keys), variance, bits)
    found = tuple(str(key) for key in np.asarray(keys)[noisy >= threshold(variance, rows, delta)])
    return FoundKeys(found, gaussian_rho(variance, rows), delta)


def threshold(variance: int, rows: int, delta: float) -> int:
    """Noisy count that a key of one person hardly reaches.

    With a probability of at most ``delta / rows``, that is.
    P(noise >= x) of the discrete Gaussian is at most that of the continuous one beyond x - 1 (Canonne, Kamath and
    Steinke 2020, Proposition 25).
    """
    return 2 + math.ceil(math.sqrt(variance) * -NormalDist().inv_cdf(delta / rows))


@dataclass(frozen=True)
class FoundIntervals:
    """Intervals of positions (first, last), ascending, and the price."""

    intervals: tuple[tuple[int, int], ...]
    rho: float


def find_intervals(
    positions: Array, last: int, rows: int, rho: float, bins: int, total: float, bits: Bits
) -> FoundIntervals:
    """Cut positions into intervals of about as many rows each.

    Frequent values stay apart.

    From coarse to fine: intervals whose noisy count is large are split into parts, level by level, and small neighbours
    are joined in the end. A row is counted once per level.

    Parameters
    ----------
    positions : numpy.ndarray, shape (n_known,), int64
        In 0..last.
    last : int
        Greatest position.
    rows : int
        Rows of one person, at most.
    rho : float
        Budget.
    bins : int
        Intervals that are wanted, about.
    total : float
        Noisy number of rows.
    bits : callable
        Source of randomness.
    """
    fan = last + 1 if last < _AT_ONCE else FAN
    levels = max(math.ceil(math.log(last + 1, fan) - 1e-9), 1)
    variance = variance_for(rho / levels, rows**2)
    limit = max(DEVIATIONS * math.sqrt(variance), total / bins)
    ordered, leaves, spent = np.sort(positions), [], 0.0
    waiting = [(0, last)]
    for _ in range(levels):
        parts = np.array([part for each in waiting for part in _parts(each, fan)], dtype=np.int64).reshape(-1, 2)
        if not len(parts):
            break
        counts = np.searchsorted(ordered, parts[:, 1], "right") - np.searchsorted(ordered, parts[:, 0], "left")
        noisy = counts + discrete_gaussian(len(parts), variance, bits)
        spent += gaussian_rho(variance, rows**2)
        split = (noisy > limit) & (parts[:, 1] > parts[:, 0])
        leaves += [(int(low), int(high), float(n)) for (low, high), n in zip(parts[~split], noisy[~split], strict=True)]
        waiting = [(int(low), int(high)) for low, high in parts[split]]
    leaves += [(low, high, limit) for low, high in waiting]
    return FoundIntervals(tuple(_joined(sorted(leaves), limit)), spent)


def _parts(interval: tuple[int, int], fan: int) -> Iterator[tuple[int, int]]:
    """Parts of about equal width."""
    low, high = interval
    width = high - low + 1
    bounds = [low + width * at // fan for at in range(fan + 1)]
    yield from ((start, end - 1) for start, end in pairwise(bounds) if end > start)


def _joined(leaves: Sequence[tuple[int, int, float]], limit: float) -> Iterator[tuple[int, int]]:
    """Neighbours joined until their noisy counts reach the limit."""
    start, held = leaves[0][0], 0.0
    for low, high, count in leaves:
        if count >= limit and low > start:
            yield start, low - 1
            start, held = low, 0.0
        held += count
        if held >= limit:
            yield start, high
            start, held = high + 1, 0.0
    end = leaves[-1][1]
    if start <= end:
        yield start, end
