"""REaLTabFormer: a GPT-2 that writes records as sentences (Solatorio, Dupriez 2023, arXiv:2302.02041)."""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Encoded, Encoding, Feature
from hybrid.synthesize.snapshots import Snapshots, named, refuse_unordered

STEP = "fit realtabformer"
OPERATIONS_PER_SECOND = 7e10
"""Of one core, in single precision."""
_FOLDER, _FEATURES, _CHECKPOINTS, _SNAPSHOTS = "realtabformer", "features.json", "checkpoints", "snapshots"


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
                n_samples=n_rows, gen_batch=min(self.options.draw_batch, n_rows), device=_device(self.options)
            )
        return [_column(frame[f"c{at}"], feature) for at, feature in enumerate(self.features)]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        from pydantic import RootModel

        self.network.model.to("cpu")
        with quiet():
            self.network.save(folder / _FOLDER)
        content = RootModel[tuple[tuple[Feature, ...], RealtabformerOptions]]((self.features, self.options))
        (folder / _FEATURES).write_text(content.model_dump_json(), encoding="utf-8")


class Realtabformer:
    """The generator ``realtabformer``."""

    name: ClassVar[str] = "realtabformer"
    title: ClassVar[str] = "GPT-2 that writes records (Solatorio, Dupriez 2023), through realtabformer"
    licence: ClassVar[str] = "MIT (realtabformer), Apache-2.0 (transformers)"
    requires: ClassVar[tuple[str, ...]] = ("realtabformer", "transformers", "datasets", "torch")
    extra: ClassVar[str | None] = "realtabformer"
    environment: ClassVar[str | None] = "realtabformer"
    resumes: ClassVar[bool] = True
    Options: ClassVar[type[Options]] = RealtabformerOptions
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
        """Encoding with a flag for missing numbers."""
        return Encoding(flag_missing=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: RealtabformerOptions) -> Cost:
        """Six operations per parameter and token, forth and back.

        Drawing a row costs what learning it once does.
        """
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
    ) -> RealtabformerModel | Snapshots:
        """Train; see :class:`RealtabformerOptions`. Without ``unfinished`` checkpoints are temporary."""
        validation = options.validation if len(data) * options.validation >= 1 else 0.0
        if len(data) < 2:
            raise GeneratorError("realtabformer needs two records or more", hint="use cart")
        with tempfile.TemporaryDirectory(prefix="realtabformer-") as temporary, quiet(), global_seed(seed):
            folder = unfinished or Path(temporary)
            network = _network(options, validation, len(data), seed, folder, progress)
            # n_critic=0: the bootstrapped stop criterion costs an hour; gen_kwargs={}: it crashes without.
            last = _last_checkpoint(folder / _CHECKPOINTS)
            trainer = network.fit(
                _frame(data), device=_device(options), n_critic=0, gen_kwargs={}, resume_from_checkpoint=last
            )
            reached = overfit_ratio(_validation_losses(trainer.state))
            if options.overfit is not None and reached < options.overfit:
                raise GeneratorError(
                    f"realtabformer: the validation loss ended at {reached:.3f} times its minimum, not "
                    f"{options.overfit:g}",
                    hint="set more epochs or a larger learning rate",
                )
            kept = {named(level): _weights(folder, level) for level in options.snapshots or ()}
        # The temporary folders are gone; nothing of this machine stays in a saved model.
        network.checkpoints_dir, network.samples_save_dir, network.full_save_dir = Path(), Path(), "."
        network.training_args_kwargs = {}
        features = tuple(data.features)
        if not kept:
            return RealtabformerModel(network, features, options)
        networks = {level: _with_weights(network, weights) for level, weights in kept.items()}
        return Snapshots({level: RealtabformerModel(each, features, options) for level, each in networks.items()})

    def load(self, folder: Path) -> RealtabformerModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        from pydantic import RootModel
        from realtabformer import REaLTabFormer

        text = (folder / _FEATURES).read_text(encoding="utf-8")
        features, options = RootModel[tuple[tuple[Feature, ...], RealtabformerOptions]].model_validate_json(text).root
        with quiet():
            network = REaLTabFormer.load_from_dir(next((folder / _FOLDER).iterdir()))
        return RealtabformerModel(network, features, options)


