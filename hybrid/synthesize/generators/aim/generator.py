"""Generators of noisy marginals: options, model, and training on one account.

All marginals of one column are measured with discrete Gaussian noise, then pairs of columns as the generator chooses.
Rows are drawn from the graphical model that fits all measurements best. Neighbouring tables differ in the presence of
one person with at most ``rows_per_person`` rows; what is spent adds up as rho of zCDP
(:mod:`hybrid.privacy.accounting`). The noise comes from the operating system, and no seed repeats it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from hybrid.synthesize.generators.aim.model import MarginalModel, Measurement
from hybrid.synthesize.generators.aim.rare import Joined, join_rare
from hybrid.synthesize.generators.aim.rounds import Counter
from hybrid.synthesize.generators.aim.rows import draw_rows
from hybrid.synthesize.generators.intervals import Intervals, intervals
from hybrid.synthesize.protocol import Encoded, Encoding, Feature

_FILE = "model.joblib"


class MarginalOptions(Options):
    """Options of generators of noisy marginals."""

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
    iterations: int = Field(default=1000, ge=1)
    """Steps of mirror descent of the last fit, at most."""


@dataclass(frozen=True)
class NoisyMarginals:
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
        rng = rng_for(seed, "marginals draw")
        drawn = draw_rows(self.model, n_rows, rng)
        states = [joined.split(codes, rng) for joined, codes in zip(self.joined, drawn, strict=True)]
        return [self.cut[at].draw(codes, rng) if at in self.cut else codes for at, codes in enumerate(states)]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        joblib.dump(self, folder / _FILE)


class MarginalGenerator(ABC):
    """Base of the generators of noisy marginals."""

    licence: ClassVar[str] = "Apache-2.0"
    requires: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str | None] = None
    environment: ClassVar[str | None] = None
    resumes: ClassVar[bool] = False
    secure_noise: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}

    def encoding(self, options: Any) -> Encoding:
        """Numbers with few values are categories; listed domains are taken whole."""
        return Encoding(max_levels=options.bins, flag_missing=True, listed_domains=True)

    def learn(
        self,
        data: Encoded,
        options: Any,
        seed: int,  # noqa: ARG002  (the noise is fresh every time)
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (training again would spend the budget again)
    ) -> NoisyMarginals:
        """Measure, choose and fit; see :class:`MarginalOptions`."""
        cut = {at: intervals(data.columns[at], options.bins) for at, f in enumerate(data.features) if not f.is_discrete}
        columns = [cut[at].codes(values) if at in cut else values for at, values in enumerate(data.columns)]
        sizes = [feature.n_levels or len(cut[at]) for at, feature in enumerate(data.features)]
        rho = options.rho if options.rho is not None else rho_for(options.epsilon, options.delta)
        counter = Counter(columns, sizes, rho, options.rows_per_person)
        each = self.first_share(len(sizes)) * rho / len(sizes)
        singles = [counter.measure((at,), each) for at in range(len(sizes))]
        joined = [
            join_rare(measured, missing=feature.missing)
            for measured, feature in zip(singles, data.features, strict=True)
        ]
        fewer = counter.recoded(joined)
        first = [states.of(measured) for states, measured in zip(joined, singles, strict=True)]
        first += self.declared_pairs(fewer, data.features, options)
        model = self.fit_pairs(fewer, first, options, progress)
        return NoisyMarginals(model, tuple(joined), cut, dict(fewer.spent))

    def load(self, folder: Path) -> NoisyMarginals:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        model: NoisyMarginals = joblib.load(folder / _FILE)
        return model

    @abstractmethod
    def first_share(self, n_columns: int) -> float:
        """Share of the budget for the marginals of one column."""

    def declared_pairs(
        self,
        counter: Counter,  # noqa: ARG002
        features: Sequence[Feature],  # noqa: ARG002
        options: Any,  # noqa: ARG002
    ) -> list[Measurement]:
        """Measure pairs that no record chooses; by default none."""
        return []

    @abstractmethod
    def fit_pairs(
        self, counter: Counter, first: Sequence[Measurement], options: Any, progress: Progress
    ) -> MarginalModel:
        """Choose and measure pairs for what is left, and fit the model."""
