"""Generators of synthcity 0.2.12, through its plugins: the networks ADS-GAN, DPGAN, PATE-GAN, RTVAE, and TabDDPM.

Source of the plugins: Qian, Cebere, van der Schaar 2023, arXiv:2301.07573.

What a plugin does its own way: a network holds back a fifth of the records (PATE-GAN: from its student) for a stopping
rule, which is not used here; the last weights are drawn from. TabDDPM learns a column with more than ten states as a
number, whatever it is, and takes batches in the order of the records. What is done otherwise here: the states of the
networks' columns stay states, where a plugin makes numbers of more than ten; rows are drawn once, where its
``generate`` throws repeated rows away, up to 500 times, and need not end on a table where rows repeat; states are
rounded to the nearest that exists; and the model that is kept has no training records and no discriminator.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.generators.tabddpm import TabddpmOptions
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Cost, DrawnColumns, Encoded, Encoding, Feature, Generator, refuse_wide

LEAST_ROWS = 20
"""Smaller tables are repeated up to this size: the plugins cut their records into parts."""
LEARNED = 0.8
"""Share of the records that a plugin learns from, the others being for its stopping rule."""
_FILE = "model.pt"
_TRAINING = (
    *("_train_idx", "_test_idx", "_train_mapping", "_dataset_conditional", "_categorical_value_to_row_"),
    *("_original_cond", "dataloader_sampler", "patience_metric", "discriminator", "encoder", "optimizer"),
    *("generator_extra_penalty_cbks", "extra_loss_cbks", "fake_labels_generator", "true_labels_generator"),
)
"""Attributes of samplers and networks that only training needs; several hold the records."""
STEP = "fit tabddpm (synthcity)"
_SECONDS_PER_STEP = 0.032
"""Of 1,024 Adult rows, 3 layers of 256, one core."""
_SECONDS_PER_1000_ROWS = 9.0
"""Of sampling with 1,000 timesteps."""


@dataclass(frozen=True)
class SynthcityModel:
    """A trained plugin without its training data. Private.

    ``encoder`` turns numbers that TabDDPM draws into columns; None: the network does it itself.
    """

    name: str
    network: Any
    features: tuple[Feature, ...]
    encoder: Any = None

    def draw(self, n: int, seed: int) -> DrawnColumns:
        with quiet(), global_seed(seed):
            if self.encoder is not None:
                frame = self.encoder.inverse_transform(self.network.generate(n))
            else:
                rows = np.asarray(self.network(n))
                if not np.isfinite(rows).all():
                    raise _no_number(self.name)
                frame = self.network.decode(pd.DataFrame(rows))
        columns = [_drawn_column(frame[f"c{at}"].to_numpy(), feature) for at, feature in enumerate(self.features)]
        return DrawnColumns(columns)

    def save(self, folder: Path) -> None:
        import cloudpickle
        import torch

        torch.save((self.name, self.network, self.features, self.encoder), folder / _FILE, pickle_module=cloudpickle)


class Synthcity(Generator):
    """Base of all generators of synthcity."""

    licence = "Apache-2.0 (synthcity)"
    requires = ("synthcity",)
    environment = "synthcity"

    def encoding(self, options: Any) -> Encoding:  # noqa: ARG002  (the protocol)
        return Encoding(flag_missing=True)

    def load(self, folder: Path) -> SynthcityModel:
        import torch
        from synthcity.plugins.generic import plugin_ddpm  # noqa: F401  (the classes of the file)

        device = _device_for(gpu=True)
        name, network, features, encoder = torch.load(folder / _FILE, map_location=device)
        for part in network.modules():
            if hasattr(part, "device"):
                part.device = device
        return SynthcityModel(name, network, features, encoder)


class NetworkOptions(Options):
    """Options of every network here."""

    epochs: int = Field(default=300, ge=1)
    """Passes over the training records; the plugin's stopping rule is not used."""
    batch_size: int = Field(default=200, ge=2)
    """Records per step."""
    lr: float = Field(default=1e-3, gt=0)
    """Learning rate of Adam."""
    layers: tuple[int, ...] = Field(default=(500, 500), min_length=1)
    """Widths of the hidden layers of both networks, all alike; random vectors are as long."""
    clusters: int = Field(default=5, ge=1)
    """Normal distributions, at most, that a column of numbers is a mixture of."""
    gpu: bool = True
    """Use a GPU when there is one."""
    max_inputs: int = Field(default=5000, ge=1)
    """Refuse tables that need more network inputs: states of all discrete columns, clusters + 1 per continuous one."""

    @model_validator(mode="after")
    def _one_width(self) -> Self:
        if len(set(self.layers)) > 1:
            raise ValueError(f"synthcity has layers of one width only, not {self.layers}")
        return self


