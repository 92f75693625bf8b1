"""Bayesian networks: every column drawn given a few others.

Without a budget the network of Zhang et al. 2017 before noise ("BayNet" in Meeus et al., Achilles' Heels, 2023), with
one PrivBayes itself. One record *replaced* makes a neighbouring table, and the number of records counts as public. The
noise repeats with the seed and the bounds of numbers are taken from the records: no differential privacy is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
from pydantic import Field

from hybrid.base.arrays import Array
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.baynet.structure import Codes, Node, learn_structure
from hybrid.synthesize.generators.baynet.tables import draw_rows, learn_tables
from hybrid.synthesize.protocol import Encoded, Encoding, Feature

_FILE = "network.joblib"


class BaynetOptions(Options):
    """Options of ``baynet``."""

    degree: int = Field(default=2, ge=1, le=4)
    """Columns that a column is drawn from, at most; the time grows with the number of columns to this power."""
    bins: int = Field(default=20, ge=2)
    """Intervals of equal width that a column of more different numbers or dates is cut into."""
    max_cells: int = Field(default=1_000_000, ge=2)
    """Combinations of a column and those it is drawn from, at most; it gets fewer columns where they are more."""


class PrivbayesOptions(BaynetOptions):
    """Options of ``privbayes``."""

    epsilon: float = Field(default=1.0, gt=0)
    """Budget of one training, for one replaced record."""
    split: float = Field(default=0.5, gt=0, lt=1)
    """Share of the budget that chooses the structure; the rest goes into the tables."""


@dataclass(frozen=True)
class BaynetModel:
    """A network with its tables.

    ``edges``: bounds of the intervals of each continuous column, by position, shape (n_bins + 1,).
    """

    sizes: tuple[int, ...]
    nodes: tuple[Node, ...]
    tables: tuple[Array, ...]
    edges: Mapping[int, Array]

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """Draw column after column; numbers evenly within their interval."""
        rng = rng_for(seed, "baynet draw")
        drawn = draw_rows(self.sizes, self.nodes, self.tables, n_rows, rng)
        for at, edges in self.edges.items():
            drawn[at] = rng.uniform(edges[drawn[at]], edges[drawn[at] + 1])
        return drawn

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        joblib.dump(self, folder / _FILE)


class Baynet:
    """The generator ``baynet``."""

    name: ClassVar[str] = "baynet"
    title: ClassVar[str] = "Bayesian network (Zhang et al. 2017) without noise: fast, coarse numbers"
    licence: ClassVar[str] = "Apache-2.0"
    requires: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str | None] = None
    environment: ClassVar[str | None] = None
    resumes: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = BaynetOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}, "meeus": {"degree": 1, "bins": 10}}

    def encoding(self, options: BaynetOptions) -> Encoding:
        """Numbers with few values are categories; listed domains are taken whole."""
        return Encoding(max_levels=options.bins, flag_missing=True, listed_domains=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: BaynetOptions) -> Cost:
        """One count of the records per column and set of parents."""
        d = len(features)
        sets = sum(math.comb(d, number + 1) * (number + 1) for number in range(1, options.degree + 1))
        return Cost(0.02 + sets * (2e-5 + 6e-9 * n_rows), 24 * n_rows * d + 16 * options.max_cells)

    def learn(
        self,
        data: Encoded,
        options: BaynetOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it takes seconds)
    ) -> BaynetModel:
        """Search the structure, then count; see :class:`BaynetOptions`."""
        edges = {at: _edges(data.columns[at], options.bins) for at, f in enumerate(data.features) if not f.is_discrete}
        columns = [_coded(values, edges.get(at)) for at, values in enumerate(data.columns)]
        sizes = tuple(f.n_levels or len(edges[at]) - 1 for at, f in enumerate(data.features))
        codes, (structure, tables) = Codes(columns, sizes), self._budget(options)
        progress("fit baynet", 0, len(sizes))
        nodes = learn_structure(
            codes,
            options.degree,
            options.max_cells,
            rng_for(seed, "baynet structure"),
            structure,
            lambda done: progress("fit baynet", done, len(sizes)),
        )
        return BaynetModel(sizes, nodes, learn_tables(codes, nodes, rng_for(seed, "baynet noise"), tables), edges)

    def load(self, folder: Path) -> BaynetModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        model: BaynetModel = joblib.load(folder / _FILE)
        return model

    def _budget(self, options: BaynetOptions) -> tuple[float, float]:  # noqa: ARG002  (what privbayes has)
        """Budgets of structure and tables."""
        return math.inf, math.inf


class Privbayes(Baynet):
    """The generator ``privbayes``."""

    name: ClassVar[str] = "privbayes"
    title: ClassVar[str] = "Bayesian network with noise (PrivBayes, Zhang et al. 2017): for research, no claim is made"
    secure_noise: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = PrivbayesOptions

    def _budget(self, options: BaynetOptions) -> tuple[float, float]:
        assert isinstance(options, PrivbayesOptions)
        return options.split * options.epsilon, (1 - options.split) * options.epsilon


def _edges(values: Array, bins: int) -> Array:
    """Bounds of intervals of equal width over the range of the values."""
    low, high = float(values.min()), float(values.max())
    edges: Array = np.linspace(low, high if high > low else low + 1, bins + 1)
    return edges


def _coded(values: Array, edges: Array | None) -> Array:
    if edges is None:
        return values
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int32)
