"""CTGAN through sdv (Xu et al., Modeling Tabular Data using Conditional GAN, NeurIPS 2019, arXiv:1907.00503)."""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from hybrid.options import Options
from hybrid.progress import Progress
from hybrid.synthesize.base import Encoded, Encoding, Feature
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.sdv_model import (
    SdvModel,
    fit_sdv,
    load_sdv,
    n_continuous,
    network_cost,
    refuse_wide,
    telling,
    with_progress,
)

_STEP = (0.030, 6.0e-5)
"""Seconds of one step of 500 records, and what every input of the network adds to it: Adult, one core."""


class CtganOptions(Options):
    """Options of ``ctgan``; defaults are sdv's."""

    epochs: int = Field(default=300, ge=1)
    """Passes over the training records."""
    batch_size: int = Field(default=500, ge=2)
    """Records per step; even, and a multiple of ``pac``. Smaller tables are drawn from with replacement."""
    generator_lr: float = Field(default=2e-4, gt=0)
    """Learning rate of the generator."""
    discriminator_lr: float = Field(default=2e-4, gt=0)
    """Learning rate of the discriminator."""
    pac: int = Field(default=10, ge=1)
    """Records that the discriminator judges together (Lin et al. 2018)."""
    embedding_dim: int = Field(default=128, ge=1)
    """Length of the random vector a record is made from."""
    generator_dim: tuple[int, ...] = (256, 256)
    """Widths of the generator's hidden layers."""
    discriminator_dim: tuple[int, ...] = (256, 256)
    """Widths of the discriminator's hidden layers."""
    discriminator_steps: int = Field(default=1, ge=1)
    """Discriminator updates per generator update."""
    gpu: bool = True
    """Use a GPU when there is one."""
    max_inputs: int = Field(default=5000, ge=1)
    """Refuse tables that need more network inputs (states of all discrete columns, 11 per continuous one)."""

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.batch_size % 2 or self.batch_size % self.pac:
            raise ValueError(f"batch_size must be even and a multiple of pac ({self.pac})")
        return self


class Ctgan:
    """The generator ``ctgan``."""

    name: ClassVar[str] = "ctgan"
    title: ClassVar[str] = "conditional GAN with mode-specific normalization (Xu et al. 2019), through sdv"
    licence: ClassVar[str] = "BUSL-1.1 (sdv, ctgan): internal use is free, offering synthesis as a service is not"
    requires: ClassVar[tuple[str, ...]] = ("sdv", "torch")
    extra: ClassVar[str | None] = "ctgan"
    environment: ClassVar[str | None] = "sdv"
    resumes: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = CtganOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "thesis": {"epochs": 300, "generator_lr": 1e-4, "discriminator_lr": 1e-4},
    }

    def encoding(self, options: CtganOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Missing numbers are told by a flag, so that what else is missing goes with them."""
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: CtganOptions) -> Cost:
        """Epochs of steps whose cost grows with the network's inputs, after the mixtures of continuous columns."""
        return network_cost(features, n_rows, options.epochs, options.batch_size, options.max_inputs, *_STEP)

    def learn(
        self,
        data: Encoded,
        options: CtganOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (sdv has no checkpoints)
    ) -> SdvModel:
        """Train; see :class:`CtganOptions`. The same seed repeats on a CPU with the same number of threads."""
        refuse_wide(data, options.max_inputs, self.name)
        from ctgan import CTGAN
        from sdv.single_table import CTGANSynthesizer

        progress("normalize columns for ctgan", 0, n_continuous(data.features))
        losses = {"loss": "Generator Loss", "discriminator_loss": "Discriminator Loss"}
        tell = telling(progress, "fit ctgan", options.epochs, losses)
        synthesizer = with_progress(CTGANSynthesizer, CTGAN, seed, tell)
        settings = options.model_dump(exclude={"gpu", "max_inputs"})
        return fit_sdv(lambda metadata: synthesizer(metadata, **settings, enable_gpu=options.gpu), data)

    def load(self, folder: Path) -> SdvModel:
        """As :class:`hybrid.synthesize.base.Generator`."""
        return load_sdv(folder)
