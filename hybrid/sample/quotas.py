"""Records to keep of each stratum: Bernoulli, simple random and stratified sampling."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Counts
from hybrid.sample.options import SampleOptions


def bernoulli_quotas(sizes: Counts, options: SampleOptions, rng: np.random.Generator) -> tuple[Counts, float]:
    """Records to keep of each stratum, drawn from Binomial(size, beta), and the expected total."""
    return rng.binomial(sizes, options.beta), float((options.beta * sizes).sum())


def simple_quotas(sizes: Counts, options: SampleOptions, rng: np.random.Generator) -> tuple[Counts, float]:  # noqa: ARG001
    """Records to keep of each stratum, beta times its size rounded to the nearest, and the total."""
    rounded = np.round(options.beta * sizes)
    return rounded.astype(np.int64), float(rounded.sum())


def stratified_quotas(sizes: Counts, options: SampleOptions, rng: np.random.Generator) -> tuple[Counts, float]:
    """Records to keep of each stratum, and the expected total, minima included.

    Proportional allocation keeps beta times the size, rounded up or down at random so that it is exact in expectation;
    independent allocation draws from Binomial(size, beta).
    """
    share = options.beta * sizes
    least = np.minimum(options.minimum, sizes)
    if options.allocation == "proportional":
        whole = np.floor(share)
        drawn = (whole + (rng.random(len(sizes)) < share - whole)).astype(np.int64)
        return np.maximum(drawn, least), float(np.where(least <= whole, share, least).sum())
    return np.maximum(rng.binomial(sizes, options.beta), least), expected_maximum(sizes, options.beta, least)


def expected_maximum(sizes: Counts, beta: float, least: Counts) -> float:
    """Sum over strata of E max(X, m), X ~ Binomial(n, beta).

    E max(X, m) = m P(X <= m) + E[X; X > m], and E[X; X > m] = n beta P(Y >= m) with Y ~ Binomial(n - 1, beta), because
    x C(n, x) = n C(n - 1, x - 1).

    Parameters
    ----------
    sizes : numpy.ndarray, shape (n_strata,), int
        n, the records of each stratum.
    beta : float
        Probability of each record, in (0, 1].
    least : numpy.ndarray, shape (n_strata,), int
        m, the least number kept of each stratum, 0..n.
    """
    from scipy.stats import binom

    below = least * binom.cdf(least, sizes, beta)
    above = sizes * beta * binom.sf(least - 1, np.maximum(sizes - 1, 0), beta)
    return float(np.where(least > 0, below + above, sizes * beta).sum())
