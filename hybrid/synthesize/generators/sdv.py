"""Generators of sdv: CTGAN, TVAE and the Gaussian copula.

sdv gets columns ``c0``, ``c1``, ... of numbers and of codes as text, and never sees a name or a label. What it
prints and warns about is kept from the terminal; the global random states it needs are put back.

Sources: Xu et al., Modeling Tabular Data using Conditional GAN, NeurIPS 2019, arXiv:1907.00503 (CTGAN; TVAE is in its
section 4.4); Patki, Wedge, Veeramachaneni, The Synthetic Data Vault, DSAA 2016 (copula).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Cost, DrawnColumns, Encoded, Encoding, Feature, Generator, refuse_wide

MOST_MODES = 11
"""Inputs that one continuous column becomes at most: ten modes and the place within."""
SECONDS_OF_MODES = 4.5e-5
"""Of fitting one continuous column's mixture, per record."""
_FILE = "model.pkl"
_LICENCE = "BUSL-1.1 (sdv, {}): internal use is free, offering synthesis as a service is not"


@dataclass(frozen=True)
class SdvModel:
    """A fitted synthesizer of sdv. Private."""

    synthesizer: Any
    features: tuple[Feature, ...]

    def draw(self, n: int, seed: int) -> DrawnColumns:
        with quiet(), global_seed(seed):
            self.synthesizer._set_random_state(seed % 2**32)
            frame = self.synthesizer.sample(n)
        kinds = [np.int32 if feature.is_discrete else np.float64 for feature in self.features]
        return DrawnColumns([frame[f"c{at}"].astype(kind).to_numpy() for at, kind in enumerate(kinds)])

    def save(self, folder: Path) -> None:
        import cloudpickle

        (folder / _FILE).write_bytes(cloudpickle.dumps(self))


class Sdv(Generator):
    """Base of all generators of sdv."""

    extra = "ctgan"
    environment = "sdv"

    def encoding(self, options: Any) -> Encoding:  # noqa: ARG002  (the protocol)
        return Encoding(flag_missing=True)

    def fit(self, make: Callable[[Any], Any], data: Encoded) -> SdvModel:
        """Fit the synthesizer that ``make`` builds from sdv's metadata."""
        from sdv.metadata import Metadata

        sdtypes = ["categorical" if feature.is_discrete else "numerical" for feature in data.features]
        columns = {f"c{at}": {"sdtype": sdtype} for at, sdtype in enumerate(sdtypes)}
        frame = pd.DataFrame(
            {
                f"c{at}": values.astype(str).astype(object) if feature.is_discrete else values
                for at, (feature, values) in enumerate(zip(data.features, data.columns, strict=True))
            }
        )
        with quiet():
            synthesizer = make(Metadata.load_from_dict({"tables": {"table": {"columns": columns}}}))
            synthesizer.fit(frame)
        return SdvModel(synthesizer, tuple(data.features))

    def load(self, folder: Path) -> SdvModel:
        import cloudpickle

        model: SdvModel = cloudpickle.loads((folder / _FILE).read_bytes())
        return model


class SdvNetworkOptions(Options):
    """Options of every network of sdv; defaults are sdv's."""

    epochs: int = Field(default=300, ge=1)
    """Passes over the training records."""
    batch_size: int = Field(default=500, ge=2)
    """Records per step."""
    embedding_dim: int = Field(default=128, ge=1)
    """Length of the random vector a record is made from."""
    gpu: bool = True
    """Use a GPU when there is one."""
    max_inputs: int = Field(default=5000, ge=1)
    """Refuse tables that need more network inputs (states of all discrete columns, 11 per continuous one)."""


