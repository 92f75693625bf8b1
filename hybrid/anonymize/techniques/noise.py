"""Noise: numbers with random numbers added, or multiplied by random factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from hybrid.anonymize.techniques.loss import changed_shares, changed_words
from hybrid.anonymize.techniques.protocol import Masked, MaskingTask, ValueTechnique
from hybrid.base.arrays import Numbers
from hybrid.base.errors import Problem
from hybrid.base.sentence import sentence, sentences
from hybrid.table import Column
from hybrid.table.codings import numbers_of, step_of, written

_SIGNAL_TO_NOISE, _SPREAD = 10.0, 0.1
"""Defaults: what a result keeps of the kind of noise that was not used."""
_FEWEST = 30
"""Records from which the variance of the noise is checked."""
_SIGMAS = 7.0
"""Standard deviations at which it is taken for another one (Wilson and Hilferty 1931, doi 10.1073/pnas.17.12.684)."""


class Noise(ValueTechnique):
    """Normal noise added to numbers and dates, or log-normal factors of numbers.

    Additive: Kim 1986 (correlated: covariances proportional to those of the columns, so that correlations are kept);
    multiplicative: Kim and Winkler 2003, with factors of mean 1. Values are rounded as the column is written; a missing
    one stays missing.
    """

    name: Literal["noise"] = "noise"
    """Chooses this technique."""
    columns: tuple[str, ...] = ()
    """Columns that get noise; none: all quasi-identifiers."""
    kind: Literal["additive", "multiplicative"] = "additive"
    """additive: x + e. multiplicative: x f, which keeps signs and zeros, and moves large values more."""
    signal_to_noise: PositiveFloat = _SIGNAL_TO_NOISE
    """additive: variance of the column over that of its noise."""
    correlated: bool = True
    """additive: whether the noise of several columns is correlated as the columns are."""
    spread: PositiveFloat = _SPREAD
    """multiplicative: standard deviation of the factors, whose mean is 1."""
    limits: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Smallest and largest value of single columns of numbers; values beyond become these."""

    random: ClassVar[bool] = True

    @model_validator(mode="after")
    def _fits(self) -> Noise:
        if self.kind == "multiplicative" and (self.signal_to_noise != _SIGNAL_TO_NOISE or not self.correlated):
            raise ValueError("signal_to_noise and correlated are for additive noise")
        if self.kind == "additive" and self.spread != _SPREAD:
            raise ValueError("spread is for multiplicative noise")
        if any(low >= high for low, high in self.limits.values()):
            raise ValueError("limits are a smaller and a larger number")
        return self

    def problems(self, columns: Sequence[Column]) -> Iterator[Problem]:
        for column in columns:
            if not column.kind.is_continuous or (self.kind == "multiplicative" and not column.kind.is_number):
                yield Problem(
                    f"noise: {column.name!r} is no column of numbers",
                    "use pram, rank_swapping or microaggregation for it; additive noise suits dates, too",
                )
        numbers = {column.name for column in columns if column.kind.is_number}
        for name in sorted(set(self.limits) - numbers):
            yield Problem(f"noise.limits: {name!r} is no column of numbers of the step", "leave its limits out")

    def mask(self, task: MaskingTask, rng: np.random.Generator) -> Masked:
        schema = task.table.schema
        plain = np.column_stack([numbers_of(task.table.frame[name]) for name in task.columns])
        moved = plain * self._factors(plain, rng) if self.kind == "multiplicative" else plain + self._terms(plain, rng)
        values = {}
        for at, name in enumerate(task.columns):
            values[name] = written(np.clip(moved[:, at], *self.limits.get(name, (-np.inf, np.inf))), schema[name])
        return Masked(values, {"changed": changed_shares(task.table.frame, values)})

    def failures(self, task: MaskingTask, masked: Masked) -> list[str]:
        found: list[str] = []
        for name in task.columns:
            column = task.table.schema[name]
            before, after = (numbers_of(one) for one in (task.table.frame[name], masked.values[name]))
            known = ~np.isnan(before)
            if (np.isnan(after) != ~known).any():
                found.append(sentence("broken.missing", column=name))
            elif name in self.limits or known.sum() < _FEWEST or before[known].std() == 0:
                continue
            elif not self._as_stated(before[known], after[known], step_of(column)):
                found.append(sentence("broken.noise", column=name))
        return found

    def words(self, columns: str, facts: Mapping[str, Any]) -> str:
        if self.kind == "multiplicative":
            moved = sentence("technique.noise.factors", columns=columns, n=f"{self.spread:g}")
        else:
            name = "technique.noise.correlated" if self.correlated else "technique.noise"
            moved = sentence(name, columns=columns, n=f"{self.signal_to_noise:g}")
        return sentences(
            moved,
            sentence("technique.noise.limits", columns=", ".join(self.limits)) if self.limits else "",
            changed_words(facts),
            sentence("technique.noise.stay"),
        )

    def _factors(self, plain: Numbers, rng: np.random.Generator) -> Numbers:
        """Log-normal factors of mean 1; shape of ``plain``."""
        variance = np.log1p(self.spread**2)
        return rng.lognormal(-variance / 2, np.sqrt(variance), plain.shape)

    def _terms(self, plain: Numbers, rng: np.random.Generator) -> Numbers:
        """Normal terms of the stated covariance; shape of ``plain``."""
        known = np.maximum((~np.isnan(plain)).sum(axis=0), 1)
        centred = plain - np.nansum(plain, axis=0) / known
        spreads = np.sqrt(np.nansum(centred**2, axis=0) / known) / np.sqrt(self.signal_to_noise)
        terms = rng.standard_normal(plain.shape)
        if self.correlated and plain.shape[1] > 1:
            terms = terms @ _root(_correlations(centred))
        return np.asarray(terms * spreads)

    def _as_stated(self, before: Numbers, after: Numbers, step: float) -> bool:
        """True if the strength is as stated, by a chi-squared test of normal terms, or of logarithms of factors.

        Noise below the rounding of the column cannot be measured.
        """
        rounding = np.full(len(before), step**2 / 12)
        if self.kind == "additive":
            errors, wanted = after - before, float(before.var()) / self.signal_to_noise
        else:
            usable = (np.abs(before) > 10 * step) & (after * before > 0)
            wanted = float(np.log1p(self.spread**2))
            errors = np.log(after[usable] / before[usable]) + wanted / 2
            rounding = rounding[usable] / after[usable] ** 2
        share = float(rounding.mean()) / wanted if len(errors) >= _FEWEST else np.inf
        if share > 1:
            return True
        ratio, width = float((errors**2).mean()) / wanted, 2 / (9 * len(errors))
        return bool(abs(np.cbrt(ratio) - (1 - width)) < _SIGMAS * np.sqrt(width) + share)


def _correlations(centred: Numbers) -> Numbers:
    """Correlations of columns over records that have all values; constant columns are uncorrelated."""
    whole = centred[~np.isnan(centred).any(axis=1)]
    spreads = whole.std(axis=0) if len(whole) > 1 else np.zeros(centred.shape[1])
    scaled = np.divide(whole - whole.mean(axis=0), spreads, out=np.zeros_like(whole), where=spreads > 0)
    found: Numbers = scaled.T @ scaled / max(len(whole), 1)
    np.fill_diagonal(found, 1.0)
    return found


def _root(matrix: Numbers) -> Numbers:
    """Symmetric square root of a matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    root: Numbers = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root
