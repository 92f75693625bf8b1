"""Main effects and two-way interactions of a plan's factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import Estimate, complete, estimates
from hybrid.base.arrays import Array
from hybrid.evaluation.display import Range, spans


@dataclass(frozen=True)
class LevelEffect:
    """Effect of one level of a factor."""

    level: str
    runs: int
    mean: Estimate | None
    """The metric at this level, the other factors as often at each of their levels as in the plan; None where the plan
    confounds this factor with others."""
    effect: Estimate | None
    """That mean minus the mean of all levels."""


@dataclass(frozen=True)
class InteractionCell:
    """Interaction of a pair of levels."""

    levels: tuple[str, str]
    effect: Estimate


@dataclass(frozen=True)
class MetricEffects:
    """The effects of all factors on one metric."""

    column: str
    configurations: int
    seeds: int
    """What the numbers are made from: runs with a value for every seed."""
    main: dict[str, list[LevelEffect]]
    interactions: dict[tuple[str, str], list[InteractionCell]]
    """Per pair of factors the cells that the plan distinguishes; empty where there are none."""


class EffectModel:
    """The least-squares model of a plan, as weights over its configurations.

    Additive in the factors; an interaction is added to it for the requested pair. Coded so that the effects of a
    factor's levels add up to zero (Yates 1934): each level counts the same, however often it was run. In a full
    factorial plan the weights are those of plain averages; in another the effects of the other factors are taken out.
    Factors with one level are left out.
    """

    def __init__(self, levels: pd.DataFrame) -> None:
        self.levels = levels[[name for name in levels if levels[name].nunique() > 1]]
        self._coded = {name: _sum_coded(self.levels[name]) for name in self.levels}
        self._mean = np.ones((len(levels), 1))
        self._main = np.hstack([self._mean, *(code for code, _ in self._coded.values())])
        self._solved = np.linalg.pinv(self._main)
        self._pairs: dict[tuple[str, str], tuple[list[tuple[str, str]], Array]] = {}

    def names(self, factor: str) -> list[str]:
        return self._coded[factor][1]

    def main(self, factor: str) -> tuple[Array, Array, Array]:
        """Weights of level means and effects, shapes (n_levels, n_configurations), and the estimable ones.

        ``known``: the plan separates the level from the other factors' effects.
        """
        at = 1 + sum(code.shape[1] for name, (code, _) in self._coded.items() if name in self._before(factor))
        width = len(self.names(factor)) - 1
        asked = np.zeros((width + 1, self._main.shape[1]))
        asked[:, at : at + width] = _zero_sum(width + 1)
        effects, estimable = _weights(asked, self._main, self._solved)
        asked += np.where(asked.any(axis=0), 0.0, self._main.mean(axis=0))
        means, also = _weights(asked, self._main, self._solved)
        return means, effects, estimable & also

    def interaction(self, first: str, second: str) -> tuple[list[tuple[str, str]], Array]:
        """Estimable pairs of levels, and the weights of their interactions."""
        if (first, second) not in self._pairs:
            self._pairs[first, second] = self._solve_pair(first, second)
        return self._pairs[first, second]

    def _solve_pair(self, first: str, second: str) -> tuple[list[tuple[str, str]], Array]:
        one, other = self._coded[first], self._coded[second]
        products = (one[0][:, :, None] * other[0][:, None, :]).reshape(len(self.levels), -1)
        design = np.hstack([self._main, products])
        cells = np.kron(_zero_sum(len(one[1])), _zero_sum(len(other[1])))
        asked = np.hstack([np.zeros((len(cells), self._main.shape[1])), cells])
        weights, estimable = _weights(asked, design, np.linalg.pinv(design))
        names = [(a, b) for a in one[1] for b in other[1]]
        return [name for name, known in zip(names, estimable, strict=True) if known], weights[estimable]

    def _before(self, factor: str) -> list[str]:
        names = list(self._coded)
        return names[: names.index(factor)]


def metric_effects(
    column: str,
    levels: pd.DataFrame,
    values: Array,
    models: dict[bytes, EffectModel],
    overlap: float = 0.0,
    within: Range = (None, None),
    metrics: int = 1,
) -> MetricEffects:
    """Main effects and two-way interactions on one metric, values of shape (n_configurations, n_seeds), NaN for none.

    ``models`` is filled here, for metrics with the same gaps; main effects of so many ``metrics`` are tested together.
    """
    rows, seeds = complete(values)
    whole = values[np.ix_(rows, seeds)]
    if not rows.any():
        return MetricEffects(column, 0, 0, {}, {})
    key = rows.tobytes()
    model = models.setdefault(key, EffectModel(levels[rows]))
    factors = list(model.levels)
    asked = {factor: model.main(factor) for factor in factors}
    family = metrics * sum(_free(len(estimable)) for _, _, estimable in asked.values())
    main = {factor: _levels(model, factor, whole, asked[factor], family, overlap, within) for factor in factors}
    pairs = {pair: model.interaction(*pair) for pair in combinations(factors, 2)}
    family = sum(_free(len(names)) for names, _ in pairs.values())
    cells = {
        pair: list(map(InteractionCell, names, estimates(weights, whole, family, overlap=overlap)))
        for pair, (names, weights) in pairs.items()
    }
    return MetricEffects(column, int(rows.sum()), int(seeds.sum()), main, cells)


def _free(n: int) -> int:
    """Number of values that differ in more than their sign."""
    return n if n > 2 else n // 2


def _levels(
    model: EffectModel,
    factor: str,
    values: Array,
    asked: tuple[Array, Array, Array],
    family: int,
    overlap: float,
    within: Range,
) -> list[LevelEffect]:
    means, effects, estimable = asked
    column = model.levels[factor]
    found = zip(
        estimates(means, values, overlap=overlap, within=within, logit=True),
        estimates(effects, values, family, overlap=overlap, within=spans(within)),
        strict=True,
    )
    return [
        LevelEffect(
            name,
            int((column == name).sum()) * values.shape[1],
            mean if estimable[at] else None,
            effect if estimable[at] else None,
        )
        for at, (name, (mean, effect)) in enumerate(zip(model.names(factor), found, strict=True))
    ]


def _sum_coded(column: pd.Series) -> tuple[Array, list[str]]:
    codes, names = pd.factorize(column)
    return _zero_sum(len(names))[codes], [str(name) for name in names]


def _zero_sum(n: int) -> Array:
    """Sum-to-zero codes of n levels, of which the last is minus the others; shape (n, n - 1)."""
    return np.vstack([np.eye(n - 1), -np.ones((1, n - 1))])


def _weights(asked: Array, design: Array, solved: Array) -> tuple[Array, Array]:
    """Least-squares weights of linear functions, and which of them are estimable."""
    weights = asked @ solved
    return weights, np.isclose(weights @ design, asked, atol=1e-8).all(axis=1)


def effects(
    columns: Mapping[str, Range], levels: pd.DataFrame, matrices: Mapping[str, Array], overlap: float = 0.0
) -> list[MetricEffects]:
    models: dict[bytes, EffectModel] = {}
    return [metric_effects(name, levels, matrices[name], models, overlap, within) for name, within in columns.items()]