class AdsganOptions(NetworkOptions):
    """Options of ``adsgan``; defaults are the plugin's, but for its 10,000 epochs."""

    identifiability: float = Field(default=0.1, ge=0)
    """Weight of the penalty on drawn rows near real ones; 0: a Wasserstein GAN with gradient penalty."""
    gradient_penalty: float = Field(default=10.0, ge=0)
    """Weight of the penalty on discriminators whose slope is not 1."""
    discriminator_steps: int = Field(default=1, ge=1)
    """Discriminator updates per generator update."""


class DpganOptions(NetworkOptions):
    """Options of ``dpgan``."""

    epsilon: float = Field(default=1.0, gt=0)
    """Budget that the noise on the discriminator's gradients is scaled to; no bound for the table: see the guide."""
    delta: float = Field(default=1e-5, gt=0, lt=1)
    """The delta that goes with epsilon."""
    max_grad_norm: float = Field(default=2.0, gt=0)
    """Length that the gradient of each record is cut to."""


class PateganOptions(NetworkOptions):
    """Options of ``pategan``; defaults are the plugin's."""

    epochs: int = Field(default=10, ge=2)
    """Passes over the training records per round."""
    rounds: int = Field(default=200, ge=1)
    """Rounds of teachers and student at most; the first one in which the plugin's own count reaches epsilon is the
    last."""
    epsilon: float = Field(default=1.0, gt=0)
    """Budget by the plugin's own count; no bound for the table: see the guide."""
    teachers: int = Field(default=10, ge=1)
    """Classifiers, each trained on a part of the records of its own."""
    lamda: float = Field(default=1e-3, gt=0)
    """Inverse scale of the Laplace noise on the teachers' votes."""


class RtvaeOptions(NetworkOptions):
    """Options of ``rtvae``; defaults are the plugin's, but for its 1,000 epochs."""

    layers: tuple[int, ...] = Field(default=(500, 500, 500), min_length=1)
    """Widths of the hidden layers of encoder and decoder, all alike; random vectors are as long."""
    clusters: int = Field(default=10, ge=1)
    """Normal distributions, at most, that a column of numbers is a mixture of."""
    beta: int = Field(default=2, ge=1)
    """Exponent of the beta divergence; larger: outliers count less."""


