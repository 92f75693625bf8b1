"""TVAE through sdv (Xu et al., Modeling Tabular Data using Conditional GAN, NeurIPS 2019, section 4.4)."""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

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

_STEP = (0.006, 2.6e-5)
"""Seconds of one step of 500 records, and what every input of the network adds to it: Adult, one core."""


class TvaeOptions(Options):
    """Options of ``tvae``; defaults are sdv's."""

    epochs: int = Field(default=300, ge=1)
    """Passes over the training records."""
    batch_size: int = Field(default=500, ge=2)
    """Records per step."""
    embedding_dim: int = Field(default=128, ge=1)
    """Length of the vector a record is squeezed into."""
    compress_dims: tuple[int, ...] = (128, 128)
    """Widths of the encoder's hidden layers."""
    decompress_dims: tuple[int, ...] = (128, 128)
    """Widths of the decoder's hidden layers."""
    l2scale: float = Field(default=1e-5, ge=0)
    """Weight decay."""
    loss_factor: float = Field(default=2, gt=0)
    """Weight of the reconstruction error."""
    gpu: bool = True
    """Use a GPU when there is one."""
    max_inputs: int = Field(default=5000, ge=1)
    """Refuse tables that need more network inputs (states of all discrete columns, 11 per continuous one)."""


class Tvae:
    """The generator ``tvae``."""

    name: ClassVar[str] = "tvae"
    title: ClassVar[str] = "variational autoencoder for tables (Xu et al. 2019), through sdv"
    licence: ClassVar[str] = "BUSL-1.1 (sdv, ctgan): internal use is free, offering synthesis as a service is not"
    requires: ClassVar[tuple[str, ...]] = ("sdv", "torch")
    extra: ClassVar[str | None] = "ctgan"
    environment: ClassVar[str | None] = "sdv"
    resumes: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = TvaeOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}

    def encoding(self, options: TvaeOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Missing numbers are told by a flag."""
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: TvaeOptions) -> Cost:
        """Epochs of steps whose cost grows with the network's inputs, after the mixtures of continuous columns."""
        return network_cost(features, n_rows, options.epochs, options.batch_size, options.max_inputs, *_STEP)

    def learn(
        self,
        data: Encoded,
        options: TvaeOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (sdv has no checkpoints)
    ) -> SdvModel:
        """Train; see :class:`TvaeOptions`. The same seed repeats on a CPU with the same number of threads."""
        refuse_wide(data, options.max_inputs, self.name)
        from ctgan import TVAE
        from sdv.single_table import TVAESynthesizer

        progress("normalize columns for tvae", 0, n_continuous(data.features))
        tell = telling(progress, "fit tvae", options.epochs, {"loss": "Loss"})
        synthesizer = with_progress(TVAESynthesizer, TVAE, seed, tell)
        settings = options.model_dump(exclude={"gpu", "max_inputs"})
        return fit_sdv(lambda metadata: synthesizer(metadata, **settings, enable_gpu=options.gpu), data)

    def load(self, folder: Path) -> SdvModel:
        """As :class:`hybrid.synthesize.base.Generator`."""
        return load_sdv(folder)
