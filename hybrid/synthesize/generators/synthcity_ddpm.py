"""TabDDPM of synthcity, the engine ``synthcity``.

Source: Qian, Cebere, van der Schaar 2023, arXiv:2301.07573.

What it does its own way: a column with more than ten states is learned as a number, whatever it is; batches come in
the order of the records; the last weights are sampled from, not the averaged ones. The plugin's own ``generate`` is
not used: it throws away repeated rows and rounds' worth of others, up to 500 times, and need not end on a table
where rows repeat. Here the model is drawn from once, and states are rounded to the nearest that exists.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.tabddpm.options import TabddpmOptions
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Encoded, Encoding, Feature

STEP = "fit tabddpm (synthcity)"
_FILE = "model.pt"
_SECONDS_PER_STEP = 0.032
"""Of 1,024 Adult rows, 3 layers of 256, one core."""
_SECONDS_PER_1000_ROWS = 9.0
"""Of sampling with 1,000 timesteps."""


@dataclass(frozen=True)
class SynthcityModel:
    """A trained plugin without its training data. Private."""

    encoder: Any
    network: Any
    features: tuple[Feature, ...]

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        with quiet(), global_seed(seed):
            frame = self.encoder.inverse_transform(self.network.generate(n_rows))
        return [drawn_column(frame[f"c{at}"].to_numpy(), feature) for at, feature in enumerate(self.features)]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        import cloudpickle
        import torch

        torch.save((self.encoder, self.network, self.features), folder / _FILE, pickle_module=cloudpickle)


class SynthcityDdpm:
    """The engine ``synthcity`` of the generator ``tabddpm``."""

    name: ClassVar[str] = "tabddpm"
    title: ClassVar[str] = "diffusion model for tables (Kotelnikov et al. 2023), through synthcity 0.2.12"
    licence: ClassVar[str] = "Apache-2.0 (synthcity)"
    requires: ClassVar[tuple[str, ...]] = ("synthcity",)
    extra: ClassVar[str | None] = None
    environment: ClassVar[str | None] = "synthcity"
    resumes: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = TabddpmOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {"engine": "synthcity"}}

    def encoding(self, options: TabddpmOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Encoding with a flag for missing numbers.

        synthcity decides which numbers are categories.
        """
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: TabddpmOptions) -> Cost:
        """About the figures above; memory hardly depends on the table."""
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
        """Train; see :class:`TabddpmOptions`."""
        import pandas as pd
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
                device=device_for(options.gpu),
                callbacks=(EpochCallback(),),
                random_state=seed % 2**32,
                workspace=Path(workspace),
            )
            plugin.fit(GenericDataLoader(frame))
        network = plugin.model
        # What holds on to the records, or to who listens, is not part of the model.
        network.callbacks, network.dataloader, network.optimizer = (), None, None
        return SynthcityModel(plugin.encoder, network, tuple(data.features))

    def load(self, folder: Path) -> SynthcityModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        import torch
        from synthcity.plugins.generic import plugin_ddpm  # noqa: F401  (the classes of the file)

        device = "cuda" if torch.cuda.is_available() else "cpu"
        encoder, network, features = torch.load(folder / _FILE, map_location=device)
        network.device = network.diffusion.device = torch.device(device)
        return SynthcityModel(encoder, network, features)


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


def drawn_column(drawn: Array, feature: Feature) -> Array:
    """A drawn column as the codec reads it.

    States are rounded to the nearest that exists.
    """
    if feature.is_discrete:
        return np.clip(np.rint(drawn), 0, feature.n_levels - 1).astype(np.int32)
    return drawn.astype(np.float64)


def device_for(gpu: bool) -> Any:
    """Device of torch.

    A GPU where there is one and it may be used.
    """
    import torch

    return torch.device("cuda" if gpu and torch.cuda.is_available() else "cpu")
