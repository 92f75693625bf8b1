"""REaLTabFormer for persons with several rows: its parent and child mode.

A GPT-2 learns the static columns of persons as any table. A second one writes all rows of a person as one text, given
what the first one reads in the person (encoder and decoder; Solatorio, Dupriez 2023, arXiv:2302.02041). The library
freezes the first one meanwhile; here both go on learning, since a frozen one has nothing to say of the last column it
has read. Where the static columns do not vary, the encoder reads a constant. Imported only where torch is needed.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-untyped-calls, no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

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
from hybrid.synthesize.generators.realtabformer.model import (
    MODEL,
    RealtabformerModel,
    TrainingSettings,
    coder,
    columns_of,
    device_of,
    frame_of,
    learn_model,
    load_model,
    new_network,
    saved_in,
    without_places,
)
from hybrid.synthesize.isolation.contained import global_seed, quiet
from hybrid.synthesize.protocol import DrawnSequences, Encoded, Feature, Sequences

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
    def of(cls, data: Sequences, options: RealtabformerOptions) -> RowShape:
        persons = data.persons
        pairs = zip(persons.features, persons.columns, strict=True)
        highest = tuple(0.0 if feature.is_discrete else float(values.max()) for feature, values in pairs)
        least = min(1, int(data.counts.min()))
        return cls(tuple(persons.features), tuple(data.rows.features), highest, data.order, least, options)

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

    def draw(self, n_persons: int, seed: int) -> DrawnSequences:
        drawn = [] if self.people is None else self.people.draw(n_persons, seed)
        return self.draw_rows(drawn, n_persons, seed + 1)

    def draw_rows(self, persons: Sequence[Array], n_persons: int, seed: int) -> DrawnSequences:
        from realtabformer.rtf_exceptions import SampleEmptyError

        options, shape = self.shape.options, self.shape
        with quiet(), global_seed(seed):
            try:
                # top_k: transformers would draw from the fifty likeliest words alone. min_new_tokens: a text starts
                # with a word of its own, and ends with the next one where there is no row.
                frame = self.network.sample(
                    input_unique_ids=range(n_persons),
                    input_df=shape.read(persons, n_persons),
                    gen_batch=min(options.draw_batch, n_persons),
                    device=device_of(options),
                    top_k=0,
                    min_new_tokens=2 * shape.least,
                )
            except SampleEmptyError:
                frame = frame_of(shape.rows, [np.empty(0) for _ in shape.rows], 0)
        owners = np.asarray(frame.index, dtype=np.int64)
        rows = shape.ordered(columns_of(frame, shape.rows), owners)
        return DrawnSequences(list(persons), rows, np.bincount(owners, minlength=n_persons))

    def save(self, folder: Path) -> None:
        from pydantic import RootModel

        if self.people is not None:
            (folder / _PERSONS).mkdir(mode=0o700)
            self.people.save(folder / _PERSONS)
        self.network.model.to("cpu")
        with quiet():
            self.network.save(folder / _ROWS / MODEL)
        (folder / _SHAPE).write_text(RootModel[RowShape](self.shape).model_dump_json(), encoding="utf-8")


def load_sequences(folder: Path) -> RealtabformerSequenceModel:
    from pydantic import RootModel
    from realtabformer import REaLTabFormer

    people = load_model(folder / _PERSONS) if (folder / _PERSONS).is_dir() else None
    shape = RootModel[RowShape].model_validate_json((folder / _SHAPE).read_text(encoding="utf-8")).root
    with quiet():
        network = REaLTabFormer.load_from_dir(saved_in(folder / _ROWS))
    return RealtabformerSequenceModel(people, network, shape)


def learn_sequences(
    data: Sequences, options: RealtabformerOptions, seed: int, progress: Progress, unfinished: Path | None = None
) -> RealtabformerSequenceModel:
    """Train on static columns, then on all rows of every person.

    Both with the same options. Of a person with more rows than ten persons have
    (:func:`~hybrid.synthesize.generators.person_rows.most_rows`) the first so many are learned.

    Raises
    ------
    GeneratorError
        ``options.overfit`` is set, which watches single rows; there are too few persons, no rows, or rows that make a
        text of more than :data:`MOST_TOKENS` words.
    """
    rows, counts = _first_rows(data)
    _refuse(rows, counts, options)
    with tempfile.TemporaryDirectory(prefix="realtabformer-") as temporary:
        folder = unfinished or Path(temporary)
        people, encoder = None, {}
        if data.persons.features:
            people, place = _people(data.persons, options, seed, progress, folder / _PERSONS)
            encoder = {"parent_realtabformer_path": saved_in(place), "freeze_parent_model": False}
        (folder / _ROWS).mkdir(exist_ok=True)
        training = TrainingSettings(options, len(counts), seed + 1, folder / _ROWS, progress)
        shape = RowShape.of(data, options)
        network = _rows_network(training, shape, data.persons.columns, rows, counts, encoder)
    return RealtabformerSequenceModel(people, network, shape)


def _first_rows(data: Sequences) -> tuple[Encoded, Array]:
    most = most_rows(data.counts)
    place = np.arange(data.counts.sum()) - np.repeat(np.cumsum(data.counts) - data.counts, data.counts)
    return data.rows.take(place < most), np.minimum(data.counts, most)


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
