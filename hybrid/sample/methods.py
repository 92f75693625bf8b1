"""Options of sampling, and the records to keep of each stratum: Bernoulli, simple random and stratified."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, field_validator

from hybrid.base.arrays import Counts
from hybrid.base.options import Options


class SampleOptions(Options):
    """Options of sampling: which records are kept."""

    method: Literal["none", "beta", "simple", "stratified"] = "none"
    """none: all; beta: each record independently; simple: an exact number of records, all equally likely;
    stratified: inside every stratum by itself. With `data.person`, persons are drawn, with all their records, and a
    person is in the stratum of the first of these."""
    beta: float = Field(default=1.0, gt=0.0, le=1.0)
    """Expected share of records kept, in (0, 1]."""
    by: Literal["equivalence_class"] | list[str] = "equivalence_class"
    """stratified: one stratum per equivalence class, or per combination of original values of these columns
    (missing is a value of its own)."""
    allocation: Literal["independent", "proportional"] = "independent"
    """stratified: inside a stratum of n records keep each independently with probability beta, or keep
    beta * n records, rounded up or down at random so that it is exact in expectation."""
    minimum: int = Field(default=0, ge=0)
    """stratified: keep at least this many records of every stratum (all, if it has fewer)."""
    order: Literal["pre", "post"] = "post"
    """pre: before anonymization, so that k holds in the sample; post: after it, so that k holds in what the sample is
    drawn from."""
    groups: list[str] = Field(default_factory=list)
    """Columns whose groups' shares before and after are reported, such as sex or ethnicity."""

    @property
    def effective(self) -> SampleOptions:
        """Canonical options that draw the same records: all that changes nothing is at its default."""
        if self.method == "none" or self.beta == 1:
            return SampleOptions(groups=self.groups)
        if self.method == "stratified":
            return self
        return SampleOptions(method=self.method, beta=self.beta, order=self.order, groups=self.groups)

    @field_validator("by")
    @classmethod
    def _some_column(cls, by: str | list[str]) -> str | list[str]:
        if not by:
            raise ValueError("by needs equivalence_class or at least one column name")
        return by


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
