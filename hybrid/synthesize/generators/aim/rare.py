"""States whose noisy counts do not differ from none, joined into one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.aim.model import Measurement

_DEVIATIONS = 3.0
"""Standard deviations of the noise below which a count does not differ from none."""


@dataclass(frozen=True)
class Joined:
    """States of a column, the rare ones as one.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n_states,), int64
        The new state of each.
    shares : numpy.ndarray, shape (n_states,)
        Share of each within its new state.
    """

    codes: Array
    shares: Array

    @property
    def size(self) -> int:
        """Number of new states."""
        return int(self.codes.max()) + 1

    def of(self, measured: Measurement) -> Measurement:
        """Noisy counts of the new states, with the variances of sums."""
        variances = np.broadcast_to(measured.variance, measured.counts.shape)
        return Measurement(
            measured.columns, np.bincount(self.codes, measured.counts), np.bincount(self.codes, variances)
        )

    def split(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw the old state of each row from its new one."""
        order = np.argsort(self.codes, kind="stable")
        new = self.codes[order]
        ends = np.cumsum(np.bincount(new))
        bounds = np.cumsum(self.shares[order])
        starts = np.concatenate([[0.0], bounds[ends - 1][:-1]])
        wanted = starts[codes] + rng.random(len(codes)) * (bounds[ends - 1] - starts)[codes]
        place = np.searchsorted(bounds, wanted, side="right")
        first = np.concatenate([[0], ends[:-1]])
        result: Array = order[np.clip(place, first[codes], ends[codes] - 1)].astype(np.int32)
        return result


def _expected(counts: Array, deviations: Array) -> Array:
    """Expected true counts, 0 or more, given noisy ones.

    Mean of the normal distribution that is cut off below 0: all non-negative counts are as likely beforehand.
    """
    from scipy.stats import norm

    distance = counts / deviations
    result: Array = counts + deviations * np.exp(norm.logpdf(distance) - norm.logcdf(distance))
    return np.maximum(result, 0.0)


def join_rare(measured: Measurement, *, missing: bool) -> Joined:
    """Join the rare states of a column by its noisy counts alone.

    Parameters
    ----------
    measured : Measurement
        Of one column.
    missing : bool
        Whether the last state is the missing value. Where it is rare it never comes out.
    """
    counts = measured.counts
    rare = counts < _DEVIATIONS * np.sqrt(measured.variance)
    if missing and rare[-1] and rare.sum() == 1 and len(counts) > 2:
        rare[np.argmin(counts[:-1])] = True
    if rare.sum() < 2:
        return Joined(np.arange(len(counts)), np.ones(len(counts)))
    codes = np.cumsum(~rare) - 1
    codes[rare] = codes.max() + 1
    deviations = np.broadcast_to(np.sqrt(measured.variance), counts.shape)
    shares = np.where(rare, _expected(counts, deviations), 1.0)
    if missing and rare[-1]:
        shares[-1] = 0.0
    shares[rare] /= shares[rare].sum()
    return Joined(codes, shares)
