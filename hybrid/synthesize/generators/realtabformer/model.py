"""REaLTabFormer of rows, and of rows below parents; networks, losses and checkpoints.

Imported only where torch is needed.
"""

from __future__ import annotations

import copy
import math
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress
from hybrid.synthesize.generators.person_rows import most_rows
from hybrid.synthesize.generators.realtabformer import RealtabformerOptions
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import Children, DrawnColumns, Encoded, Feature
from hybrid.synthesize.snapshots import Snapshots, named

STEP = "fit realtabformer"
MODEL = "realtabformer"
"""Folder of a saved network."""
NOTHING = "nothing"
"""Column of a table whose columns do not vary: the library needs one."""
_CHECKPOINTS, _SNAPSHOTS = "checkpoints", "snapshots"


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of one training."""

    options: RealtabformerOptions
    n_examples: int
    """Records, or persons with all their rows, that are learned from."""
    seed: int
    folder: Path
    """Of checkpoints, which outlives an interruption or is removed."""
    progress: Progress
    """Receives every loss."""

    @property
    def validation(self) -> float:
        """Share of the examples on which the loss is watched, 0 where that is not even one."""
        share = self.options.validation
        return share if self.n_examples * share >= 1 else 0.0

    @property
    def last_checkpoint(self) -> str | bool:
        """The newest whole checkpoint, whose state is the last file that is written; False if there is none."""
        found = (self.folder / _CHECKPOINTS).glob("*-*/trainer_state.json")
        whole = {int(path.parent.name.partition("-")[2]): path.parent for path in found}
        return str(whole[max(whole)]) if whole else False

    def weights(self, level: float) -> Any:
        import torch

        return torch.load(self.folder / _SNAPSHOTS / named(level), weights_only=True)


def new_network(training: TrainingSettings, **own: Any) -> Any:
    """An untrained network of single rows, or of rows given parents, whose losses are reported.

    It stops at the overfitting that the options ask for.
    """
    from realtabformer import REaLTabFormer
    from transformers import TrainerCallback

    options, progress = training.options, training.progress

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
            losses = validation_losses(state)
            for level in just_reached(losses, options.snapshots or ()):
                _keep_weights(training.folder, level, model)
            control.should_training_stop |= overfit_ratio(losses) >= (options.overfit or math.inf)

    class Network(REaLTabFormer):
        def _build_tabular_trainer(self, *args: Any, **kwargs: Any) -> Any:
            return self._watched(super()._build_tabular_trainer(*args, **kwargs))

        def _fit_relational(self, *args: Any, **kwargs: Any) -> Any:
            return self._watched(super()._fit_relational(*args, **kwargs))

        def _watched(self, trainer: Any) -> Any:
            trainer.add_callback(EpochCallback())
            trainer.add_callback(Overfitting())
            return trainer

    return Network(**own, **_arguments(training))


def _arguments(training: TrainingSettings) -> dict[str, Any]:
    options, seed = training.options, training.seed % 2**32
    steps = max(1, int(training.n_examples * (1 - training.validation)) // (options.batch_size * options.accumulation))
    every = min(100, steps)
    return {
        "checkpoints_dir": str(training.folder / _CHECKPOINTS),
        "samples_save_dir": str(training.folder / "samples"),
        "full_save_dir": str(training.folder / "full"),
        "epochs": options.epochs,
        "batch_size": options.batch_size,
        "random_state": seed,
        "train_size": 1 - training.validation,
        "early_stopping_patience": options.patience,
        "numeric_max_len": options.digits,
        "learning_rate": options.lr,
        "gradient_accumulation_steps": options.accumulation,
        "logging_steps": every,
        "save_steps": every,
        "eval_steps": every,
        "seed": seed,
        "load_best_model_at_end": options.overfit is None,
        "disable_tqdm": True,
        "restore_callback_states_from_checkpoint": True,
        "report_to": "none",
        "use_cpu": device_of(options) == "cpu",
        "dataloader_pin_memory": False,
    }


def coder(options: RealtabformerOptions) -> Any:
    """Size of one GPT-2."""
    from transformers import GPT2Config

    drop = options.dropout
    return GPT2Config(
        n_layer=options.n_layer,
        n_head=options.n_head,
        n_embd=options.n_embd,
        resid_pdrop=drop,
        embd_pdrop=drop,
        attn_pdrop=drop,
    )


def without_places(network: Any) -> Any:
    """The trained network without folders of this machine, which are gone."""
    network.checkpoints_dir, network.samples_save_dir, network.full_save_dir = Path(), Path(), "."
    network.training_args_kwargs = {}
    return network


def saved_in(folder: Path) -> Path:
    """Folder in which the library saved the only network below a folder."""
    return next((folder / MODEL).iterdir())


def overfit_ratio(losses: Sequence[float]) -> float:
    """The last validation loss over the lowest one, 1.0 if there is none."""
    return losses[-1] / min(losses) if losses else 1.0


def just_reached(losses: Sequence[float], levels: Sequence[float]) -> list[float]:
    """Levels that the last loss, after the lowest, reaches first.

    A loss below the lowest so far starts anew: what was reached before is then reached again.
    """
    ratios = [loss / min(losses) for loss in losses[losses.index(min(losses)) :]] if losses else [0.0]
    return [level for level in levels if ratios[-1] >= level > max(ratios[:-1], default=0.0)]


def validation_losses(state: Any) -> list[float]:
    return [logs["eval_loss"] for logs in state.log_history if "eval_loss" in logs]


def with_weights(network: Any, weights: Any) -> Any:
    other = copy.copy(network)
    other.model = copy.deepcopy(network.model)
    other.model.load_state_dict(weights)
    return other


def _keep_weights(folder: Path, level: float, model: Any) -> None:
    import torch

    (folder / _SNAPSHOTS).mkdir(exist_ok=True)
    torch.save(model.state_dict(), folder / _SNAPSHOTS / named(level))


def frame_of(features: Sequence[Feature], columns: Sequence[Array], n_rows: int) -> pd.DataFrame:
    """Encoded columns as the library reads them: states as texts."""
    named_columns = {
        f"c{at}": pd.Series(values).map("s{}".format) if feature.is_discrete else values
        for at, (feature, values) in enumerate(zip(features, columns, strict=True))
    }
    return pd.DataFrame(named_columns or {NOTHING: ["s0"] * n_rows})


def columns_of(frame: pd.DataFrame, features: Sequence[Feature]) -> list[Array]:
    """Encoded columns of rows that the library drew."""
    return [_column(frame[f"c{at}"], feature) for at, feature in enumerate(features)]


def _column(drawn: pd.Series, feature: Feature) -> Array:
    if feature.is_discrete:
        return np.asarray(drawn.str.slice(1), dtype=np.int32)
    return np.asarray(drawn, dtype=np.float64)


def device_of(options: RealtabformerOptions) -> str:
    """Name of the device that the options choose: cpu or cuda."""
    import torch

    return "cuda" if options.gpu and torch.cuda.is_available() else "cpu"


_FEATURES = "features.json"


@dataclass(frozen=True)
class RealtabformerModel:
    """A trained transformer. Private."""

    network: Any
    features: tuple[Feature, ...]
    options: RealtabformerOptions

    def draw(self, n: int, seed: int) -> DrawnColumns:
        self.network.random_state = seed % 2**32
        with quiet(), global_seed(seed):
            frame = self.network.sample(
                n_samples=n, gen_batch=min(self.options.draw_batch, n), device=device_of(self.options)
            )
        return DrawnColumns(columns_of(frame, self.features))

    def save(self, folder: Path) -> None:
        from pydantic import RootModel

        self.network.model.to("cpu")
        with quiet():
            self.network.save(folder / MODEL)
        content = RootModel[tuple[tuple[Feature, ...], RealtabformerOptions]]((self.features, self.options))
        (folder / _FEATURES).write_text(content.model_dump_json(), encoding="utf-8")


def load_model(folder: Path) -> RealtabformerModel:
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
    """Train on single rows, as :meth:`hybrid.synthesize.protocol.Generator.learn`."""
    if len(data) < 2:
        raise GeneratorError("realtabformer needs two records or more", hint="use cart")
    with tempfile.TemporaryDirectory(prefix="realtabformer-") as temporary, quiet(), global_seed(seed):
        training = TrainingSettings(options, len(data), seed, unfinished or Path(temporary), progress)
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


MOST_TOKENS = 2048
"""Words, at most, of all rows of a person: the memory of a transformer grows with their square."""
_PERSON = "person"
_PERSONS, _ROWS, _SHAPE = "persons", "rows", "shape.json"


@dataclass(frozen=True)
class RowShape:
    """Everything about rows given persons but the network."""

    persons: tuple[Feature, ...]
    rows: tuple[Feature, ...]
    """Columns of persons, and of a row."""
    highest: tuple[float, ...]
    """Largest learned value of each column of persons; 0 for states."""
    order: int | None
    """The column that orders the rows of a person."""
    least: int
    """Rows of every person at least: 0 or 1."""
    options: RealtabformerOptions

    @classmethod
    def of(cls, data: Children, options: RealtabformerOptions) -> RowShape:
        persons = data.parents
        pairs = zip(persons.features, persons.columns, strict=True)
        highest = tuple(0.0 if feature.is_discrete else float(values.max()) for feature, values in pairs)
        least = min(1, int(data.counts.min()))
        return cls(tuple(persons.features), tuple(data.features), highest, data.order, least, options)

    def read(self, persons: Sequence[Array], n: int) -> pd.DataFrame:
        """Persons as the encoder reads them, numbers within the learned range."""
        clipped = [
            column if feature.is_discrete else np.clip(column, 0, high)
            for feature, high, column in zip(self.persons, self.highest, persons, strict=True)
        ]
        return frame_of(self.persons, clipped, n)

    def ordered(self, columns: Sequence[Array], owners: Array) -> list[Array]:
        """Rows by person, and within each in their order."""
        keys = [owners] if self.order is None else [columns[self.order], owners]
        places = np.lexsort(keys)
        return [column[places] for column in columns]


@dataclass(frozen=True)
class RealtabformerSequenceModel:
    """Trained transformers of persons and of their rows. Private."""

    people: RealtabformerModel | None
    """Of the static columns; None where none varies."""
    network: Any
    """Of the rows."""
    shape: RowShape
    """What it reads and writes."""

    def draw(self, n: int, seed: int) -> DrawnColumns:
        drawn = [] if self.people is None else self.people.draw(n, seed).rows
        return self.draw_below(drawn, n, seed + 1)

    def draw_below(self, parents: Sequence[Array], n_parents: int, seed: int) -> DrawnColumns:
        from realtabformer.rtf_exceptions import SampleEmptyError

        options, shape = self.shape.options, self.shape
        with quiet(), global_seed(seed):
            try:
                # top_k: transformers would draw from the fifty likeliest words alone. min_new_tokens: a text starts
                # with a word of its own, and ends with the next one where there is no row.
                frame = self.network.sample(
                    input_unique_ids=range(n_parents),
                    input_df=shape.read(parents, n_parents),
                    gen_batch=min(options.draw_batch, n_parents),
                    device=device_of(options),
                    top_k=0,
                    min_new_tokens=2 * shape.least,
                )
            except SampleEmptyError:
                frame = frame_of(shape.rows, [np.empty(0) for _ in shape.rows], 0)
        owners = np.asarray(frame.index, dtype=np.int64)
        rows = shape.ordered(columns_of(frame, shape.rows), owners)
        return DrawnColumns(rows, list(parents), np.bincount(owners, minlength=n_parents))

    def save(self, folder: Path) -> None:
        from pydantic import RootModel

        if self.people is not None:
            (folder / _PERSONS).mkdir(mode=0o700)
            self.people.save(folder / _PERSONS)
        self.network.model.to("cpu")
        with quiet():
            self.network.save(folder / _ROWS / MODEL)
        (folder / _SHAPE).write_text(RootModel[RowShape](self.shape).model_dump_json(), encoding="utf-8")


def load(folder: Path) -> RealtabformerModel | RealtabformerSequenceModel:
    """Read a model of rows, or of rows below parents."""
    from pydantic import RootModel
    from realtabformer import REaLTabFormer

    if not (folder / _SHAPE).is_file():
        return load_model(folder)
    people = load_model(folder / _PERSONS) if (folder / _PERSONS).is_dir() else None
    shape = RootModel[RowShape].model_validate_json((folder / _SHAPE).read_text(encoding="utf-8")).root
    with quiet():
        network = REaLTabFormer.load_from_dir(saved_in(folder / _ROWS))
    return RealtabformerSequenceModel(people, network, shape)


def learn_children(
    data: Children, options: RealtabformerOptions, seed: int, progress: Progress, unfinished: Path | None = None
) -> RealtabformerSequenceModel:
    """Train on static columns, then on all rows of every person: the library's parent and child mode.

    A GPT-2 learns the static columns of persons as any table. A second one writes all rows of a person as one text,
    given what the first one reads in the person (encoder and decoder). The library freezes the first one meanwhile;
    here both go on learning, since a frozen one has nothing to say of the last column it has read. Where the static
    columns do not vary, the encoder reads a constant.

    Both with the same options. Of a person with more rows than ten persons have
    (:func:`~hybrid.synthesize.generators.person_rows.most_rows`) the first so many are learned.
    """
    rows, counts = _first_rows(data)
    _refuse(rows, counts, options)
    with tempfile.TemporaryDirectory(prefix="realtabformer-") as temporary:
        folder = unfinished or Path(temporary)
        people, encoder = None, {}
        if data.parents.features:
            people, place = _people(data.parents, options, seed, progress, folder / _PERSONS)
            encoder = {"parent_realtabformer_path": saved_in(place), "freeze_parent_model": False}
        (folder / _ROWS).mkdir(exist_ok=True)
        training = TrainingSettings(options, len(counts), seed + 1, folder / _ROWS, progress)
        shape = RowShape.of(data, options)
        network = _rows_network(training, shape, data.parents.columns, rows, counts, encoder)
    return RealtabformerSequenceModel(people, network, shape)


def _first_rows(data: Children) -> tuple[Encoded, Array]:
    most = most_rows(data.counts)
    place = np.arange(data.counts.sum()) - np.repeat(np.cumsum(data.counts) - data.counts, data.counts)
    return data.take(place < most), np.minimum(data.counts, most)


def _refuse(rows: Encoded, counts: Array, options: RealtabformerOptions) -> None:
    if options.overfit is not None:
        raise GeneratorError("realtabformer: overfit is about single rows, not about persons", hint="leave it out")
    if len(counts) < 2 or not counts.any():
        what = "two persons or more" if len(counts) < 2 else "ten persons or more with rows"
        raise GeneratorError(f"realtabformer needs {what}", hint="use cart")
    words = sum(_words(*pair) for pair in zip(rows.features, rows.columns, strict=True))
    longest = int(counts.max()) * (words + 2)
    if longest > MOST_TOKENS:
        raise GeneratorError(
            f"realtabformer: {int(counts.max())} rows of {words} words each are {longest:,} words, and it writes at "
            f"most {MOST_TOKENS:,} per person or parent row",
            hint="set data.max_rows (of a single table), leave columns out, or use cart",
        )


def _words(feature: Feature, values: Array) -> int:
    """Words of a value: one of a state, and one for every two characters of a number, with four decimals at most."""
    if feature.is_discrete:
        return 1
    whole = bool((values == np.rint(values)).all())
    characters = len(str(int(np.abs(values).max()))) + (0 if whole else 5)
    return -(-characters // 2)


def _people(
    data: Encoded, options: RealtabformerOptions, seed: int, progress: Progress, folder: Path
) -> tuple[RealtabformerModel, Path]:
    """The model of the static columns, and where it is saved: a training that was interrupted later finds it whole."""
    done, begun = folder / "done", folder / "saving"
    folder.mkdir(exist_ok=True)
    if not done.is_dir():
        model = learn_model(data, options, seed, progress, folder)
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(mode=0o700)
        model.save(begun)
        begun.rename(done)
    return load_model(done), done


def _rows_network(
    training: TrainingSettings,
    shape: RowShape,
    persons: Sequence[Array],
    rows: Encoded,
    counts: Array,
    encoder: dict[str, Any],
) -> Any:
    from transformers import EncoderDecoderConfig

    options, n = training.options, len(counts)
    parents = shape.read(persons, n).assign(**{_PERSON: np.arange(n)})
    children = frame_of(shape.rows, rows.columns, int(counts.sum()))
    children[_PERSON] = np.repeat(np.arange(n), counts)
    with quiet(), global_seed(training.seed):
        sizes = EncoderDecoderConfig.from_encoder_decoder_configs(coder(options), coder(options))
        network = new_network(training, model_type="relational", relational_config=sizes, **encoder)
        network.fit(
            children,
            in_df=parents,
            join_on=_PERSON,
            device=device_of(options),
            resume_from_checkpoint=training.last_checkpoint,
        )
    return without_places(network)
