"""AIM: noisy marginals, chosen where the model is worst.

McKenna, Mullins, Sheldon and Miklau (2022), AIM: An Adaptive and Iterative Mechanism for Differentially Private
Synthetic Data, arXiv:2201.12677, Algorithms 1 to 3, with all pairs of columns as the workload.

After the marginals of one column, and the pairs of declared targets with every other column, the pair of columns that
the graphical model knows least is chosen with the exponential mechanism and measured, round after round.
:mod:`hybrid.synthesize.generators.noisy_marginals` has what it shares with ``mst``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from pydantic import Field

from hybrid.base.arrays import Array
from hybrid.base.progress import Progress
from hybrid.privacy.accounting import variance_for
from hybrid.synthesize.generators.graphical_model import (
    Clique,
    MarginalModel,
    Measurement,
    all_pairs,
    estimate,
    tree_cells,
)
from hybrid.synthesize.generators.noisy_marginals import MarginalGenerator, NoisyCounts, NoisyMarginalOptions
from hybrid.synthesize.protocol import Cost, Feature

_MEASURED = 0.9
"""Share of a round's budget for the measurement; the rest chooses what is measured."""


@dataclass(frozen=True)
class AimLimits:
    """Limits of the work."""

    cells: int
    """Cells of all cliques together, at most."""
    iterations: int
    """Steps of the last fit; those between rounds take a tenth."""
    rounds: int
    """Rounds that the budget is planned for."""


def measure_targets(counter: NoisyCounts, targets: frozenset[int], share: float, cells: int) -> list[Measurement]:
    """Measure the pairs of targets with every other column.

    Which pairs these are is declared, not chosen by the records, so nothing is paid for a choice. They get a ``share``
    of the budget that is left, in equal parts; pairs beyond the cells of the model are left out.
    """
    wanted = [pair for pair in combinations(range(len(counter.sizes)), 2) if not targets.isdisjoint(pair)]
    kept: list[Clique] = []
    for pair in wanted if share else ():
        if tree_cells(counter.sizes, [*kept, pair]) <= cells:
            kept.append(pair)
    each = share * counter.left / max(len(kept), 1)
    return [counter.measure(pair, each) for pair in kept]


def aim(
    counter: NoisyCounts,
    first: Sequence[Measurement],
    effort: AimLimits,
    progress: Callable[[int, int], None],
) -> MarginalModel:
    """Choose and measure pairs until the budget is spent.

    ``first`` are measured already: marginals of one column and of targets. ``progress`` gets the share of the budget
    that is spent, in thousandths, and 1000.
    """
    measurements = list(first)
    between = max(effort.iterations // 10, 1)
    model = estimate(counter.sizes, measurements, between)
    start, round_rho = counter.left, counter.left / effort.rounds
    while counter.left > start * 1e-6:
        is_last = counter.left < 2 * round_rho
        rho = counter.left if is_last else round_rho
        variance = variance_for(_MEASURED * rho, counter.rows**2)
        pairs = all_pairs(model)
        allowed = effort.cells * (1 - counter.left / counter.budget)
        candidates = _candidates(counter, measurements, pairs, variance, effort.cells if is_last else allowed)
        if not candidates:
            break
        # Rounding noise up to a whole variance, and the choice's epsilon down, leaves a rest for the last round.
        columns = candidates[counter.worst(candidates, (1 - _MEASURED) * rho)][0]
        measurements.append(counter.measure(columns, _MEASURED * rho))
        new = estimate(counter.sizes, measurements, between, model.parameters)
        change = float(np.abs(new.marginal(columns) - pairs[columns]).sum())
        if change <= _expected_noise(variance, pairs[columns].size):
            round_rho *= 2
        model = new
        progress(int(1000 * (1 - counter.left / start)), 1000)
        if is_last:
            break
    return estimate(counter.sizes, measurements, effort.iterations, model.parameters)


def _candidates(
    counter: NoisyCounts,
    measurements: Sequence[Measurement],
    pairs: dict[Clique, Array],
    variance: int,
    allowed: float,
) -> list[tuple[Clique, Array, float]]:
    measured = [each.columns for each in measurements]
    known = set(measured)
    return [
        (pair, pairs[pair], _expected_noise(variance, pairs[pair].size))
        for pair in combinations(range(len(counter.sizes)), 2)
        if pair in known or tree_cells(counter.sizes, [*measured, pair]) <= allowed
    ]


def _expected_noise(variance: int, n_cells: int) -> float:
    """Expected sum of absolute Gaussian noise of so many counts."""
    return math.sqrt(2 * variance / math.pi) * n_cells


_ROUNDS_PER_COLUMN = 16
"""Rounds that the budget is planned for, as in the paper."""
_FIRST = 0.1
"""Share of the budget for the marginals of one column."""


class AimOptions(NoisyMarginalOptions):
    """Options of ``aim``."""

    target_share: float = Field(default=0.4, ge=0, lt=1)
    """Share of the budget after the marginals of one column that goes to the pairs of each declared target with every
    other column, in equal parts. The rest goes to pairs that are chosen. 0: all pairs are chosen."""
    cells: int = Field(default=100_000, ge=100)
    """Cells of the model, at most. More let it keep more pairs of columns; time and memory grow in proportion."""


class Aim(MarginalGenerator):
    """The generator ``aim``."""

    name = "aim"
    title = "noisy marginals chosen round by round (AIM, McKenna et al. 2022): differentially private"
    Options = AimOptions

    def cost(self, features: Sequence[Feature], n_rows: int, options: AimOptions) -> Cost:
        d = len(features)
        rounds = 2 * d
        seconds = (rounds / 10 + 1) * options.iterations * options.cells * 1e-7 + rounds * d * d * (
            1e-3 + 1e-8 * n_rows
        )
        return Cost(seconds, 200 * options.cells + 16 * n_rows * d)

    def first_share(self, n_columns: int) -> float:  # noqa: ARG002  (of any number)
        return _FIRST

    def declared_pairs(
        self, counter: NoisyCounts, features: Sequence[Feature], options: AimOptions
    ) -> list[Measurement]:
        targets = frozenset(at for at, feature in enumerate(features) if feature.target)
        return measure_targets(counter, targets, options.target_share, options.cells)

    def fit_pairs(
        self, counter: NoisyCounts, first: Sequence[Measurement], options: AimOptions, progress: Progress
    ) -> MarginalModel:
        effort = AimLimits(options.cells, options.iterations, _ROUNDS_PER_COLUMN * len(counter.sizes))
        return aim(counter, first, effort, lambda done, total: progress("fit aim", done, total))
