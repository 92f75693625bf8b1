"""Exact noise: discrete Gaussian counts, and private choice.

Canonne, Kamath and Steinke (2020, arXiv:2004.00010), Algorithms 1 to 3. No floating point enters, so that the holes of
floating-point noise (Mironov 2012) do not exist. The bits come from the operating system, and no seed repeats them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from os import urandom

import numpy as np

from hybrid.base.arrays import Array

Bits = Callable[[int], bytes]
"""Source of so many random bytes."""
_WORD = np.uint64(2**64 - 1)
_LARGEST = 2**62
_FARTHEST = 64
"""Scales beyond which a draw is made with unlimited whole numbers; met with a probability of exp(-64)."""
_TRIES = 16


def secure_bytes(n_bytes: int) -> bytes:
    """Random bytes of the operating system: all noise of a claim comes from here."""
    return urandom(n_bytes)


def discrete_gaussian(size: int, variance: int, bits: Bits = secure_bytes) -> Array:
    """Draw whole numbers from the discrete Gaussian: P(x) is proportional to exp(-x ** 2 / (2 variance)).

    The default source of randomness is the one that a claim needs.
    """
    drawn = np.zeros(size, dtype=np.int64)
    left = np.arange(size)
    scale = math.isqrt(variance) + 1
    while left.size:
        values = _discrete_laplace(left.size, scale, bits)
        wide = values.astype(object) if _is_large(values, scale, variance) else values
        numerator = (abs(wide) * scale - variance) ** 2
        kept = bernoulli_exp(numerator, np.full_like(numerator, 2 * variance * scale**2), bits)
        drawn[left[kept]] = values[kept]
        left = left[~kept]
    return drawn


def choose(scores: Array, epsilon: Fraction, sensitivity: int, bits: Bits = secure_bytes) -> int:
    """Draw a position by the exponential mechanism.

    Its probability is proportional to ``exp(epsilon * score / (2 * sensitivity))`` (McSherry and Talwar 2007), of whole
    numbers of which one person changes each by the sensitivity at most. It spends ``epsilon ** 2 / 8`` of rho (Cesar
    and Rogers 2021).
    """
    gaps = np.array([int(scores.max()) - int(score) for score in scores], dtype=object) * epsilon.numerator
    unit = 2 * sensitivity * epsilon.denominator
    while True:
        tried = uniform_below(np.full(_TRIES, len(scores), dtype=np.int64), bits)
        accepted = bernoulli_exp(gaps[tried], np.full(_TRIES, unit, dtype=object), bits)
        if accepted.any():
            return int(tried[int(np.argmax(accepted))])


def bernoulli_exp(numerators: Array, denominators: Array, bits: Bits) -> Array:
    """Draw true with probability exp(-numerator / denominator), of whole numbers >= 0 and >= 1 without limit."""
    true = np.ones(len(numerators), dtype=bool)
    ones = numerators // denominators
    at = np.flatnonzero(ones > 0)
    while at.size:
        unit = np.ones(at.size, dtype=np.int64)
        passed = _exp_of_fraction(unit, unit, bits)
        true[at[~passed]] = False
        ones[at] -= 1
        at = at[passed & (ones[at] > 0)]
    left = np.flatnonzero(true)
    true[left] = _exp_of_fraction((numerators % denominators)[left], denominators[left], bits)
    return true


def uniform_below(bounds: Array, bits: Bits) -> Array:
    """Draw whole numbers evenly from 0 up to, but without, each bound: int64 or object (unlimited), 1 or more."""
    if bounds.dtype == object:
        return np.array([_below(int(bound), bits) for bound in bounds], dtype=object)
    drawn = np.zeros(len(bounds), dtype=np.int64)
    left = np.arange(len(bounds))
    while left.size:
        limits = bounds[left].astype(np.uint64)
        words = np.frombuffer(bits(8 * left.size), dtype=np.uint64)
        kept = words <= _WORD - (_WORD % limits + np.uint64(1)) % limits
        drawn[left[kept]] = (words % limits)[kept].astype(np.int64)
        left = left[~kept]
    return drawn


def _below(bound: int, bits: Bits) -> int:
    n_bytes = (bound.bit_length() + 7) // 8 + 1
    limit = 256**n_bytes // bound * bound
    while True:
        word = int.from_bytes(bits(n_bytes), "little")
        if word < limit:
            return word % bound


def _exp_of_fraction(numerators: Array, denominators: Array, bits: Bits) -> Array:
    """Draw true with probability ``exp(-numerator / denominator)``, a quotient of at most 1 (Algorithm 1)."""
    odd = np.zeros(len(numerators), dtype=bool)
    left, k = np.arange(len(numerators)), 1
    while left.size:
        going = uniform_below(denominators[left] * k, bits) < numerators[left]
        odd[left[~going.astype(bool)]] = k % 2 == 1
        left = left[going.astype(bool)]
        k += 1
    return odd


def _discrete_laplace(size: int, scale: int, bits: Bits) -> Array:
    drawn = np.zeros(size, dtype=np.int64)
    left = np.arange(size)
    while left.size:
        scales = np.full(left.size, scale, dtype=np.int64)
        rest = uniform_below(scales, bits)
        kept = bernoulli_exp(rest, scales, bits)
        values = rest + scale * _successes(left.size, bits)
        negative = uniform_below(np.full(left.size, 2, dtype=np.int64), bits) == 1
        kept &= ~(negative & (values == 0))
        drawn[left[kept]] = np.where(negative, -values, values)[kept]
        left = left[~kept]
    return drawn


def _successes(size: int, bits: Bits) -> Array:
    """Numbers of successes before the first failure, of draws with probability exp(-1)."""
    counts = np.zeros(size, dtype=np.int64)
    at = np.arange(size)
    while at.size:
        unit = np.ones(at.size, dtype=np.int64)
        at = at[_exp_of_fraction(unit, unit, bits)]
        counts[at] += 1
    return counts


def _is_large(values: Array, scale: int, variance: int) -> bool:
    """True if squares and the denominators of :func:`discrete_gaussian` could leave 64 bits."""
    farthest = int(np.abs(values).max(initial=0)) * scale + variance
    return farthest**2 >= _LARGEST or 2 * variance * scale**2 * _FARTHEST >= _LARGEST
