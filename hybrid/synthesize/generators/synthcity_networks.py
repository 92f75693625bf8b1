"""Networks of synthcity 0.2.12 through its plugins: ADS-GAN, DPGAN, PATE-GAN and RTVAE.

Source of the plugins: Qian, Cebere, van der Schaar 2023, arXiv:2301.07573.

What a plugin does its own way: it holds back a fifth of the records (PATE-GAN: from its student) for a stopping rule,
which is not used here; the last weights are drawn from. What is done otherwise here: a column's states stay states,
where a plugin makes numbers of more than ten; rows are drawn once, where its ``generate`` throws repeated rows away;
and the model that is kept has no training records and no discriminator.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import contextlib
import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost, refuse_wide
from hybrid.synthesize.generators.synthcity_ddpm import device_for, drawn_column
from hybrid.synthesize.generators.synthcity_options import (
    AdsganOptions,
    DpganOptions,
    NetworkOptions,
    PateganOptions,
    RtvaeOptions,
)
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Encoded, Encoding, Feature

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


@dataclass(frozen=True)
class NetworkModel:
    """A trained network with its encoder, without its training data. Private."""

    name: str
    network: Any
    features: tuple[Feature, ...]

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        with quiet(), global_seed(seed):
            rows = np.asarray(self.network(n_rows))
            if not np.isfinite(rows).all():
                raise _no_number(self.name)
            frame = self.network.decode(pd.DataFrame(rows))
        return [drawn_column(frame[f"c{at}"].to_numpy(), feature) for at, feature in enumerate(self.features)]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        import cloudpickle
        import torch

        torch.save((self.name, self.network, self.features), folder / _FILE, pickle_module=cloudpickle)


class SynthcityNetwork(ABC):
    """A generator that is a plugin of synthcity.

    A subclass says which one.
    """

    name: ClassVar[str]
    licence: ClassVar[str] = "Apache-2.0 (synthcity)"
    requires: ClassVar[tuple[str, ...]] = ("synthcity",)
    extra: ClassVar[str | None] = None
    environment: ClassVar[str | None] = "synthcity"
    resumes: ClassVar[bool] = False
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}
    plugin: ClassVar[str]
    """Module and class, below ``synthcity.plugins``."""
    seconds_per_step: ClassVar[float] = 0.15
    """CPU seconds of a step of 200 Adult rows at the default layers."""

    @abstractmethod
    def settings(self, options: Any, n_rows: int) -> dict[str, Any]:
        """Arguments of the plugin beside those that all have."""

    def encoding(self, options: NetworkOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Encoding with a flag for missing numbers.

        Other missing values are a state.
        """
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: Any) -> Cost:
        """Cost: epochs of steps, which grow with the area of the layers.

        Of a table about as wide as Adult.
        """
        inputs = sum(feature.n_levels or options.clusters + 1 for feature in features)
        width = options.layers[0]
        size = (len(options.layers) * width**2 + 2 * width * inputs) / (2 * 500**2 + 2 * 500 * 150)
        scale = 0.3 + 0.7 * size * options.batch_size / 200
        steps = self.n_epochs(options) * math.ceil(LEARNED * n_rows / options.batch_size)
        memory = 2**30 + n_rows * 8 * 4 * inputs
        return Cost(steps * self.seconds_per_step * scale, memory, inputs, options.max_inputs)

    def n_epochs(self, options: Any) -> int:
        """Number of passes over the training records, at most."""
        return int(options.epochs)

    def learn(
        self,
        data: Encoded,
        options: Any,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it has no checkpoints)
    ) -> NetworkModel:
        """Train; see the options.

        The same seed repeats on a CPU with the same number of threads.
        """
        widths = {feature.name: feature.n_levels or options.clusters + 1 for feature in data.features}
        refuse_wide(self.name, widths, options.max_inputs)
        from synthcity.plugins.core.dataloader import GenericDataLoader

        rows = np.arange(max(len(data), LEAST_ROWS)) % len(data)
        frame = pd.DataFrame({f"c{at}": values[rows].astype(np.float64) for at, values in enumerate(data.columns)})
        module, _, kind = self.plugin.partition(":")
        step, total = f"fit {self.name}", self.n_epochs(options)
        discrete = [f"c{at}" for at, feature in enumerate(data.features) if feature.is_discrete]
        with tempfile.TemporaryDirectory(prefix="synthcity-") as workspace, quiet(), global_seed(seed):
            plugin = getattr(import_module(f"synthcity.plugins.{module}"), kind)(
                lr=options.lr,
                batch_size=options.batch_size,
                random_state=seed % 2**32,
                device=device_for(options.gpu),
                workspace=Path(workspace),
                **self.settings(options, len(rows)),
            )
            with _adapted(discrete, lambda done: progress(step, done, total)):
                self._fit(plugin, GenericDataLoader(frame))
        progress(step, total, total)
        return NetworkModel(self.name, _drawable(plugin.model), tuple(data.features))

    def load(self, folder: Path) -> NetworkModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        import torch

        device = device_for(gpu=True)
        name, network, features = torch.load(folder / _FILE, map_location=device)
        for part in network.modules():
            if hasattr(part, "device"):
                part.device = device
        return NetworkModel(name, network, features)

    def _fit(self, plugin: Any, loader: Any) -> None:
        try:
            plugin.fit(loader)
        except (RuntimeError, ValueError) as error:
            if "budget is too low" in str(error):
                few = f"{self.name}: no amount of noise keeps this epsilon for so few records and so many epochs"
                raise GeneratorError(few, hint="raise epsilon, or set fewer epochs or a smaller batch_size") from None
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

    def settings(self, options: Any, n_rows: int) -> dict[str, Any]:
        """As :meth:`SynthcityNetwork.settings`."""
        sizes = {"n_layers_hidden": len(options.layers), "n_units_hidden": options.layers[0]}
        return {
            **{f"{side}_{key}": value for side in ("generator", "discriminator") for key, value in sizes.items()},
            "n_iter": options.epochs,
            "encoder_max_clusters": min(options.clusters, n_rows),
        }


