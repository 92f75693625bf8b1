"""REaLTabFormer of single rows. Imported only where torch is needed."""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-untyped-calls, no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress
from hybrid.synthesize.generators.realtabformer.options import RealtabformerOptions
from hybrid.synthesize.generators.realtabformer.training import (
    MODEL,
    Training,
    coder,
    columns_of,
    device_of,
    frame_of,
    new_network,
    overfit_ratio,
    saved_in,
    validation_losses,
    with_weights,
    without_places,
)
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Encoded, Feature
from hybrid.synthesize.snapshots import Snapshots, named

_FEATURES = "features.json"


@dataclass(frozen=True)
class RealtabformerModel:
    """A trained transformer. Private."""

    network: Any
    features: tuple[Feature, ...]
    options: RealtabformerOptions

    def draw(self, n_rows: int, seed: int) -> list[Array]:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        self.network.random_state = seed % 2**32
        with quiet(), global_seed(seed):
            frame = self.network.sample(
                n_samples=n_rows, gen_batch=min(self.options.draw_batch, n_rows), device=device_of(self.options)
            )
        return columns_of(frame, self.features)

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        from pydantic import RootModel

        self.network.model.to("cpu")
        with quiet():
            self.network.save(folder / MODEL)
        content = RootModel[tuple[tuple[Feature, ...], RealtabformerOptions]]((self.features, self.options))
        (folder / _FEATURES).write_text(content.model_dump_json(), encoding="utf-8")


def load_model(folder: Path) -> RealtabformerModel:
    """Read a model from :meth:`RealtabformerModel.save`."""
    from pydantic import RootModel
    from realtabformer import REaLTabFormer

    text = (folder / _FEATURES).read_text(encoding="utf-8")
    features, options = RootModel[tuple[tuple[Feature, ...], RealtabformerOptions]].model_validate_json(text).root
    with quiet():
        network = REaLTabFormer.load_from_dir(saved_in(folder))
    return RealtabformerModel(network, features, options)


def learn_model(
    data: Encoded, options: RealtabformerOptions, seed: int, progress: Progress, unfinished: Path | None = None
) -> RealtabformerModel | Snapshots:
    """Train on single rows.

    Arguments and errors as for :meth:`hybrid.synthesize.protocol.Generator.learn`.
    """
    if len(data) < 2:
        raise GeneratorError("realtabformer needs two records or more", hint="use cart")
    with tempfile.TemporaryDirectory(prefix="realtabformer-") as temporary, quiet(), global_seed(seed):
        training = Training(options, len(data), seed, unfinished or Path(temporary), progress)
        network = new_network(training, model_type="tabular", tabular_config=coder(options))
        # n_critic=0: the bootstrapped stop criterion costs an hour; gen_kwargs={}: it crashes without.
        trainer = network.fit(
            frame_of(data.features, data.columns, len(data)),
            device=device_of(options),
            n_critic=0,
            gen_kwargs={},
            resume_from_checkpoint=training.last_checkpoint,
        )
        reached = overfit_ratio(validation_losses(trainer.state))
        if options.overfit is not None and reached < options.overfit:
            raise GeneratorError(
                f"realtabformer: the validation loss ended at {reached:.3f} times its minimum, not {options.overfit:g}",
                hint="set more epochs or a larger learning rate",
            )
        kept = {named(level): training.weights(level) for level in options.snapshots or ()}
    network, features = without_places(network), tuple(data.features)
    if not kept:
        return RealtabformerModel(network, features, options)
    networks = {level: with_weights(network, weights) for level, weights in kept.items()}
    return Snapshots({level: RealtabformerModel(each, features, options) for level, each in networks.items()})