class SynthcityNetwork(Synthcity, ABC):
    """A generator that is a plugin of synthcity; a subclass says which one."""

    name: ClassVar[str]
    plugin: ClassVar[str]
    """Module and class, below ``synthcity.plugins``."""
    seconds_per_step: ClassVar[float] = 0.15
    """CPU seconds of a step of 200 Adult rows at the default layers."""

    @abstractmethod
    def _settings(self, options: Any, n_rows: int) -> dict[str, Any]:
        """Arguments of the plugin beside those that all have."""

    def cost(self, features: Sequence[Feature], n_rows: int, options: Any) -> Cost:
        """Cost of epochs of steps, which grow with the area of the layers; of a table about as wide as Adult."""
        inputs = sum(feature.n_levels or options.clusters + 1 for feature in features)
        width = options.layers[0]
        size = (len(options.layers) * width**2 + 2 * width * inputs) / (2 * 500**2 + 2 * 500 * 150)
        scale = 0.3 + 0.7 * size * options.batch_size / 200
        steps = self._n_epochs(options) * math.ceil(LEARNED * n_rows / options.batch_size)
        memory = 2**30 + n_rows * 8 * 4 * inputs
        return Cost(steps * self.seconds_per_step * scale, memory, inputs, options.max_inputs)

    def _n_epochs(self, options: Any) -> int:
        """Number of passes over the training records, at most."""
        return int(options.epochs)

    def learn(
        self,
        data: Encoded,
        options: Any,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it has no checkpoints)
    ) -> SynthcityModel:
        """Train; the same seed repeats on a CPU with the same number of threads."""
        widths = {feature.name: feature.n_levels or options.clusters + 1 for feature in data.features}
        refuse_wide(self.name, widths, options.max_inputs)
        from synthcity.plugins.core.dataloader import GenericDataLoader

        rows = np.arange(max(len(data), LEAST_ROWS)) % len(data)
        frame = pd.DataFrame({f"c{at}": values[rows].astype(np.float64) for at, values in enumerate(data.columns)})
        module, _, kind = self.plugin.partition(":")
        step, total = f"fit {self.name}", self._n_epochs(options)
        discrete = [f"c{at}" for at, feature in enumerate(data.features) if feature.is_discrete]
        with tempfile.TemporaryDirectory(prefix="synthcity-") as workspace, quiet(), global_seed(seed):
            plugin = getattr(import_module(f"synthcity.plugins.{module}"), kind)(
                lr=options.lr,
                batch_size=options.batch_size,
                random_state=seed % 2**32,
                device=_device_for(options.gpu),
                workspace=Path(workspace),
                **self._settings(options, len(rows)),
            )
            with _adapted(discrete, lambda done: progress(step, done, total)):
                self._fit(plugin, GenericDataLoader(frame))
        progress(step, total, total)
        return SynthcityModel(self.name, _drawable(plugin.model), tuple(data.features))

    def _fit(self, plugin: Any, loader: Any) -> None:
        try:
            plugin.fit(loader)
        except (RuntimeError, ValueError) as error:
            if "budget is too low" in str(error):
                raise GeneratorError(
                    f"{self.name}: no amount of noise keeps this epsilon for so few records and so many epochs",
                    hint="raise epsilon, or set fewer epochs or a smaller batch_size",
                ) from None
            if "NaN" in str(error):
                raise _no_number(self.name) from None
            raise


def _no_number(name: str) -> GeneratorError:
    return GeneratorError(
        f"{name}: its network computes no numbers any more",
        hint="set a smaller learning rate (synthesize.options.lr)",
    )


class _Gan(SynthcityNetwork):
    """A plugin of a generator and a discriminator."""

    def _settings(self, options: Any, n_rows: int) -> dict[str, Any]:
        sizes = {"n_layers_hidden": len(options.layers), "n_units_hidden": options.layers[0]}
        return {
            **{f"{side}_{key}": value for side in ("generator", "discriminator") for key, value in sizes.items()},
            "n_iter": options.epochs,
            "encoder_max_clusters": min(options.clusters, n_rows),
        }


class Adsgan(_Gan):
    """The generator ``adsgan``."""

    name = "adsgan"
    title = "Wasserstein GAN with a penalty on rows near real ones (ADS-GAN, Yoon et al. 2020), through synthcity"
    Options = AdsganOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "wgan_gp": {"identifiability": 0, "discriminator_steps": 5},
    }
    plugin: ClassVar[str] = "privacy.plugin_adsgan:AdsGANPlugin"

    def _settings(self, options: AdsganOptions, n_rows: int) -> dict[str, Any]:
        return {
            **super()._settings(options, n_rows),
            "lambda_identifiability_penalty": options.identifiability,
            "lambda_gradient_penalty": options.gradient_penalty,
            "discriminator_n_iter": options.discriminator_steps,
            "n_iter_print": options.epochs + 1,
        }


