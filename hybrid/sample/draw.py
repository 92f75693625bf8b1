"""Drawing a sample of records: its options, the strata, the draw, and the shares of declared groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Codes, Counts, Rows
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.options import Options
from hybrid.table import Table
from hybrid.table.holders import holders, row_holders
from hybrid.table.persons import kept_together


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


def quotas_of(sizes: Counts, options: SampleOptions, rng: np.random.Generator) -> tuple[Counts, float]:
    """Records to keep of each stratum, and the expected total, minima included.

    Beta times the size: rounded to the nearest; of a proportional allocation rounded up or down at random, so that it
    is exact in expectation; else drawn from Binomial(size, beta).
    """
    share, minimum = options.beta * sizes, options.minimum if options.method == "stratified" else 0
    if options.method == "simple":
        return np.round(share).astype(np.int64), float(np.round(share).sum())
    least = np.minimum(minimum, sizes)
    if options.method == "stratified" and options.allocation == "proportional":
        whole = np.floor(share)
        drawn = (whole + (rng.random(len(sizes)) < share - whole)).astype(np.int64)
        return np.maximum(drawn, least), float(np.where(least <= whole, share, least).sum())
    return np.maximum(rng.binomial(sizes, options.beta), least), expected_maximum(sizes, options.beta, least)


def expected_maximum(sizes: Counts, beta: float, least: Counts) -> float:
    """Sum over strata of E max(X, m), X ~ Binomial(n, beta), of n records each and m the least number kept of them.

    E max(X, m) = m P(X <= m) + E[X; X > m], and E[X; X > m] = n beta P(Y >= m) with Y ~ Binomial(n - 1, beta), because
    x C(n, x) = n C(n - 1, x - 1).
    """
    if not least.any():
        return float((sizes * beta).sum())
    from scipy.stats import binom

    below = least * binom.cdf(least, sizes, beta)
    above = sizes * beta * binom.sf(least - 1, np.maximum(sizes - 1, 0), beta)
    return float(np.where(least > 0, below + above, sizes * beta).sum())


MOST_GROUPS = 50
"""Largest number of groups a column may have for its shares to be reported."""


def strata_of(table: Table, options: SampleOptions) -> Codes:
    """Stratum of each record by its columns, numbered from 0."""
    if options.method != "stratified":
        return np.zeros(len(table), dtype=np.int64)
    if options.by == "equivalence_class":
        raise ConfigError(
            "sample.by is equivalence_class, but the records are not anonymized and have no classes",
            hint="set sample.by to column names, or sample.method: beta",
        )
    require_columns(table, options.by, "sample.by")
    return np.asarray(table.frame.groupby(options.by, dropna=False, observed=True, sort=False).ngroup().to_numpy())


def require_columns(table: Table, names: Sequence[str], key: str) -> None:
    """Raise ConfigError if a table lacks the columns that the configuration key ``key`` names."""
    unknown = [name for name in names if name not in table.schema]
    if unknown:
        raise ConfigError(
            f"{key} names columns that the data does not have (or that are identifiers): {', '.join(unknown)}",
            hint=f"use some of: {', '.join(table.schema.names)}",
        )


@dataclass(frozen=True)
class GroupShare:
    """Share of a group of records before and after sampling, in [0, 1]: an aggregate for reports."""

    column: str
    group: str
    before: float
    after: float
    people: int
    """People of the group, before or after sampling, whichever is fewer."""


def group_shares(table: Table, kept: Rows | None, columns: Sequence[str]) -> tuple[GroupShare, ...]:
    """Shares of every group of some columns, before and after; ``kept``: positions of the kept records, None: all."""
    require_columns(table, columns, "sample.groups")
    shares: list[GroupShare] = []
    whose = row_holders(table)
    for name in columns:
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
        there = holders(chosen, len(names), whose if kept is None else whose[kept])
        people = np.minimum(holders(codes, len(names), whose), there)
        found = zip(names, before.tolist(), after.tolist(), people.tolist(), strict=True)
        shares.extend(GroupShare(name, *one) for one in found if one[1])
    return tuple(shares)


@dataclass(frozen=True, kw_only=True)
class DrawnSample:
    """Facts of a sample: how it compares with what was asked for."""

    method: str
    """The method that was used."""
    beta: float
    """The share asked for; 1 for method none."""
    before: int
    """Number of records that came in."""
    actual: int
    """Number of records kept."""
    expected: float
    """Expected number of records kept, minima included; of persons, where records share them."""
    strata: int
    """Number of strata; 1 unless stratified."""
    shares: tuple[GroupShare, ...] = ()
    """For the declared groups."""
    unit: str = "records"
    """What was drawn: records, persons or households."""


@dataclass(frozen=True, kw_only=True)
class Sampled(DrawnSample):
    """A sample of anonymized records, or an anonymized sample."""

    anonymized: AnonymizedTable
    """The records that go on, in their order; class ids keep their numbers. Private."""


@dataclass(frozen=True, kw_only=True)
class SampledTable(DrawnSample):
    """A sample of records that are not anonymized yet."""

    table: Table
    """The kept records in their order. Private."""
    kept: Rows
    """Their positions among those that came in; shape (actual,), int."""

    def with_labels(self, anonymized: AnonymizedTable) -> Sampled:
        """The same sample, anonymized."""
        facts = {one.name: getattr(self, one.name) for one in fields(DrawnSample)}
        return Sampled(anonymized=anonymized, **facts)


def sample(anonymized: AnonymizedTable, options: SampleOptions, rng: np.random.Generator) -> Sampled:
    """Draw a sample of the anonymized records: at least one, in their order, with expected and actual size."""
    original = anonymized.originals
    if options.method == "stratified" and options.by == "equivalence_class":
        strata = anonymized.class_ids
    else:
        strata = strata_of(original, options)
    kept, expected = _draw(strata, original, options, rng)
    taken = anonymized if kept is None else anonymized.take(kept)
    return Sampled(anonymized=taken, **_facts(original, kept, expected, strata, options))


def sample_before(table: Table, options: SampleOptions, rng: np.random.Generator) -> SampledTable:
    """Draw the sample that is anonymized."""
    strata = strata_of(table, options)
    chosen, expected = _draw(strata, table, options, rng)
    kept = np.arange(len(table)) if chosen is None else chosen
    return SampledTable(table=table.take(kept), kept=kept, **_facts(table, chosen, expected, strata, options))


def sample_table(table: Table, options: SampleOptions, rng: np.random.Generator) -> Table:
    """Draw a sample of records that are not anonymized, so that there are no classes to stratify by."""
    kept, _ = _draw(strata_of(table, options), table, options, rng)
    return table if kept is None else table.take(kept)


def _draw(strata: Codes, table: Table, options: SampleOptions, rng: np.random.Generator) -> tuple[Rows | None, float]:
    """Positions of the kept records (None: all), and the expected number of records, persons or households.

    Where records share persons, or households, these are drawn, with all their records; one is in the stratum of its
    first record.
    """
    groups = kept_together(table)
    chosen, expected = _draw_units(strata[np.unique(groups, return_index=True)[1]], options, rng)
    return None if chosen is None else np.flatnonzero(np.isin(groups, chosen)), expected


def _facts(table: Table, kept: Rows | None, expected: float, strata: Codes, options: SampleOptions) -> dict[str, Any]:
    return {
        "method": options.method,
        "beta": 1.0 if kept is None else options.beta,
        "before": len(table),
        "actual": len(table) if kept is None else len(kept),
        "expected": expected,
        "strata": len(np.unique(strata)),
        "shares": group_shares(table, kept, options.groups),
        "unit": _unit(table),
    }


def _unit(table: Table) -> str:
    if table.has_households:
        return "households"
    return "records" if table.rows_are_persons else "persons"


def _draw_units(strata: Codes, options: SampleOptions, rng: np.random.Generator) -> tuple[Rows | None, float]:
    """Positions of the kept units (None: all), and their expected number."""
    n = len(strata)
    if options.method == "none":
        return None, float(n)
    sizes = np.bincount(strata)
    quotas, expected = quotas_of(sizes, options, rng)
    kept = _choose(strata, sizes, quotas, rng)
    if not len(kept):
        raise DataError(
            f"sampling {n} records with beta = {options.beta} kept none (expected {expected:.3g})",
            hint="raise sample.beta, use sample.method: simple, or sample.method: none",
        )
    return kept, expected


def _choose(strata: Codes, sizes: Counts, quotas: Counts, rng: np.random.Generator) -> Rows:
    shuffled = np.lexsort((rng.random(len(strata)), strata))
    place_in_stratum = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(shuffled[place_in_stratum < np.repeat(quotas, sizes)])
