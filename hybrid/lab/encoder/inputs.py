"""Coding of records as inputs of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.encoding import Encoded, Encoding

MASKED, MISSING, FIRST = 0, 1, 2
"""Tokens of a hidden value and of a missing one, and that of a column's first category."""
MOST = 8.0
"""Standard deviations beyond which a number is not told apart."""


class Coded(NamedTuple):
    """Records as a network reads them.

    ``numbers`` (n, a) float64, standardized, 0 where hidden or missing; ``absent`` (n, a) float64, 1 there; ``tokens``
    (n, b) int64.
    """

    numbers: Array
    absent: Array
    tokens: Array

    def take(self, rows: Array) -> Coded:
        """These records."""
        return Coded(*(part[rows] for part in self))


@dataclass(frozen=True)
class Inputs:
    """Scales and categories of the judged table: what its holder can know.

    Parameters
    ----------
    numeric, other : numpy.ndarray, int64
        Positions of the a continuous and of the b other columns in the coding.
    center, scale : numpy.ndarray, shape (a,)
        Mean and standard deviation in the judged table; 0 and 1 where nothing varies.
    known : tuple of numpy.ndarray of bool
        For each other column, which of its categories occur in the judged table.
    """

    numeric: Array
    other: Array
    center: Array
    scale: Array
    known: tuple[Array, ...]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.numeric) + len(self.other)

    def code(self, records: Encoded, shown: Array) -> Coded:
        """Records with only the shown values.

        Categories that the judged table does not have are hidden, too.

        Parameters
        ----------
        records : Encoded
            In the coding that the inputs were learned from.
        shown : numpy.ndarray, shape (n, p) or (p,), bool
            False for values that are hidden from the network.
        """
        shown = np.broadcast_to(shown, records.ranks.shape)
        values = (records.numbers[:, self.numeric] - self.center) / self.scale
        absent = np.isnan(values) | ~shown[:, self.numeric]
        numbers = np.where(absent, 0.0, np.clip(values, -MOST, MOST))
        tokens = np.full((len(records), len(self.other)), MASKED, dtype=np.int64)
        for at, (column, known) in enumerate(zip(self.other, self.known, strict=True)):
            ranks = records.ranks[:, column]
            token = np.where(ranks < 0, MISSING, np.where(np.append(known, False)[ranks], ranks + FIRST, MASKED))
            tokens[:, at] = np.where(shown[:, column], token, MASKED)
        return Coded(numbers, absent.astype(np.float64), tokens)


def inputs_of(encoding: Encoding, table: Encoded) -> Inputs:
    """Learn scales and categories from the judged table."""
    numeric, other = np.flatnonzero(encoding.continuous), np.flatnonzero(~encoding.continuous)
    values = table.numbers[:, numeric]
    there = ~np.isnan(values)
    count = np.maximum(there.sum(axis=0), 1)
    center = np.where(there, values, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(there, values - center, 0.0) ** 2).sum(axis=0) / count)
    known = []
    for column in other:
        ranks = table.ranks[:, column]
        known.append(np.bincount(ranks[ranks >= 0], minlength=int(encoding.cardinality[column])) > 0)
    return Inputs(numeric, other, center, np.where(spread > 0, spread, 1.0), tuple(known))


def random_masks(n: int, p: int, rng: np.random.Generator) -> Array:
    """Random masks of n records.

    Of p columns 1 to p - 1 are hidden, each number of them as often, and at random which.

    Returns
    -------
    numpy.ndarray, shape (n, p), bool
        True for values that are shown.
    """
    hidden = rng.integers(1, p, size=n)
    place = np.argsort(np.argsort(rng.random((n, p)), axis=1), axis=1)
    shown: Array = place >= hidden[:, None]
    return shown