def _network(
    options: RealtabformerOptions, validation: float, n_rows: int, seed: int, folder: Path, progress: Progress
) -> Any:
    from realtabformer import REaLTabFormer
    from transformers import GPT2Config, TrainerCallback

    class EpochCallback(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
            for logs in state.log_history:
                self._tell(logs["step"], state, logs)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002
            self._tell(state.global_step, state, logs or {})

        def _tell(self, step: int, state: Any, logs: Any) -> None:
            values = {name: float(logs[name]) for name in ("loss", "eval_loss") if name in logs}
            if values:
                progress(STEP, int(step), int(state.max_steps), **values)

    class Overfitting(TrainerCallback):
        def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:  # noqa: ARG002
            losses = _validation_losses(state)
            for level in just_reached(losses, options.snapshots or ()):
                _keep_weights(folder, level, model)
            control.should_training_stop |= overfit_ratio(losses) >= (options.overfit or math.inf)

    class Network(REaLTabFormer):
        def _build_tabular_trainer(self, *args: Any, **kwargs: Any) -> Any:
            trainer = super()._build_tabular_trainer(*args, **kwargs)
            trainer.add_callback(EpochCallback())
            trainer.add_callback(Overfitting())
            return trainer

    steps_per_epoch = max(1, int(n_rows * (1 - validation)) // (options.batch_size * options.accumulation))
    every = min(100, steps_per_epoch)
    drop = options.dropout
    return Network(
        model_type="tabular",
        tabular_config=GPT2Config(
            n_layer=options.n_layer,
            n_head=options.n_head,
            n_embd=options.n_embd,
            resid_pdrop=drop,
            embd_pdrop=drop,
            attn_pdrop=drop,
        ),
        checkpoints_dir=str(folder / _CHECKPOINTS),
        samples_save_dir=str(folder / "samples"),
        full_save_dir=str(folder / "full"),
        epochs=options.epochs,
        batch_size=options.batch_size,
        random_state=seed % 2**32,
        train_size=1 - validation,
        early_stopping_patience=options.patience,
        numeric_max_len=options.digits,
        learning_rate=options.lr,
        gradient_accumulation_steps=options.accumulation,
        logging_steps=every,
        save_steps=every,
        eval_steps=every,
        seed=seed % 2**32,
        load_best_model_at_end=options.overfit is None,
        disable_tqdm=True,
        restore_callback_states_from_checkpoint=True,
        report_to="none",
        use_cpu=_device(options) == "cpu",
        dataloader_pin_memory=False,
    )


def overfit_ratio(losses: Sequence[float]) -> float:
    """The last validation loss over the lowest one.

    1.0 if there is none.
    """
    return losses[-1] / min(losses) if losses else 1.0


def just_reached(losses: Sequence[float], levels: Sequence[float]) -> list[float]:
    """Levels that the last loss, after the lowest, reaches first.

    A loss below the lowest so far starts anew: what was reached before is then reached again.
    """
    ratios = [loss / min(losses) for loss in losses[losses.index(min(losses)) :]] if losses else [0.0]
    return [level for level in levels if ratios[-1] >= level > max(ratios[:-1], default=0.0)]


def _keep_weights(folder: Path, level: float, model: Any) -> None:
    import torch

    (folder / _SNAPSHOTS).mkdir(exist_ok=True)
    torch.save(model.state_dict(), folder / _SNAPSHOTS / named(level))


def _weights(folder: Path, level: float) -> Any:
    import torch

    return torch.load(folder / _SNAPSHOTS / named(level), weights_only=True)


def _with_weights(network: Any, weights: Any) -> Any:
    """A copy of the trained network with other weights."""
    other = copy.copy(network)
    other.model = copy.deepcopy(network.model)
    other.model.load_state_dict(weights)
    return other


def _validation_losses(state: Any) -> list[float]:
    return [logs["eval_loss"] for logs in state.log_history if "eval_loss" in logs]


def _last_checkpoint(folder: Path) -> str | bool:
    """The newest whole checkpoint; False if there is none.

    Its state is the last file that is written.
    """
    whole = {int(path.parent.name.partition("-")[2]): path.parent for path in folder.glob("*-*/trainer_state.json")}
    return str(whole[max(whole)]) if whole else False


def _frame(data: Encoded) -> pd.DataFrame:
    return pd.DataFrame(
        {
            f"c{at}": pd.Series(values).map("s{}".format) if feature.is_discrete else values
            for at, (feature, values) in enumerate(zip(data.features, data.columns, strict=True))
        }
    )


def _column(drawn: pd.Series, feature: Feature) -> Array:
    if feature.is_discrete:
        return np.asarray(drawn.str.slice(1), dtype=np.int32)
    return np.asarray(drawn, dtype=np.float64)


def _device(options: RealtabformerOptions) -> str:
    import torch

    return "cuda" if options.gpu and torch.cuda.is_available() else "cpu"