class Dpgan(_Gan):
    """The generator ``dpgan``."""

    name = "dpgan"
    title = "GAN with noisy gradients of its discriminator (Xie et al. 2018), through synthcity: no claim is made"
    bypasses_noise = True
    Options = DpganOptions
    plugin: ClassVar[str] = "privacy.plugin_dpgan:DPGANPlugin"

    def _settings(self, options: DpganOptions, n_rows: int) -> dict[str, Any]:
        return {
            **super()._settings(options, n_rows),
            "epsilon": options.epsilon,
            "delta": options.delta,
            "dp_max_grad_norm": options.max_grad_norm,
            "n_iter_print": options.epochs + 1,
        }


class Pategan(_Gan):
    """The generator ``pategan``."""

    name = "pategan"
    title = (
        "GAN taught by noisy votes of classifiers (PATE-GAN, Jordon et al. 2019), through synthcity: no claim is made"
    )
    bypasses_noise = True
    Options = PateganOptions
    plugin: ClassVar[str] = "privacy.plugin_pategan:PATEGANPlugin"

    def _settings(self, options: PateganOptions, n_rows: int) -> dict[str, Any]:
        return {
            **super()._settings(options, n_rows),
            "n_iter": options.rounds,
            "generator_n_iter": options.epochs,
            "n_teachers": min(options.teachers, n_rows),
            "epsilon": options.epsilon,
            "lamda": options.lamda,
        }

    def _n_epochs(self, options: PateganOptions) -> int:
        return options.rounds * options.epochs


class Rtvae(SynthcityNetwork):
    """The generator ``rtvae``."""

    name = "rtvae"
    title = "variational autoencoder with beta divergence (RTVAE, Akrami et al. 2022), through synthcity"
    Options = RtvaeOptions
    plugin: ClassVar[str] = "generic.plugin_rtvae:RTVAEPlugin"

    def _settings(self, options: RtvaeOptions, n_rows: int) -> dict[str, Any]:
        sizes = {"n_layers_hidden": len(options.layers), "n_units_hidden": options.layers[0]}
        return {
            **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in sizes.items()},
            "n_iter": options.epochs,
            "n_iter_min": options.epochs,
            "n_units_embedding": options.layers[0],
            "data_encoder_max_clusters": min(options.clusters, n_rows),
            "robust_divergence_beta": options.beta,
        }


