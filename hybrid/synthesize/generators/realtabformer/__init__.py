"""REaLTabFormer: a GPT-2 that writes records as sentences (Solatorio, Dupriez 2023, arXiv:2302.02041)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.realtabformer.options import RealtabformerOptions
from hybrid.synthesize.protocol import Encoded, Encoding, Feature, Model, SequenceModel, Sequences

OPERATIONS_PER_SECOND = 7e10
"""Of one core, in single precision."""


class Realtabformer:
    """The generator ``realtabformer``."""

    name: ClassVar[str] = "realtabformer"
    title: ClassVar[str] = "GPT-2 that writes records (Solatorio, Dupriez 2023), through realtabformer"
    licence: ClassVar[str] = "MIT (realtabformer), Apache-2.0 (transformers)"
    requires: ClassVar[tuple[str, ...]] = ("realtabformer", "transformers", "datasets", "torch")
    extra: ClassVar[str | None] = "realtabformer"
    environment: ClassVar[str | None] = "realtabformer"
    resumes: ClassVar[bool] = True
    Options: ClassVar[type[Options]] = RealtabformerOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "thesis": {"epochs": 50, "validation": 0.1},
        "small": {
            "n_layer": 2,
            "n_head": 4,
            "n_embd": 128,
            "batch_size": 64,
            "accumulation": 1,
            "lr": 1e-3,
            "epochs": 30,
        },
    }

    def encoding(self, options: RealtabformerOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Encoding with a flag for missing numbers."""
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: RealtabformerOptions) -> Cost:
        """Six operations per parameter and token, forth and back.

        Drawing a row costs what learning it once does.
        """
        tokens = sum(1 if feature.is_discrete else options.digits // 2 for feature in features)
        states = sum(feature.n_levels or 10 * options.digits for feature in features)
        parameters = 12 * options.n_layer * options.n_embd**2 + states * options.n_embd
        operations = n_rows * tokens * parameters
        seconds = operations * 6 * (options.epochs + 1) / OPERATIONS_PER_SECOND
        overhead = options.epochs * n_rows / options.batch_size * options.n_layer * 0.004
        return Cost(seconds + overhead, 2**30 + 16 * parameters + 80 * options.batch_size * tokens * options.n_embd)

    def learn(
        self,
        data: Encoded,
        options: RealtabformerOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,
    ) -> Model:
        """Train; see :class:`RealtabformerOptions`. Without ``unfinished`` checkpoints are temporary."""
        from hybrid.synthesize.generators.realtabformer.model import learn_model

        return learn_model(data, options, seed, progress, unfinished)

    def learn_sequences(
        self,
        data: Sequences,
        options: RealtabformerOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,
    ) -> SequenceModel:
        """Train on persons, then on rows; see :mod:`hybrid.synthesize.generators.realtabformer.sequences`."""
        from hybrid.synthesize.generators.realtabformer.sequences import learn_sequences

        return learn_sequences(data, options, seed, progress, unfinished)

    def load(self, folder: Path) -> Model:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        from hybrid.synthesize.generators.realtabformer.model import load_model

        return load_model(folder)

    def load_sequences(self, folder: Path) -> SequenceModel:
        """As :class:`hybrid.synthesize.protocol.SequenceGenerator`."""
        from hybrid.synthesize.generators.realtabformer.sequences import load_sequences

        return load_sequences(folder)
