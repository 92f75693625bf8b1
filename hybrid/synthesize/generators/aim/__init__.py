"""AIM: noisy marginals, chosen where the model is worst.

McKenna, Mullins, Sheldon and Miklau (2022), arXiv:2201.12677.

After the marginals of one column, and the pairs of declared targets with every other column, the pair of columns that
the graphical model knows least is chosen with the exponential mechanism and measured, round after round.
:mod:`hybrid.synthesize.generators.aim.generator` has what it shares with ``mst``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.aim.generator import MarginalGenerator, MarginalOptions
from hybrid.synthesize.generators.aim.model import MarginalModel, Measurement
from hybrid.synthesize.generators.aim.rounds import Counter, Effort, aim, measure_targets
from hybrid.synthesize.protocol import Feature

_ROUNDS_PER_COLUMN = 16
"""Rounds that the budget is planned for, as in the paper."""
_FIRST = 0.1
"""Share of the budget for the marginals of one column."""


class AimOptions(MarginalOptions):
    """Options of ``aim``."""

    target_share: float = Field(default=0.4, ge=0, lt=1)
    """Share of the budget after the marginals of one column that goes to the pairs of each declared target with every
    other column, in equal parts. The rest goes to pairs that are chosen. 0: all pairs are chosen."""
    cells: int = Field(default=100_000, ge=100)
    """Cells of the model, at most. More let it keep more pairs of columns; time and memory grow in proportion."""


class Aim(MarginalGenerator):
    """The generator ``aim``."""

    name: ClassVar[str] = "aim"
    title: ClassVar[str] = "noisy marginals chosen round by round (AIM, McKenna et al. 2022): differentially private"
    Options: ClassVar[type[Options]] = AimOptions

    def cost(self, features: Sequence[Feature], n_rows: int, options: AimOptions) -> Cost:
        """Cost of the fits between rounds and of the last one."""
        d = len(features)
        rounds = 2 * d
        seconds = (rounds / 10 + 1) * options.iterations * options.cells * 1e-7 + rounds * d * d * (
            1e-3 + 1e-8 * n_rows
        )
        return Cost(seconds, 200 * options.cells + 16 * n_rows * d)

    def first_share(self, n_columns: int) -> float:  # noqa: ARG002  (of any number)
        """As :class:`MarginalGenerator`."""
        return _FIRST

    def declared_pairs(self, counter: Counter, features: Sequence[Feature], options: AimOptions) -> list[Measurement]:
        """As :class:`MarginalGenerator`: the pairs of declared targets."""
        targets = frozenset(at for at, feature in enumerate(features) if feature.target)
        return measure_targets(counter, targets, options.target_share, options.cells)

    def fit_pairs(
        self, counter: Counter, first: Sequence[Measurement], options: AimOptions, progress: Progress
    ) -> MarginalModel:
        """As :class:`MarginalGenerator`."""
        effort = Effort(options.cells, options.iterations, _ROUNDS_PER_COLUMN * len(counter.sizes))
        return aim(counter, first, effort, lambda done, total: progress("fit aim", done, total))
