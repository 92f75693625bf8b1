"""AIM: noisy marginals, chosen where the model is worst.

McKenna, Mullins, Sheldon and Miklau (2022), arXiv:2201.12677.

All marginals of one column are measured with discrete Gaussian noise; then, round after round, the pair of columns that
the graphical model knows least is chosen with the exponential mechanism and measured. Rows are drawn from the model
that fits all measurements best. Neighbouring tables differ in the presence of one person with at most
``rows_per_person`` rows; what is spent adds up as rho of zCDP (:mod:`hybrid.privacy.accounting`). The noise comes from
the operating system, and no seed repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import joblib
from pydantic import Field

from hybrid.base.arrays import Array
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.privacy.accounting import rho_for
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.aim.model import MarginalModel
from hybrid.synthesize.generators.aim.rare import Joined, join_rare
from hybrid.synthesize.generators.aim.rounds import Counter, Effort, aim
from hybrid.synthesize.generators.aim.rows import draw_rows
from hybrid.synthesize.generators.intervals import Intervals, intervals
from hybrid.synthesize.protocol import Encoded, Encoding, Feature

_FILE = "model.joblib"
_ROUNDS_PER_COLUMN = 16
"""Rounds that the budget is planned for, as in the paper."""
_FIRST = 0.1
"""Share of the budget for the marginals of one column."""


class AimOptions(Options):
    """Options of ``aim``."""

    epsilon: float = Field(default=1.0, gt=0)
    """Privacy budget of one training; every further training from the same records adds its own."""
    delta: float = Field(default=1e-6, gt=0, lt=1)
    """Probability that the bound epsilon may fail; to be well below 1 / number of people."""
    rho: float | None = Field(default=None, gt=0)
    """Budget as rho of zero-concentrated differential privacy, in place of epsilon and delta. null: what they allow."""
    rows_per_person: int = Field(default=1, ge=1)
    """Rows that one person may have, at most; the noise grows in proportion."""
    bins: int = Field(default=32, ge=2)
    """Intervals that a column of many numbers or dates is cut into, of about as many records each, with values that as
    many records share apart. They are taken from the records, so such a column voids the claim of differential
    privacy."""
    cells: int = Field(default=100_000, ge=100)
    """Cells of the model, at most. More let it keep more pairs of columns; time and memory grow in proportion."""
    iterations: int = Field(default=1000, ge=1)
    """Steps of mirror descent of the last fit, at most."""


@dataclass(frozen=True)
class AimModel:
    """A fitted graphical model with the joined states of each column.

    Parameters
    ----------
    model : MarginalModel
        Of the joined states.
    joined : tuple of Joined
        For each column.
    cut : mapping of int to Intervals
        Of continuous columns, by position.
    spent : mapping of str to float
        rho of each part.
    """

    model: MarginalModel
    joined: tuple[Joined, ...]
    cut: Mapping[int, Intervals]
    spent: Mapping[str, float]

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        rng = rng_for(seed, "aim draw")
        drawn = draw_rows(self.model, n_rows, rng)
        states = [joined.split(codes, rng) for joined, codes in zip(self.joined, drawn, strict=True)]
        return [self.cut[at].draw(codes, rng) if at in self.cut else codes for at, codes in enumerate(states)]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        joblib.dump(self, folder / _FILE)


class Aim:
    """The generator ``aim``."""

    name: ClassVar[str] = "aim"
    title: ClassVar[str] = "noisy marginals chosen round by round (AIM, McKenna et al. 2022): differentially private"
    licence: ClassVar[str] = "Apache-2.0"
    requires: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str | None] = None
    environment: ClassVar[str | None] = None
    resumes: ClassVar[bool] = False
    secure_noise: ClassVar[bool] = True
    Options: ClassVar[type[Options]] = AimOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}

    def encoding(self, options: AimOptions) -> Encoding:
        """Numbers with few values are categories; listed domains are taken whole."""
        return Encoding(max_levels=options.bins, flag_missing=True, listed_domains=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: AimOptions) -> Cost:
        """Cost of the fits between rounds and of the last one."""
        d = len(features)
        rounds = 2 * d
        seconds = (rounds / 10 + 1) * options.iterations * options.cells * 1e-7 + rounds * d * d * (
            1e-3 + 1e-8 * n_rows
        )
        return Cost(seconds, 200 * options.cells + 16 * n_rows * d)

    def learn(
        self,
        data: Encoded,
        options: AimOptions,
        seed: int,  # noqa: ARG002  (the noise is fresh every time)
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (training again would spend the budget again)
    ) -> AimModel:
        """Measure, choose and fit; see :class:`AimOptions`."""
        cut = {at: intervals(data.columns[at], options.bins) for at, f in enumerate(data.features) if not f.is_discrete}
        columns = [cut[at].codes(values) if at in cut else values for at, values in enumerate(data.columns)]
        sizes = [feature.n_levels or len(cut[at]) for at, feature in enumerate(data.features)]
        rho = options.rho if options.rho is not None else rho_for(options.epsilon, options.delta)
        counter = Counter(columns, sizes, rho, options.rows_per_person)
        each = _FIRST * rho / len(sizes)
        singles = [counter.measure((at,), each) for at in range(len(sizes))]
        joined = [
            join_rare(measured, missing=feature.missing)
            for measured, feature in zip(singles, data.features, strict=True)
        ]
        fewer = counter.recoded(joined)
        effort = Effort(options.cells, options.iterations, _ROUNDS_PER_COLUMN * len(sizes))
        first = [states.of(measured) for states, measured in zip(joined, singles, strict=True)]
        model = aim(fewer, first, effort, lambda done, total: progress("fit aim", done, total))
        return AimModel(model, tuple(joined), cut, dict(fewer.spent))

    def load(self, folder: Path) -> AimModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        model: AimModel = joblib.load(folder / _FILE)
        return model
