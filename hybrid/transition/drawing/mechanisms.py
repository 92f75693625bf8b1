"""Mechanisms of differential privacy: noisy counts, private choice among scores."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array


def geometric(counts: Array, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Array:
    """Counts with two-sided geometric noise.

    P(noise = x) = (1 - a) / (1 + a) * a ** |x| with a = exp(-epsilon / sensitivity): the geometric mechanism of
    Ghosh, Roughgarden and Sundararajan (2012), drawn as the difference of two geometric variables.

    Parameters
    ----------
    counts : numpy.ndarray, integers
        True counts, of all cells of a table whose cells do not depend on the records.
    epsilon : float
        Privacy loss of the whole table, greater than 0.
    sensitivity : float
        Largest change of the sum of absolute counts between neighbouring data sets.
    rng : numpy.random.Generator
        Source of the noise.
    """
    success = -np.expm1(-epsilon / sensitivity)
    noise = rng.geometric(success, counts.shape) - rng.geometric(success, counts.shape)
    noisy: Array = (counts + noise).astype(np.float64)
    return noisy


def laplace(counts: Array, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Array:
    """Counts with Laplace noise of scale sensitivity / epsilon.

    Source: Dwork et al. 2006; arguments as :func:`geometric`.

    In floating point its guarantee is only approximate (Mironov 2012), which the geometric mechanism avoids.
    """
    noisy: Array = counts + rng.laplace(0.0, sensitivity / epsilon, counts.shape)
    return noisy


def exponential_choice(scores: Array, epsilon: float, sensitivity: float, rng: np.random.Generator) -> int:
    """Draw a position by the exponential mechanism.

    Its probability is proportional to exp(epsilon * score / (2 * sensitivity)).

    The exponential mechanism of McSherry and Talwar (2007), by the Gumbel-max identity.
    """
    return int(np.argmax(epsilon * scores / (2 * sensitivity) + rng.gumbel(size=len(scores))))
