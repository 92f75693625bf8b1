"""TVAE through sdv.

Source: Xu et al., Modeling Tabular Data using Conditional GAN, NeurIPS 2019, section 4.4.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hybrid.base.options import Options
from hybrid.synthesize.generators.sdv_network import SdvNetwork, SdvNetworkOptions


class TvaeOptions(SdvNetworkOptions):
    """Options of ``tvae``; defaults are sdv's."""

    compress_dims: tuple[int, ...] = (128, 128)
    """Widths of the encoder's hidden layers."""
    decompress_dims: tuple[int, ...] = (128, 128)
    """Widths of the decoder's hidden layers."""
    l2scale: float = Field(default=1e-5, ge=0)
    """Weight decay."""
    loss_factor: float = Field(default=2, gt=0)
    """Weight of the reconstruction error."""


class Tvae(SdvNetwork):
    """The generator ``tvae``."""

    name: ClassVar[str] = "tvae"
    title: ClassVar[str] = "variational autoencoder for tables (Xu et al. 2019), through sdv"
    Options: ClassVar[type[Options]] = TvaeOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}
    step: ClassVar[tuple[float, float]] = (0.006, 2.6e-5)
    losses: ClassVar[Mapping[str, str]] = {"loss": "Loss"}

    def classes(self) -> tuple[type, type]:
        """As :meth:`SdvNetwork.classes`."""
        from ctgan import TVAE
        from sdv.single_table import TVAESynthesizer

        return TVAESynthesizer, TVAE