class Adsgan(_Gan):
    """The generator ``adsgan``."""

    name: ClassVar[str] = "adsgan"
    title: ClassVar[str] = (
        "Wasserstein GAN with a penalty on rows near real ones (ADS-GAN, Yoon et al. 2020), through synthcity"
    )
    Options: ClassVar[type[Options]] = AdsganOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "wgan_gp": {"identifiability": 0, "discriminator_steps": 5},
    }
    plugin: ClassVar[str] = "privacy.plugin_adsgan:AdsGANPlugin"

    def settings(self, options: AdsganOptions, n_rows: int) -> dict[str, Any]:
        """As :meth:`SynthcityNetwork.settings`."""
        return {
            **super().settings(options, n_rows),
            "lambda_identifiability_penalty": options.identifiability,
            "lambda_gradient_penalty": options.gradient_penalty,
            "discriminator_n_iter": options.discriminator_steps,
            "n_iter_print": options.epochs + 1,
        }


class Dpgan(_Gan):
    """The generator ``dpgan``."""

    name: ClassVar[str] = "dpgan"
    title: ClassVar[str] = (
        "GAN with noisy gradients of its discriminator (Xie et al. 2018), through synthcity: no claim is made"
    )
    bypasses_noise: ClassVar[bool] = True
    Options: ClassVar[type[Options]] = DpganOptions
    plugin: ClassVar[str] = "privacy.plugin_dpgan:DPGANPlugin"

    def settings(self, options: DpganOptions, n_rows: int) -> dict[str, Any]:
        """As :meth:`SynthcityNetwork.settings`."""
        return {
            **super().settings(options, n_rows),
            "epsilon": options.epsilon,
            "delta": options.delta,
            "dp_max_grad_norm": options.max_grad_norm,
            "n_iter_print": options.epochs + 1,
        }


class Pategan(_Gan):
    """The generator ``pategan``."""

    name: ClassVar[str] = "pategan"
    title: ClassVar[str] = (
        "GAN taught by noisy votes of classifiers (PATE-GAN, Jordon et al. 2019), through synthcity: no claim is made"
    )
    bypasses_noise: ClassVar[bool] = True
    Options: ClassVar[type[Options]] = PateganOptions
    plugin: ClassVar[str] = "privacy.plugin_pategan:PATEGANPlugin"

    def settings(self, options: PateganOptions, n_rows: int) -> dict[str, Any]:
        """As :meth:`SynthcityNetwork.settings`."""
        return {
            **super().settings(options, n_rows),
            "n_iter": options.rounds,
            "generator_n_iter": options.epochs,
            "n_teachers": min(options.teachers, n_rows),
            "epsilon": options.epsilon,
            "lamda": options.lamda,
        }

    def n_epochs(self, options: PateganOptions) -> int:
        """As :meth:`SynthcityNetwork.n_epochs`."""
        return options.rounds * options.epochs


class Rtvae(SynthcityNetwork):
    """The generator ``rtvae``."""

    name: ClassVar[str] = "rtvae"
    title: ClassVar[str] = "variational autoencoder with beta divergence (RTVAE, Akrami et al. 2022), through synthcity"
    Options: ClassVar[type[Options]] = RtvaeOptions
    plugin: ClassVar[str] = "generic.plugin_rtvae:RTVAEPlugin"

    def settings(self, options: RtvaeOptions, n_rows: int) -> dict[str, Any]:
        """As :meth:`SynthcityNetwork.settings`."""
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
    """Replace parts of synthcity while a plugin trains.

    The named columns are those of states; each epoch reports how many are done.
    """
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
