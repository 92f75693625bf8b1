"""REaLTabFormer: a GPT-2 that writes records as sentences (Solatorio, Dupriez 2023, arXiv:2302.02041)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.protocol import Children, Cost, Encoded, Encoding, Feature, Generator, Model
from hybrid.synthesize.snapshots import refuse_unordered


class RealtabformerOptions(Options):
    """Options of ``realtabformer``; defaults are the library's, without its bootstrapped stop criterion."""

    epochs: int = Field(default=50, ge=1)
    """Passes over the training records at most."""
    batch_size: int = Field(default=8, ge=1)
    """Records at a time."""
    accumulation: int = Field(default=4, ge=1)
    """Batches whose gradients make one step."""
    lr: float = Field(default=5e-5, gt=0)
    """Learning rate of AdamW."""
    validation: float = Field(default=0.1, ge=0, lt=1)
    """Share of the records on which the loss is watched; 0: no early stopping."""
    patience: int = Field(default=5, ge=1)
    """Stop after this many evaluations (every 100 steps, or every epoch if that is sooner) without a lower loss."""
    n_layer: int = Field(default=6, ge=1)
    """Transformer blocks."""
    n_head: int = Field(default=12, ge=1)
    """Attention heads per block."""
    n_embd: int = Field(default=768, ge=1)
    """Width of the network; a multiple of ``n_head``."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of units dropped while training."""
    digits: int = Field(default=10, ge=1)
    """Characters of a number that are learned."""
    draw_batch: int = Field(default=512, ge=1)
    """Records written at a time when sampling."""
    overfit: float | None = Field(default=None, gt=1, le=10)
    """For research on memorization: no early stopping, but an end where the validation loss is this many times its
    minimum. null: the weights at the minimum."""
    snapshots: tuple[Annotated[float, Field(gt=1, le=10)], ...] | None = Field(default=None, min_length=1)
    """Levels of overfit to keep from one training, ascending; overfit is the one of them that is drawn from.
    Configurations that only differ in overfit share the training."""
    gpu: bool = True
    """Use a GPU when there is one."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.n_embd % self.n_head:
            raise ValueError(f"n_embd must be a multiple of n_head ({self.n_head})")
        if self.overfit is not None and not self.validation:
            raise ValueError("overfit needs a validation share above 0")
        if self.snapshots is not None:
            refuse_unordered(self.snapshots, self.overfit)
        return self


OPERATIONS_PER_SECOND = 7e10
"""Of one core, in single precision."""


class Realtabformer(Generator):
    """The generator ``realtabformer``."""

    name = "realtabformer"
    title = "GPT-2 that writes records (Solatorio, Dupriez 2023), through realtabformer"
    licence = "MIT (realtabformer), Apache-2.0 (transformers)"
    requires = ("realtabformer", "transformers", "datasets", "torch")
    extra = "realtabformer"
    environment = "realtabformer"
    resumes = True
    learns_parents = True
    Options = RealtabformerOptions
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
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: RealtabformerOptions) -> Cost:
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
        from hybrid.synthesize.generators.realtabformer.model import learn_children, learn_model

        about = options, seed, progress, unfinished
        return learn_children(data, *about) if isinstance(data, Children) else learn_model(data, *about)

    def load(self, folder: Path) -> Model:
        from hybrid.synthesize.generators.realtabformer.model import load

        return load(folder)
