"""MST through dpmm.

Noisy marginals along a tree (McKenna, Miklau, Sheldon 2021, arXiv:2108.04978).

Every one-way marginal and those of a tree of pairs are measured with Gaussian noise, the tree is chosen with the
exponential mechanism, and rows are drawn from the graphical model that fits them best: (epsilon, delta)-differential
privacy for one record more or less of the table learned from, where its columns' domains are not taken from it
(``hybrid.pipeline.generator_budget.explain_generator``). The noise comes from OpenDP's secure source, which no seed
repeats.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.intervals import Intervals, intervals
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Encoded, Encoding, Feature

_INTERVALS = "intervals.npz"
_FEATURES = "features.json"


class MstOptions(Options):
    """Options of ``mst``."""

    epsilon: float = Field(default=1.0, gt=0)
    """Privacy budget of one training; every further training from the same records adds its own."""
    delta: float = Field(default=1e-6, gt=0, lt=1)
    """Probability that the bound epsilon may fail; to be well below 1 / number of records."""
    bins: int = Field(default=32, ge=2)
    """Intervals that a column of many numbers or dates is cut into, of about as many records each, with values that as
    many records share apart. They are taken from the records, so such a column voids the claim of differential
    privacy."""
    compress: bool = True
    """Join states whose noisy count is below three standard deviations of the noise."""
    iterations: int = Field(default=1000, ge=1)
    """Steps of mirror descent that fit the model to the noisy marginals."""
    max_cells: int = Field(default=5_000_000, ge=1)
    """Refuse tables where two columns together have more combinations of states than this."""


@dataclass(frozen=True)
class MstModel:
    """A fitted graphical model and the intervals of numeric columns, by position."""

    network: Any
    features: tuple[Feature, ...]
    cut: Mapping[int, Intervals]

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        rng = np.random.default_rng(seed)
        with quiet(), global_seed(seed):
            self.network.set_random_state(np.random.RandomState(seed % 2**32))
            frame = self.network.generate(n_records=n_rows)
        # Rows come grouped by their columns.
        codes = frame[[f"c{at}" for at in range(len(self.features))]].to_numpy()[rng.permutation(n_rows)]
        drawn: list[Array] = []
        for at in range(len(self.features)):
            column = codes[:, at].astype(np.int32)
            drawn.append(self.cut[at].draw(column, rng) if at in self.cut else column)
        return drawn

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        from pydantic import RootModel

        self.network.store(folder)
        np.savez(folder / _INTERVALS, **{str(at): np.stack([cut.lows, cut.highs]) for at, cut in self.cut.items()})
        (folder / _FEATURES).write_text(RootModel[tuple[Feature, ...]](self.features).model_dump_json(), "utf-8")


class Mst:
    """The generator ``mst``."""

    name: ClassVar[str] = "mst"
    title: ClassVar[str] = "noisy marginals along a tree (McKenna et al. 2021), through dpmm: differentially private"
    licence: ClassVar[str] = "Apache-2.0 (dpmm), MIT (OpenDP)"
    requires: ClassVar[tuple[str, ...]] = ("dpmm",)
    extra: ClassVar[str | None] = None
    environment: ClassVar[str | None] = "dpmm"
    resumes: ClassVar[bool] = False
    secure_noise: ClassVar[bool] = True
    Options: ClassVar[type[Options]] = MstOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}

    def encoding(self, options: MstOptions) -> Encoding:
        """Numbers with few values are categories.

        Domains that are listed beforehand are taken whole.
        """
        return Encoding(max_levels=options.bins, flag_missing=True, listed_domains=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: MstOptions) -> Cost:
        """Noise and marginals of all pairs, then steps of inference.

        Both per column; Adult, one core.
        """
        levels = [feature.n_levels or options.bins for feature in features]
        seconds = len(levels) * (2.2 + 1.3e-3 * options.iterations + 5e-6 * n_rows)
        return Cost(seconds, 250 * 2**20 + 16 * _widest_pair(levels))

    def learn(
        self,
        data: Encoded,
        options: MstOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (training again would spend the budget again)
    ) -> MstModel:
        """Measure and fit; see :class:`MstOptions`.

        The noise is fresh every time, whatever the seed.
        """
        _refuse_many_cells(data.features, options)
        from dpmm.models.mst import MSTGM

        progress("fit mst", 0, 1)
        cut = {at: intervals(data.columns[at], options.bins) for at, f in enumerate(data.features) if not f.is_discrete}
        columns = {f"c{at}": cut[at].codes(values) if at in cut else values for at, values in enumerate(data.columns)}
        sizes = [f.n_levels or len(cut[at]) for at, f in enumerate(data.features)]
        network = MSTGM(options.epsilon, options.delta, options.iterations, options.compress, n_jobs=1)
        with quiet(), global_seed(seed):
            network.set_random_state(np.random.RandomState(seed % 2**32))
            network.set_domain(dict(zip(columns, sizes, strict=True)))
            network.fit(pd.DataFrame(columns))
        progress("fit mst", 1, 1)
        return MstModel(network, tuple(data.features), cut)

    def load(self, folder: Path) -> MstModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        from dpmm.models.mst import MSTGM
        from pydantic import RootModel

        text = (folder / _FEATURES).read_text(encoding="utf-8")
        features = RootModel[tuple[Feature, ...]].model_validate_json(text).root
        arrays = np.load(folder / _INTERVALS)
        return MstModel(MSTGM.load(folder), features, {int(at): Intervals(*arrays[at]) for at in arrays.files})


def _widest_pair(levels: Sequence[int]) -> int:
    widest = sorted(levels, reverse=True)[:2]
    return int(np.prod(widest))


def _refuse_many_cells(features: Sequence[Feature], options: MstOptions) -> None:
    levels = {feature.name: feature.n_levels or options.bins for feature in features}
    cells = _widest_pair(list(levels.values()))
    if cells <= options.max_cells:
        return
    widest = sorted(levels, key=lambda name: -levels[name])[:2]
    listed = " and ".join(f"{name!r} ({levels[name]} states)" for name in widest)
    raise GeneratorError(
        f"mst would count {cells} combinations (limit {options.max_cells}) of {listed}",
        hint="generalize or drop those columns, raise max_cells if memory allows, or use cart",
    )
