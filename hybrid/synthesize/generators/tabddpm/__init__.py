"""TabDDPM of our own on torch (Kotelnikov et al., ICML 2023, arXiv:2209.15421).

It departs from the paper: numbers with few distinct values are learned as categories, the others become normal
scores spread over ties, the network predicts velocities and clean states, categories diffuse to their
frequencies, records are drawn in 50 exact strides, balance each other and are held at shares.
``docs/concepts/tabddpm.md`` says what of this was measured. ``preset: paper`` takes the paper's choices where they are
options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hybrid.base.arrays import Array
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.tabddpm.options import CHUNK_CELLS, TabddpmOptions
from hybrid.synthesize.protocol import Encoded, Encoding, Feature, Model, SequenceModel, Sequences

SECONDS_PER_WEIGHT = 7e-11
"""Of one step, per record of the batch and weight of the network: Adult, one core."""
SECONDS_PER_STATE = 2e-8
"""The same per state of a discrete column, for the noise and the loss."""


class Tabddpm:
    """The generator ``tabddpm``."""

    name: ClassVar[str] = "tabddpm"
    title: ClassVar[str] = "diffusion model for tables (Kotelnikov et al. 2023), our own: minutes on a laptop"
    licence: ClassVar[str] = "Apache-2.0 (ours, on torch, BSD-3-Clause)"
    requires: ClassVar[tuple[str, ...]] = ("torch",)
    extra: ClassVar[str | None] = "tabddpm"
    environment: ClassVar[str | None] = "tabddpm"
    resumes: ClassVar[bool] = True
    Options: ClassVar[type[Options]] = TabddpmOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "quick": {"steps": 1500},
        "paper": {
            "max_levels": 0,
            "prior": "uniform",
            "likelihood": False,
            "balanced": False,
            "shares": "free",
            "sampling_steps": 1000,
            "batch_size": 4096,
            "lr": 1e-3,
            "steps": 30_000,
        },
        "thesis": {"epochs": 1000, "lr": 1e-4, "layers": (256, 256, 256), "dropout": 0.1},
    }

    def encoding(self, options: TabddpmOptions) -> Encoding:
        """Numbers with few distinct values come as categories, missing values as flags."""
        return Encoding(max_levels=options.max_levels, flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: TabddpmOptions) -> Cost:
        """Steps whose cost grows with the batch, the layers and the states.

        Strides of every drawn record.
        """
        inputs = sum(feature.n_levels for feature in features)
        batch = min(options.batch_size, n_rows)
        steps = options.steps if options.epochs is None else options.epochs * -(-n_rows // batch)
        weights = sum(width**2 for width in options.layers) + options.layers[-1] * (inputs + 1)
        training = steps * (0.004 + batch * (weights * SECONDS_PER_WEIGHT + inputs * SECONDS_PER_STATE))
        per_stride = weights * SECONDS_PER_WEIGHT / 2 + inputs * SECONDS_PER_STATE * 0.8
        sampling = n_rows * options.sampling_steps * per_stride
        drawn = min(n_rows * inputs, CHUNK_CELLS)
        memory = 2**29 + 40 * weights + 32 * (batch * inputs + drawn) + 16 * n_rows * len(features)
        return Cost(training + sampling, memory, inputs, options.max_inputs)

    def learn(
        self,
        data: Encoded,
        options: TabddpmOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,
    ) -> Model:
        """Train; see :class:`TabddpmOptions`.

        The same seed repeats on a CPU with the same number of threads.
        """
        from hybrid.synthesize.generators.tabddpm.model import learn_model

        return learn_model(data, options, seed, progress, unfinished)

    def log_odds(self, model: Model, people: Encoded, reference: Encoded, seed: int) -> Array:
        """Loss of the model on records; see :mod:`hybrid.synthesize.generators.tabddpm.inspect`."""
        from hybrid.synthesize.generators.tabddpm.inspect import log_odds
        from hybrid.synthesize.generators.tabddpm.model import TabddpmModel

        assert isinstance(model, TabddpmModel)
        return log_odds(model, people, reference, seed)

    def learn_sequences(
        self,
        data: Sequences,
        options: TabddpmOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,
    ) -> SequenceModel:
        """Train on persons, then on rows given persons; see :mod:`hybrid.synthesize.generators.tabddpm.sequences`."""
        from hybrid.synthesize.generators.tabddpm.sequences import learn_sequences

        return learn_sequences(data, options, seed, progress, unfinished)

    def load_sequences(self, folder: Path) -> SequenceModel:
        """As :class:`hybrid.synthesize.protocol.SequenceGenerator`."""
        from hybrid.synthesize.generators.tabddpm.sequences import load_sequences

        return load_sequences(folder)

    def load(self, folder: Path) -> Model:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        from hybrid.synthesize.generators.tabddpm.model import load_model

        return load_model(folder)
