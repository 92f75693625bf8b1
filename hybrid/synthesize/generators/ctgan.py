"""CTGAN through sdv.

Source: Xu et al., Modeling Tabular Data using Conditional GAN, NeurIPS 2019, arXiv:1907.00503.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.synthesize.generators.sdv_network import SdvNetwork, SdvNetworkOptions


class CtganOptions(SdvNetworkOptions):
    """Options of ``ctgan``; defaults are sdv's."""

    batch_size: int = Field(default=500, ge=2)
    """Records per step; even, and a multiple of ``pac``. Smaller tables are drawn from with replacement."""
    generator_lr: float = Field(default=2e-4, gt=0)
    """Learning rate of the generator."""
    discriminator_lr: float = Field(default=2e-4, gt=0)
    """Learning rate of the discriminator."""
    pac: int = Field(default=10, ge=1)
    """Records that the discriminator judges together (Lin et al. 2018)."""
    generator_dim: tuple[int, ...] = (256, 256)
    """Widths of the generator's hidden layers."""
    discriminator_dim: tuple[int, ...] = (256, 256)
    """Widths of the discriminator's hidden layers."""
    discriminator_steps: int = Field(default=1, ge=1)
    """Discriminator updates per generator update."""

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.batch_size % 2 or self.batch_size % self.pac:
            raise ValueError(f"batch_size must be even and a multiple of pac ({self.pac})")
        return self


class Ctgan(SdvNetwork):
    """The generator ``ctgan``."""

    name: ClassVar[str] = "ctgan"
    title: ClassVar[str] = "conditional GAN with mode-specific normalization (Xu et al. 2019), through sdv"
    Options: ClassVar[type[Options]] = CtganOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "thesis": {"epochs": 300, "generator_lr": 1e-4, "discriminator_lr": 1e-4},
    }
    step: ClassVar[tuple[float, float]] = (0.030, 6.0e-5)
    losses: ClassVar[Mapping[str, str]] = {"loss": "Generator Loss", "discriminator_loss": "Discriminator Loss"}

    def classes(self) -> tuple[type, type]:
        """As :meth:`SdvNetwork.classes`."""
        from ctgan import CTGAN
        from sdv.single_table import CTGANSynthesizer

        return CTGANSynthesizer, CTGAN
