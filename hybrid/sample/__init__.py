"""Draw a sample of the (anonymized) records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.options import Options
from hybrid.table import Table

MOST_GROUPS = 50
"""Largest number of groups a column may have for its shares to be reported."""


class SampleOptions(Options):
    """Which records go on."""

    method: Literal["none", "beta", "simple", "stratified"] = "none"
    """none: all; beta: each record independently; simple: an exact number of records, all equally likely;
    stratified: inside every stratum by itself."""
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
    groups: list[str] = Field(default_factory=list)
    """Columns whose groups' shares before and after are reported, such as sex or ethnicity."""

    @property
    def effective(self) -> SampleOptions:
        """Options that draw the same records, with all that changes nothing at its default."""
        if self.method == "none" or self.beta == 1:
            return SampleOptions(groups=self.groups)
        if self.method == "stratified":
            return self
        return SampleOptions(method=self.method, beta=self.beta, groups=self.groups)

    @field_validator("by")
    @classmethod
    def _some_column(cls, by: str | list[str]) -> str | list[str]:
        if not by:
            raise ValueError("by needs equivalence_class or at least one column name")
        return by


@dataclass(frozen=True)
class GroupShare:
    """A group's part of the records, in [0, 1], before and after sampling. An aggregate for reports."""

    column: str
    group: str
    before: float
    after: float


@dataclass(frozen=True)
class Sampled:
    """A sample, and how it compares with what was asked for.

    Parameters
    ----------
    anonymized : AnonymizedTable
        The kept records in their order; class ids keep their numbers. Private.
    method : str
        The method that was used.
    beta : float
        The share asked for; 1 for method none.
    before : int
        Number of records that came in.
    expected : float
        Expected number of records kept, minima included.
    strata : int
        Number of strata; 1 unless stratified.
    shares : tuple of GroupShare
        For the declared groups.
    """

    anonymized: AnonymizedTable
    method: str
    beta: float
    before: int
    expected: float
    strata: int
    shares: tuple[GroupShare, ...] = ()

    @property
    def actual(self) -> int:
        """Number of records kept."""
        return len(self.anonymized)


def sample(anonymized: AnonymizedTable, options: SampleOptions, rng: np.random.Generator) -> Sampled:
    """Draw a sample of the anonymized records.

    Parameters
    ----------
    anonymized : AnonymizedTable, n records
        What to draw from.
    options : SampleOptions
        Method, share, strata and declared groups.
    rng : numpy.random.Generator
        Decides who is kept.

    Returns
    -------
    Sampled
        At least one record, in the order of the input, with expected and actual size.

    Raises
    ------
    ConfigError
        A column to stratify by or to report on does not exist.
    DataError
        The sample came out empty, or a reported column has more than :data:`MOST_GROUPS` groups.
    """
    original = anonymized.originals
    if options.method == "stratified" and options.by == "equivalence_class":
        strata = anonymized.class_ids
    else:
        strata = _strata(original, options)
    kept, expected = _draw(strata, options, rng)
    return Sampled(
        anonymized if kept is None else anonymized.take(kept),
        options.method,
        1.0 if kept is None else options.beta,
        len(anonymized),
        expected,
        len(np.unique(strata)),
        _shares(original, kept, options),
    )


def sample_table(table: Table, options: SampleOptions, rng: np.random.Generator) -> Table:
    """Draw a sample of records that are not anonymized.

    Parameters
    ----------
    table, options, rng
        As for :func:`sample`; there are no equivalence classes to stratify by.

    Raises
    ------
    ConfigError
        The sample is to be stratified by equivalence class, or by a column that does not exist.
    DataError
        The sample came out empty.
    """
    kept, _ = _draw(_strata(table, options), options, rng)
    return table if kept is None else table.take(kept)


