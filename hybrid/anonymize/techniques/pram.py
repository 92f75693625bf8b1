"""PRAM: categories replaced at random by a stated matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from hybrid.anonymize.techniques.protocol import Masked, MaskingTask, ValueTechnique
from hybrid.base.arrays import Codes, Counts, Numbers
from hybrid.base.errors import InfeasibleError, Problem
from hybrid.base.options import Options
from hybrid.base.sentence import sentence, sentences
from hybrid.table import DTYPES, Column, Kind

_FALSE_ALARM = 1e-9
"""Chance, at most, that the counts of a column drawn as stated are taken for an error (Bernstein's inequality)."""


class TransitionMatrix(Options):
    """Probabilities of one column, decided beforehand."""

    values: list[str | bool] = Field(min_length=2)
    """All categories that the column can have."""
    rows: list[list[float]]
    """Row i, column j: probability that category i becomes category j; each row sums to 1."""

    @model_validator(mode="after")
    def _stochastic(self) -> TransitionMatrix:
        n = len(self.values)
        if len(set(self.values)) < n:
            raise ValueError("values lists a category twice")
        if len(self.rows) != n or any(len(row) != n for row in self.rows):
            raise ValueError(f"rows is not {n} times {n}, as values has categories")
        if any(not 0 <= one <= 1 for row in self.rows for one in row):
            raise ValueError("rows has numbers that are no probabilities")
        if any(abs(math.fsum(row) - 1) > 1e-9 for row in self.rows):
            raise ValueError("a row does not sum to 1")
        if any(sum(row[at] > 0 for row in self.rows) == 1 for at in range(n)):
            raise ValueError("rows has a category that only one category becomes: who is seen with it, has that one")
        return self


class Pram(ValueTechnique):
    """Post-randomization of categories and booleans.

    Gouweleeuw, Kooiman, Willenborg and de Wolf 1998, Journal of Official Statistics 14(4), 463-478. Every value is
    replaced independently; a missing one stays missing.
    """

    name: Literal["pram"] = "pram"
    """Chooses this technique."""
    columns: tuple[str, ...] = ()
    """Columns to randomize, each by itself; none: all quasi-identifiers."""
    keep: float = Field(default=0.8, ge=0, lt=1)
    """Probability that a value stays; the others of its column are equally likely. For columns without a matrix."""
    matrices: dict[str, TransitionMatrix] = Field(default_factory=dict)
    """Stated probabilities of single columns."""
    invariant: bool = True
    """Whether expected counts are those of the records: a value is randomized and drawn back by Bayes' rule, so that
    fewer values stay than the matrix says, and the matrix in use depends on the records. false: the matrix as stated,
    which gives
    local differential privacy where the categories are stated, too."""

    random: ClassVar[bool] = True

    def problems(self, columns: Sequence[Column]) -> Iterator[Problem]:
        for column in columns:
            if column.kind.is_continuous:
                yield Problem(
                    f"pram: {column.name!r} has numbers or dates, and categories are randomized",
                    "use noise, rank_swapping or microaggregation for it",
                )
        for name in sorted(set(self.matrices) - {column.name for column in columns}):
            yield Problem(f"pram.matrices: {name!r} is no column of the step", "leave its matrix out")

    def mask(self, task: MaskingTask, rng: np.random.Generator) -> Masked:
        self._refuse(task)
        values, epsilons = {}, dict[str, float]()
        for name, stream in zip(task.columns, rng.spawn(len(task.columns)), strict=True):
            column, before = task.table.schema[name], task.table.frame[name]
            domain, stated = self._matrix(name, before)
            codes = pd.Index(domain).get_indexer(pd.Index(before.astype(object)))
            used = (
                invariant(stated, np.bincount(codes[codes >= 0], minlength=len(domain))) if self.invariant else stated
            )
            values[name] = _series(_drawn(codes, used, stream), domain, column, before)
            if not self.invariant and name in self.matrices and not (codes < 0).any():
                epsilons[name] = local_epsilon(stated)
        known = {name: math.ceil(one * 1e4) / 1e4 for name, one in epsilons.items() if math.isfinite(one)}
        return Masked(values, {"epsilon": known})

    def failures(self, task: MaskingTask, masked: Masked) -> list[str]:
        found: list[str] = []
        for name in task.columns:
            before, after = task.table.frame[name], masked.values[name]
            domain, stated = self._matrix(name, before)
            both = pd.crosstab(before.astype(object), after.astype(object)).reindex(
                index=domain, columns=domain, fill_value=0
            )
            counts = both.sum(axis=1).to_numpy()
            used = invariant(stated, counts) if self.invariant else stated
            expected, spread = counts @ used, np.sqrt(counts @ (used * (1 - used)))
            if (np.abs(both.sum(axis=0).to_numpy() - expected) > _allowed(spread) + 1e-6).any():
                found.append(sentence("broken.counts", column=name))
            if not (before.isna() == after.isna()).all() or both.to_numpy().sum() != before.notna().sum():
                found.append(sentence("broken.other_categories", column=name))
        return found

    def words(self, columns: str, facts: Mapping[str, Any]) -> str:
        delta = f"10^{math.log10(_FALSE_ALARM):.0f}"
        local = (
            sentence("technique.pram.local", column=name, epsilon=f"{epsilon:g}", delta=delta)
            for name, epsilon in (facts.get("epsilon") or {}).items()
        )
        replaced = sentence("technique.pram.invariant" if self.invariant else "technique.pram", columns=columns)
        return sentences(replaced, sentence("technique.pram.stay"), *local)

    def _matrix(self, name: str, values: pd.Series) -> tuple[list[Any], Numbers]:
        stated = self.matrices.get(name)
        if stated is not None:
            rows = np.array(stated.rows)
            return list(stated.values), rows / rows.sum(axis=1, keepdims=True)
        domain = sorted(values.dropna().unique().tolist())
        n = len(domain)
        away = (1 - self.keep) / max(n - 1, 1)
        return domain, np.where(np.eye(n, dtype=bool), 1.0 if n < 2 else self.keep, away)

    def _refuse(self, task: MaskingTask) -> None:
        problems = []
        for name, stated in self.matrices.items():
            there = task.table.frame[name].dropna().astype(object)
            unknown = there[~there.isin(stated.values)]
            if len(unknown):
                problems.append(
                    Problem(
                        f"pram.matrices: {unknown.nunique()} categories of {name!r} are not listed",
                        "list every category that the column can have",
                        values=", ".join(sorted(map(str, unknown.unique()))[:20]),
                    )
                )
        alone = [name for name in task.columns if name not in self.matrices and self.keep == 0]
        problems += [
            Problem(
                f"pram: {name!r} has two categories, and keep: 0 exchanges them, which anybody undoes",
                "use a larger keep, or a matrix",
            )
            for name in alone
            if task.table.frame[name].nunique() == 2
        ]
        if problems:
            raise InfeasibleError(problems)


def invariant(stated: Numbers, counts: Counts) -> Numbers:
    """Matrix R with counts R = counts, made from a stated one, P, whose rows sum to 1.

    R = P Q with Q[l, k] = P[k, l] counts[k] / sum over m of P[m, l] counts[m]: a value is randomized and then drawn
    back by Bayes' rule (Gouweleeuw et al. 1998, section 4).
    """
    joint = stated * counts[:, None]
    reached = joint.sum(axis=0)
    back = np.divide(joint, reached, out=np.zeros_like(joint), where=reached > 0).T
    made: Numbers = stated @ back
    lost = 1 - made.sum(axis=1)
    made[np.diag_indices_from(made)] += np.where(counts > 0, 0.0, lost)
    return made


def local_epsilon(matrix: Numbers) -> float:
    """Epsilon of local differential privacy: the largest ln(P[i, j] / P[m, j]).

    Infinite where a category can come from some categories and not from others (randomized response: Warner 1965;
    Kasiviswanathan et al. 2011, doi 10.1137/090756090).
    """
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    possible = high > 0
    if (low[possible] == 0).any():
        return math.inf
    return float(np.log(high[possible] / low[possible]).max(initial=0.0))


def _allowed(spread: Numbers) -> Numbers:
    """Distances of counts from the expected ones that chance explains, but for :data:`_FALSE_ALARM`.

    Bernstein's inequality for sums of independent draws with the given standard deviations: s = L/3 + sqrt(L^2/9 + 2 L
    v), with L = ln(2 m / chance) for m categories, which hold together, and the variance v (Boucheron, Lugosi and
    Massart 2013, section 2.8).
    """
    log = math.log(2 * max(len(spread), 1) / _FALSE_ALARM)
    allowed: Numbers = log / 3 + np.sqrt(log**2 / 9 + 2 * log * spread**2)
    return allowed


def _drawn(codes: Codes, matrix: Numbers, rng: np.random.Generator) -> Codes:
    """Code of each record after the draw; negative codes stay."""
    limits = np.cumsum(matrix, axis=1)
    limits[:, len(matrix) - 1 :] = np.inf
    uniform = rng.random(len(codes))
    drawn: Codes = codes.copy()
    for code in range(len(matrix)):
        rows = np.flatnonzero(codes == code)
        drawn[rows] = np.searchsorted(limits[code], uniform[rows], side="right")
    return drawn


def _series(codes: Codes, domain: list[Any], column: Column, before: pd.Series) -> pd.Series:
    values = pd.Series(np.array([*domain, None], dtype=object)[codes], dtype=object)
    if column.kind is Kind.BOOLEAN:
        return values.astype(DTYPES[Kind.BOOLEAN])
    known = list(before.dtype.categories)
    return pd.Series(pd.Categorical(values, categories=[*known, *(one for one in domain if one not in known)]))
