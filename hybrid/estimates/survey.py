"""Weights, strata and clusters of a survey, and the variance of estimates that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.errors import DataError, Problem

if TYPE_CHECKING:
    import pandas as pd


class NotEstimable(DataError):
    """A model that a table does not determine: too few rows, or columns that decide each other."""


class Clusters(NamedTuple):
    """Cluster of each row that an estimate uses, and stratum of every cluster of the survey, used or not."""

    of: Array
    stratum: Array

    @property
    def freedom(self) -> int:
        """Degrees of freedom of a variance: clusters less strata, of those with a row that the estimate uses.

        Korn, E. L. and Graubard, B. I. (1999): Analysis of health surveys, section 5.2. 0 for a single cluster.
        """
        used = np.unique(self.of)
        return len(used) - len(np.unique(self.stratum[used]))

    def covariance(self, inverse: Array, scores: Array) -> Array:
        """Covariance by Taylor linearization with ultimate clusters.

        With z the sum of the scores in a cluster and z' its mean over the n clusters of a stratum, it is A^-1 B A^-1, B
        the sum over the strata of n / (n - 1) times the sum of (z - z') (z - z')^T over its clusters. Binder, D.
        (1983): On the variances of asymptotically normal estimators from complex surveys. International Statistical
        Review 51(3). It takes clusters as drawn with replacement, and counts what varies within them as well.
        ``inverse`` is A^-1, that of the weighted information; ``scores`` are the weighted ones of the rows.
        """
        number = np.bincount(self.stratum)
        if number.min(initial=2) < 2:
            raise NotEstimable("a stratum has a single cluster", hint="join strata, so that each has two or more")
        totals = _sums(self.of, scores, len(self.stratum))
        apart = totals - (_sums(self.stratum, totals, len(number)) / number[:, None])[self.stratum]
        inner = (apart * (number / (number - 1))[self.stratum][:, None]).T @ apart
        return np.asarray(inverse @ inner @ inverse)


def _sums(groups: Array, values: Array, n: int) -> Array:
    return np.column_stack([np.bincount(groups, column, n) for column in values.T])


class SampledRows(NamedTuple):
    """Sampling weights of rows, shape (n,), above 0, and their clusters."""

    weights: Array
    clusters: Clusters


@dataclass(frozen=True)
class Survey:
    """Columns that say how the rows of a survey were drawn; all None: at random, each row by itself."""

    weights: str | None = None
    """Sampling weights; rows without one, or with one that is not above 0, are left out. None: all are 1."""
    strata: str | None = None
    """Strata, from each of which clusters were drawn. A gap is a stratum of its own."""
    clusters: str | None = None
    """Clusters that were drawn (primary sampling units), numbered anew in each stratum or not. A gap is a cluster of
    its own. None: each row is one."""

    @property
    def columns(self) -> dict[str, str]:
        return {what: name for what, name in vars(self).items() if name is not None}

    @property
    def has_clusters(self) -> bool:
        """True if rows belong together, or clusters to strata."""
        return self.strata is not None or self.clusters is not None

    def without(self, names: Sequence[str]) -> Self:
        """The same survey, with columns that it does not know: within one stratum, for example."""
        return type(self)(**{what: name for what, name in self.columns.items() if name not in names})

    def problems(self, text: str, used: Sequence[str], frame: pd.DataFrame) -> Iterator[Problem]:
        """Problems of the columns, for a formula and the columns that it uses."""
        for what, name in self.columns.items():
            if name not in frame:
                yield Problem(f"{what}: {name!r} is no column", f"one of: {', '.join(map(str, frame.columns))}")
            elif what == "weights" and frame[name].dtype.kind not in "iuf":
                yield Problem(f"{what}: {name!r} is no column of numbers", "name the column of sampling weights")
            elif what == "weights" and name in used:
                yield Problem(f"{text}: {name} is the sampling weight", "leave it out of the formula")

    def is_drawn(self, frame: pd.DataFrame) -> Mask:
        """True for rows of the survey, shape (n,): all, or those with a weight above 0."""
        if self.weights is None:
            return np.ones(len(frame), dtype=bool)
        return np.asarray(frame[self.weights].to_numpy(float, na_value=np.nan) > 0)

    def drawn(self, frame: pd.DataFrame, used: Mask) -> SampledRows | None:
        """Weights of the used rows, and clusters of all rows of the survey; None where no column is named."""
        import pandas as pd

        if not self.columns:
            return None
        weights = np.ones(len(frame)) if self.weights is None else frame[self.weights].to_numpy(float)
        clusters = np.arange(len(frame)) if self.clusters is None else _numbers(frame[self.clusters])
        strata = np.zeros(len(frame), dtype=np.int64) if self.strata is None else _numbers(frame[self.strata])
        pairs = pd.factorize(strata * (int(clusters.max(initial=0)) + 1) + clusters)[0]
        stratum = np.zeros(int(pairs.max(initial=-1)) + 1, dtype=np.int64)
        stratum[pairs] = strata
        return SampledRows(weights[used], Clusters(pairs[used], stratum))


def _numbers(values: pd.Series) -> Array:
    import pandas as pd

    return np.asarray(pd.factorize(values, use_na_sentinel=False)[0])