def _draw(strata: Array, options: SampleOptions, rng: np.random.Generator) -> tuple[Array | None, float]:
    """Positions of the kept records (None: all), and their expected number."""
    n = len(strata)
    if options.method == "none":
        return None, float(n)
    sizes = np.bincount(strata)
    quotas, expected = _quotas(sizes, options, rng)
    kept = _choose(strata, sizes, quotas, rng)
    if not len(kept):
        raise DataError(
            f"sampling {n} records with beta = {options.beta} kept none (expected {expected:.3g})",
            hint="raise sample.beta, use sample.method: simple, or sample.method: none",
        )
    return kept, expected


def _strata(table: Table, options: SampleOptions) -> Array:
    """Stratum of each record by its columns, numbered from 0."""
    if options.method != "stratified":
        return np.zeros(len(table), dtype=np.int64)
    if options.by == "equivalence_class":
        raise ConfigError(
            "sample.by is equivalence_class, but the records are not anonymized and have no classes",
            hint="set sample.by to column names, or sample.method: beta",
        )
    _require(table, options.by, "sample.by")
    strata: Array = table.frame.groupby(options.by, dropna=False, observed=True, sort=False).ngroup().to_numpy()
    return strata


def _require(table: Table, names: Sequence[str], key: str) -> None:
    unknown = [name for name in names if name not in table.schema]
    if unknown:
        raise ConfigError(
            f"{key} names columns that the data does not have (or that are identifiers): {', '.join(unknown)}",
            hint=f"use some of: {', '.join(table.schema.names)}",
        )


def _quotas(sizes: Array, options: SampleOptions, rng: np.random.Generator) -> tuple[Array, float]:
    """How many records of each stratum to keep, and how many that makes in expectation."""
    share = options.beta * sizes
    if options.method == "simple":
        return np.round(share).astype(np.int64), float(np.round(share).sum())
    if options.method == "beta":
        return rng.binomial(sizes, options.beta), float(share.sum())
    least = np.minimum(options.minimum, sizes)
    if options.allocation == "proportional":
        whole = np.floor(share)
        quotas = (whole + (rng.random(len(sizes)) < share - whole)).astype(np.int64)
        return np.maximum(quotas, least), float(np.where(least <= whole, share, least).sum())
    return np.maximum(rng.binomial(sizes, options.beta), least), _expected_maximum(sizes, options.beta, least)


def _expected_maximum(sizes: Array, beta: float, least: Array) -> float:
    """Sum over strata of E max(X, m), X ~ Binomial(n, beta): m P(X <= m) + n beta P(X >= m + 1 | one sure success)."""
    from scipy.stats import binom

    below = least * binom.cdf(least, sizes, beta)
    above = sizes * beta * binom.sf(least - 1, np.maximum(sizes - 1, 0), beta)
    return float(np.where(least > 0, below + above, sizes * beta).sum())


def _choose(strata: Array, sizes: Array, quotas: Array, rng: np.random.Generator) -> Array:
    """Positions of the kept records, ascending: ``quotas[s]`` of stratum ``s``, all subsets equally likely."""
    shuffled = np.lexsort((rng.random(len(strata)), strata))
    place_in_stratum = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(shuffled[place_in_stratum < np.repeat(quotas, sizes)])


def _shares(table: Table, kept: Array | None, options: SampleOptions) -> tuple[GroupShare, ...]:
    _require(table, options.groups, "sample.groups")
    shares: list[GroupShare] = []
    for name in options.groups:
        codes, groups = pd.factorize(table.frame[name], sort=True, use_na_sentinel=True)
        codes = np.where(codes < 0, len(groups), codes)
        if len(groups) > MOST_GROUPS:
            raise DataError(
                f"sample.groups: column {name!r} has {len(groups)} groups; at most {MOST_GROUPS} can be reported",
                hint="declare columns with few groups",
            )
        before = np.bincount(codes, minlength=len(groups) + 1) / max(len(codes), 1)
        chosen = codes if kept is None else codes[kept]
        after = np.bincount(chosen, minlength=len(groups) + 1) / max(len(chosen), 1)
        names = [*map(str, groups), "(missing)"]
        shares.extend(
            GroupShare(name, group, float(b), float(a)) for group, b, a in zip(names, before, after, strict=True) if b
        )
    return tuple(shares)