@contextlib.contextmanager
def _adapted(discrete: Sequence[str], tell: Callable[[int], None]) -> Iterator[None]:
    """Replace parts of synthcity while a plugin trains: it takes the named columns for states, and reports epochs."""
    from synthcity.plugins.core.models import gan, tabular_encoder, vae

    done = 0

    def epochs(every: Iterable[int]) -> Iterator[int]:
        nonlocal done
        for one in every:
            yield one
            done += 1
            tell(done)

    changes: list[tuple[Any, str, Any]] = [
        (tabular_encoder, "find_cat_cols", lambda frame, limit: list(discrete)),  # noqa: ARG005  (its arguments)
        (gan, "tqdm", epochs),
        (vae, "tqdm", epochs),
    ]
    before = [getattr(module, name) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(changes, before, strict=True):
            setattr(module, name, value)


def _drawable(model: Any) -> Any:
    """The part of a trained plugin's model that draws rows.

    Without records, stopping rule, discriminator, optimizers, and functions that hold on to them.
    """
    table = model.model if type(model).__name__ == "PATEGAN" else model
    for holder in (table.dataloader_sampler, table.model, *table.model.modules()):
        for name in set(_TRAINING) & set(dir(holder)):
            setattr(holder, name, None)
    return table


class SynthcityDdpm(Synthcity):
    """The engine ``synthcity`` of the generator ``tabddpm``."""

    name = "tabddpm"
    title = "diffusion model for tables (Kotelnikov et al. 2023), through synthcity 0.2.12"
    Options = TabddpmOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {"engine": "synthcity"}}

    def cost(self, features: Sequence[Feature], n_rows: int, options: TabddpmOptions) -> Cost:
        batch = min(options.batch_size, n_rows)
        size = (len(options.layers) * options.layers[0] ** 2 + options.layers[0] * len(features)) / (3 * 256**2)
        steps = _epochs(options, n_rows) * math.ceil(n_rows / batch)
        training = steps * (0.006 + (_SECONDS_PER_STEP - 0.006) * size * batch / 1024)
        sampling = n_rows / 1000 * _SECONDS_PER_1000_ROWS * size * options.timesteps / 1000
        return Cost(training + sampling, 2**30 + 40 * n_rows * len(features) * 8)

    def learn(
        self,
        data: Encoded,
        options: TabddpmOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it has no checkpoints)
    ) -> SynthcityModel:
        from synthcity.plugins.core.dataloader import GenericDataLoader
        from synthcity.plugins.generic.plugin_ddpm import TabDDPMPlugin
        from synthcity.utils.callbacks import Callback

        epochs = _epochs(options, len(data))

        class EpochCallback(Callback):
            done = 0

            def on_fit_begin(self, model: Any) -> None: ...

            def on_fit_end(self, model: Any) -> None: ...

            def on_epoch_begin(self, model: Any) -> None: ...

            def on_epoch_end(self, model: Any) -> None:
                self.done += 1
                _tell(progress, self.done, epochs, float(model.loss_history[-1][-1]))

        frame = pd.DataFrame({f"c{at}": values.astype(np.float64) for at, values in enumerate(data.columns)})
        with tempfile.TemporaryDirectory(prefix="synthcity-") as workspace, quiet(), global_seed(seed):
            plugin = TabDDPMPlugin(
                n_iter=epochs,
                lr=options.lr,
                weight_decay=options.weight_decay,
                batch_size=options.batch_size,
                num_timesteps=options.timesteps,
                log_interval=math.ceil(len(data) / options.batch_size),
                model_params={
                    "n_layers_hidden": len(options.layers),
                    "n_units_hidden": options.layers[0],
                    "dropout": options.dropout,
                },
                device=_device_for(options.gpu),
                callbacks=(EpochCallback(),),
                random_state=seed % 2**32,
                workspace=Path(workspace),
            )
            plugin.fit(GenericDataLoader(frame))
        network = plugin.model
        # What holds on to the records, or to who listens, is not part of the model.
        network.callbacks, network.dataloader, network.optimizer = (), None, None
        return SynthcityModel(self.name, network, tuple(data.features), plugin.encoder)


def _epochs(options: TabddpmOptions, n_rows: int) -> int:
    if options.epochs is not None:
        return options.epochs
    return math.ceil(options.steps / math.ceil(n_rows / options.batch_size))


def _tell(progress: Progress, done: int, total: int, loss: float) -> None:
    if not loss < float("inf"):
        raise GeneratorError(
            f"tabddpm: the loss is no number any more after {done} of {total} epochs",
            hint="set a smaller learning rate (synthesize.options.lr)",
        )
    progress(STEP, done, total, loss=loss)


def _drawn_column(drawn: Array, feature: Feature) -> Array:
    """A drawn column as the codec reads it; states are rounded to the nearest that exists."""
    if feature.is_discrete:
        return np.clip(np.rint(drawn), 0, feature.n_levels - 1).astype(np.int32)
    return drawn.astype(np.float64)


def _device_for(gpu: bool) -> Any:
    import torch

    return torch.device("cuda" if gpu and torch.cuda.is_available() else "cpu")
