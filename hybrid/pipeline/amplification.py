"""Privacy accounting of a threshold on sampled counts.

The mechanism holds each record of a table independently with probability beta, counts the sampled records of every
cell of a grid that does not depend on the records, and publishes the counts of at least k ("strongly safe"
k-anonymization of a sample: Li, Qardaji and Su 2012, On Sampling, Anonymization, and Differential Privacy). Two tables
that differ in the presence of one record differ in one cell, of n and n - 1 records, and the others are independent
of it. The mechanism is therefore (epsilon, delta)-differentially private exactly for

    delta(epsilon) = max over n of the hockey-stick divergences, in both directions, of
    Binomial(n, beta) and Binomial(n - 1, beta), each with all outcomes below k made one,

where the hockey-stick divergence of P from Q is the sum of (P - e^epsilon * Q)+ over the outcomes. Theorem 5 of the
paper bounds the first direction by the tail of P alone, which is up to some thousand times more, and says nothing for
epsilon below -ln(1 - beta).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Numbers
from hybrid.base.errors import ConfigError

_AT_ONCE = 64
"""Thresholds that are looked at together."""
_STEP = 1e-5
"""Relative accuracy of the smallest epsilon."""
_LARGEST = 600.0
"""Epsilon from which delta is that of this one, since e^epsilon must be a float."""
_NONE = 1e-12
"""1 - (1 - beta) * e^epsilon below which one record less never weighs more than one record more."""
_UNDERFLOW = -650.0
"""Logarithm of a probability below which tails are series."""


@dataclass(frozen=True)
class Guarantee:
    """One point of the trade-off."""

    k: int
    """Least number of records in a class of the sample."""
    beta: float
    """Probability that a record is sampled, in (0, 1)."""
    epsilon: float
    """0 or more."""
    log10_delta: float
    """Decimal logarithm of delta, at most 0; a number even where delta itself is too small for a float."""

    @property
    def delta(self) -> float:
        """Probability that the bound epsilon may fail; 0.0 where it is below the smallest float."""
        return float(10.0**self.log10_delta)


def guarantee(k: int, beta: float, epsilon: float) -> Guarantee:
    """The exact delta of the mechanism, to six digits: of k of 1 or more, beta in (0, 1), epsilon of 0 or more.

    The likelihood ratio of the two counts, n * (1 - beta) / (n - j), grows with j. So the events that matter are
    {count >= J} of the one direction and {count < J} of the other, for J >= k, whose divergences are, with p and S the
    probabilities and the tail of Binomial(n - 1, beta) and F the distribution function of Binomial(n, beta),

        up(J, n)   = beta * p(J - 1) - (e^epsilon - 1) * S(J)        (one record more)
        down(J, n) = beta * p(J - 1) - (e^epsilon - 1) * F(J - 1)    (one record less).

    Each rises and then falls with n: up(J, n + 1) > up(J, n) while n * (e^epsilon - 1 + beta) <= e^epsilon * (J - 1),
    so that n = floor((J - 1) / gamma) + 1 is best, gamma = 1 - (1 - beta) * e^-epsilon; down in the same way with
    -epsilon in the place of epsilon, and is never positive where e^epsilon >= 1 / (1 - beta). J runs from k upwards
    until Chernoff's bound of all further ones is below the best found.
    """
    _check(k, beta)
    _check_epsilon(epsilon)
    return Guarantee(k, beta, epsilon, min(_largest_of_both(k, beta, epsilon) / math.log(10), 0.0))


def epsilon_for(k: int, beta: float, delta: float) -> Guarantee | None:
    """Smallest epsilon whose delta is at most the given, to a part in 100,000, rounded up.

    Arguments as :func:`guarantee`. None if there is none: whatever epsilon, delta is never less than beta ** k, the
    probability that all k records of a smallest class are sampled.
    """
    _check(k, beta)
    _check_delta(delta)
    if k * math.log10(beta) >= math.log10(delta) - 1e-9:
        return None
    low = high = 0.0
    while (found := guarantee(k, beta, high)).log10_delta > math.log10(delta):
        low, high = high, 2 * high + 0.1
    while high - low > _STEP * high + 1e-12:
        middle = (low + high) / 2
        tried = guarantee(k, beta, middle)
        if tried.log10_delta > math.log10(delta):
            low = middle
        else:
            high, found = middle, tried
    return found


def delta_of_sampling_last(k: int, beta: float) -> float:
    """Least delta of sampling after anonymization, 1 - (1 - beta)**k.

    Where k-anonymity at fixed levels comes first and every record of its classes is then kept with probability
    ``beta``, a class of k records shows with this probability, and without one of them never, whatever epsilon.
    """
    _check(k, beta)
    return -math.expm1(k * math.log1p(-beta))


def delta_of_large_class(size: int, beta: float, epsilon: float) -> float:
    """Delta for members of large classes, where sampling comes last.

    ``size`` is the least number of records of the class with that person, more than k, so that it shows without him,
    too. Delta is the largest hockey-stick divergence of Binomial(n, beta) and Binomial(n - 1, beta), in both
    directions, over all n of at least ``size``; it falls with ``size``, exponentially where epsilon is above 0.

    No count is hidden, so the best event for n has the threshold floor(n * gamma) + 1 (see :func:`guarantee`), and
    divergences rise and then fall with n: those of smaller thresholds than that of ``size`` are largest at ``size``.
    """
    _check(size, beta)
    _check_epsilon(epsilon)
    return float(math.exp(min(_largest_of_both(1, beta, epsilon, size), 0.0)))


def large_class(beta: float, epsilon: float, delta: float) -> int:
    """Smallest size of a class from which :func:`delta_of_large_class` is at most ``delta``.

    Arguments as there; ``epsilon`` above 0 and ``delta`` in (0, 1).
    """
    if epsilon <= 0:
        raise ConfigError("epsilon = 0 has no such class", hint="use a number such as 1")
    _check_delta(delta)
    low, high = 0, 1
    while delta_of_large_class(high, beta, epsilon) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of_large_class(middle, beta, epsilon) > delta:
            low = middle
        else:
            high = middle
    return high


def _check_epsilon(epsilon: float) -> None:
    if not 0.0 <= epsilon < math.inf:
        raise ConfigError(f"epsilon = {epsilon:g} is not 0 or more", hint="use a number such as 1")


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ConfigError(f"delta = {delta:g} is not in (0, 1)", hint="use a small probability such as 1e-6")


def _check(k: int, beta: float) -> None:
    if k < 1:
        raise ConfigError(f"k = {k} is less than 1", hint="use k of 2 or more")
    if not 0.0 < beta < 1.0:
        raise ConfigError(
            f"beta = {beta:g} is not in (0, 1); without sampling there is no differential privacy",
            hint="set sample.beta below 1",
        )


def _largest_of_both(k: int, beta: float, epsilon: float, size: int = 1) -> float:
    """As :func:`_largest`, of both directions."""
    most = min(epsilon, _LARGEST)
    best = _largest(k, beta, most, _up, size)
    if -math.expm1(most + math.log1p(-beta)) > _NONE:
        best = max(best, _largest(k, beta, -epsilon, _down, size))
    return best


def _largest(
    k: int,
    beta: float,
    signed: float,
    divergence: Callable[[Numbers, Numbers, float, float], Numbers],
    size: int = 1,
) -> float:
    """Logarithm of the largest divergence of one direction, over all thresholds from k and all n from ``size``.

    ``signed`` is epsilon, or -epsilon for the direction of one record less.
    """
    rest = (1.0 - beta) * math.exp(-signed)
    gamma = 1.0 - rest
    distance = gamma * math.log(gamma / beta) - rest * signed  # KL(gamma || beta); ln(rest / (1 - beta)) = -signed
    best, first = -math.inf, max(k, min(math.floor(size * gamma) + 1, size))
    while _bound(first, gamma, distance, beta) > best:
        least = np.arange(first, first + _AT_ONCE, dtype=np.float64)
        # At least one record per counted one, even where gamma is 1 in floating point.
        n = np.maximum(np.maximum(np.floor((least - 1) / gamma) + 1, least), size)
        best = max(best, float(divergence(least, n, beta, signed).max()))
        first += _AT_ONCE
    return best


def _bound(least: int, gamma: float, distance: float, beta: float) -> float:
    """Logarithm of a bound of the divergences from a threshold on.

    The smaller of Chernoff's, exp(-n * KL(gamma || beta)), and of beta / sqrt(2 e (n - 1) beta (1 - beta)), by the
    largest probability of a binomial count (Herzog 1947).
    """
    n = max((least - 1) / gamma, 1.0)
    chernoff = -n * distance - math.log1p(-beta)
    return min(chernoff, math.log(beta) - 0.5 * math.log(2 * math.e * max(n - 1, 0.05) * beta * (1 - beta)))


def _up(least: Numbers, n: Numbers, beta: float, epsilon: float) -> Numbers:
    """Logarithm of up(J, n)."""
    from scipy.special import bdtrc

    log_p, ratio = _log_p(n - 1, least - 1, beta), beta / (1 - beta)
    if log_p.min() > _UNDERFLOW:
        tail = np.where(n > least, bdtrc(least - 1, np.maximum(n - 1, least), beta), 0.0) / np.exp(log_p)
    else:
        tail = _series(lambda at: (n - least + 1 - at) / (least - 1 + at) * ratio)
    with np.errstate(divide="ignore"):
        found: Numbers = log_p + np.log(np.maximum(beta - np.expm1(epsilon) * tail, 0.0))
    return found


def _down(least: Numbers, n: Numbers, beta: float, minus_epsilon: float) -> Numbers:
    """Logarithm of down(J, n)."""
    from scipy.special import bdtr

    log_p, ratio = _log_p(n - 1, least - 1, beta), (1 - beta) / beta
    if log_p.min() > _UNDERFLOW:
        below = bdtr(least - 1, n, beta) / np.exp(log_p)
    else:
        below = n * (1 - beta) / (n - least + 1) * (1 + _series(lambda at: (least - at) / (n - least + 1 + at) * ratio))
    with np.errstate(divide="ignore"):
        found: Numbers = log_p + np.log(np.maximum(beta - np.expm1(-minus_epsilon) * below, 0.0))
    return found


def _series(factor: Callable[[float], Numbers]) -> Numbers:
    """Sum over i of the product of the factors 1 to i, as far as they are positive.

    That is a tail of probabilities too small for floats, relative to the one before it.
    """
    term = np.ones_like(factor(1.0))
    total, at = np.zeros_like(term), 1.0
    while (term > 1e-18 * total).any():
        term = term * np.maximum(factor(at), 0.0)
        total, at = total + term, at + 1
    return total


def _log_p(n: Numbers, j: Numbers, beta: float) -> Numbers:
    """Natural logarithm of P(Binomial(n, beta) = j)."""
    from scipy.special import gammaln

    ways = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)
    found: Numbers = ways + j * math.log(beta) + (n - j) * math.log1p(-beta)
    return found