class SdvNetwork(Sdv, ABC):
    """A generator that is a network of sdv; a subclass says which one."""

    name: ClassVar[str]
    licence = _LICENCE.format("ctgan")
    requires = ("sdv", "ctgan", "torch")
    step: ClassVar[tuple[float, float]]
    """Seconds of one step of 500 records, and what every input of the network adds to it: Adult, one core."""
    losses: ClassVar[Mapping[str, str]]
    """Columns of sdv's loss table by the name they are reported under."""

    @abstractmethod
    def _classes(self) -> tuple[type, type]:
        """Class of sdv, and its worker class of ctgan."""

    def cost(self, features: Sequence[Feature], n_rows: int, options: SdvNetworkOptions) -> Cost:
        inputs = sum(feature.n_levels or MOST_MODES for feature in features)
        per_step = (self.step[0] + self.step[1] * inputs) * options.batch_size / 500
        modes = SECONDS_OF_MODES * n_rows * _n_continuous(features)
        # The encoded records, their copy for the sampler, and the columns as text.
        memory = 2**29 + n_rows * (2 * 8 * inputs + 64 * len(features))
        seconds = modes + options.epochs * max(1, n_rows // options.batch_size) * per_step
        return Cost(seconds, memory, inputs, options.max_inputs)

    def learn(
        self,
        data: Encoded,
        options: SdvNetworkOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (sdv has no checkpoints)
    ) -> SdvModel:
        """Train; the same seed repeats on a CPU with the same number of threads."""
        widths = {feature.name: feature.n_levels or MOST_MODES for feature in data.features}
        refuse_wide(self.name, widths, options.max_inputs)
        progress(f"normalize columns for {self.name}", 0, _n_continuous(data.features))
        tell = _telling(progress, f"fit {self.name}", options.epochs, self.losses)
        synthesizer = _with_progress(*self._classes(), seed, tell)
        settings = options.model_dump(exclude={"gpu", "max_inputs"})
        return self.fit(lambda metadata: synthesizer(metadata, **settings, enable_gpu=options.gpu), data)


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

    name = "ctgan"
    title = "conditional GAN with mode-specific normalization (Xu et al. 2019), through sdv"
    Options = CtganOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "thesis": {"epochs": 300, "generator_lr": 1e-4, "discriminator_lr": 1e-4},
    }
    step: ClassVar[tuple[float, float]] = (0.030, 6.0e-5)
    losses: ClassVar[Mapping[str, str]] = {"loss": "Generator Loss", "discriminator_loss": "Discriminator Loss"}

    def _classes(self) -> tuple[type, type]:
        from ctgan import CTGAN
        from sdv.single_table import CTGANSynthesizer

        return CTGANSynthesizer, CTGAN


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

    name = "tvae"
    title = "variational autoencoder for tables (Xu et al. 2019), through sdv"
    Options = TvaeOptions
    step: ClassVar[tuple[float, float]] = (0.006, 2.6e-5)
    losses: ClassVar[Mapping[str, str]] = {"loss": "Loss"}

    def _classes(self) -> tuple[type, type]:
        from ctgan import TVAE
        from sdv.single_table import TVAESynthesizer

        return TVAESynthesizer, TVAE


class CopulaOptions(Options):
    """Options of ``copula``."""

    distribution: Literal["beta", "norm", "truncnorm", "uniform", "gamma", "gaussian_kde"] = "beta"
    """What every continuous column's distribution is fitted with; gaussian_kde is slow."""


class Copula(Sdv):
    """The generator ``copula``."""

    name = "copula"
    title = "Gaussian copula (Patki et al. 2016), through sdv: only linear dependence, hardly copies"
    licence = _LICENCE.format("copulas")
    requires = ("sdv", "copulas")
    Options = CopulaOptions

    def cost(self, features: Sequence[Feature], n_rows: int, options: CopulaOptions) -> Cost:
        each = 1e-3 if options.distribution == "gaussian_kde" else 1.3e-5
        return Cost(1.0 + each * n_rows * len(features), 100 * n_rows * len(features))

    def learn(
        self,
        data: Encoded,
        options: CopulaOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it takes seconds)
    ) -> SdvModel:
        from sdv.single_table import GaussianCopulaSynthesizer

        progress("fit copula", 0, 1)
        with global_seed(seed):
            model = self.fit(
                lambda metadata: GaussianCopulaSynthesizer(metadata, default_distribution=options.distribution), data
            )
        progress("fit copula", 1, 1)
        return model


def _with_progress(synthesizer: type, network: type, seed: int, tell: Callable[[Any], None]) -> type:
    """Seeded subclass of an sdv synthesizer whose ctgan network reports its losses after every epoch.

    A DataFrame, the last row being of the epoch that just ended.
    """

    class EpochCallback(network):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "loss_values" and value is not None and len(value):
                tell(value)

    class Synthesizer(synthesizer):
        def _fit(self, processed_data: Any) -> None:
            discrete = [name for name in processed_data if not pd.api.types.is_float_dtype(processed_data[name])]
            self._model = EpochCallback(**self._model_kwargs)
            self._model.set_random_state(seed % 2**32)
            self._model.fit(processed_data, discrete_columns=discrete)
            # The plain classes can be written to a file; the telling ones hold on to who listens.
            self._model.__class__ = network
            self.__class__ = synthesizer

    return Synthesizer


def _telling(progress: Progress, step: str, epochs: int, columns: Mapping[str, str]) -> Callable[[Any], None]:
    """Turn a loss table's last row into a progress report; ``columns`` maps value names to its columns."""

    def tell(losses: Any) -> None:
        last = losses.iloc[-1]
        progress(step, int(last["Epoch"]) + 1, epochs, **{name: float(last[of]) for name, of in columns.items()})

    return tell


def _n_continuous(features: Sequence[Feature]) -> int:
    """Number of columns with a mixture of normal distributions, fitted before the first epoch."""
    return sum(not feature.is_discrete for feature in features)
