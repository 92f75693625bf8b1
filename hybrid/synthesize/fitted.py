"""Fitting of any generator to a table, to persons or to rows below parents; drawing; what a model says of records."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.errors import GeneratorError, HybridError
from hybrid.base.hashing import LIBRARIES, code_version, fingerprint, library_versions
from hybrid.base.manifest import PACKAGE
from hybrid.base.options import Options
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.isolation import environments
from hybrid.synthesize.isolation.job import IsolatedModel, WorkerLimits, learn_isolated
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.protocol import (
    Children,
    DrawnColumns,
    Encoded,
    Feature,
    Generator,
    InspectableGenerator,
    Model,
    ParentsModel,
)
from hybrid.synthesize.registry import Capabilities, distributions, is_here, require, sequence_generators
from hybrid.synthesize.snapshots import Snapshots, drawn_level, training_options
from hybrid.table import Table
from hybrid.table.persons import person_groups


@dataclass(frozen=True)
class Arrangement:
    """Places of encoded columns among those of persons and of rows."""

    features: tuple[Feature, ...]
    """The codec's."""
    static: Mask
    """Columns of persons; shape (n_features,), bool."""
    holes: tuple[int, ...]
    """Columns of persons that single rows may lack: a flag of each is among the last columns of the rows."""

    def whole(self, drawn: DrawnColumns) -> list[Array]:
        """Columns of the table in the codec's order, from drawn persons and rows."""
        persons, rows = iter(drawn.parents), iter(drawn.rows)
        columns = [np.repeat(next(persons), drawn.counts) if static else next(rows) for static in self.static]
        for at, flag in zip(self.holes, rows, strict=True):
            feature = self.features[at]
            columns[at] = np.where(flag == 1, feature.n_levels - 1 if feature.is_discrete else np.nan, columns[at])
        return columns


def arranged(whole: Encoded, static: Mask, order: int | None) -> tuple[Children, Arrangement]:
    """Arrange encoded rows by person, in their order.

    Of a ``static`` column the first known value is the person's; where rows of a person lack it, a flag becomes a
    column of the rows. ``order`` is the position of the column that orders the rows; one of persons does not.
    """
    order = None if order is None or static[order] else order
    groups = person_groups(whole.persons)
    rows = np.lexsort([groups] if order is None else [missing_last(whole.columns[order]), groups])
    counts = np.bincount(groups)
    owner, of_person, of_row, holes = np.repeat(np.arange(len(counts)), counts), [], [], []
    for at, (feature, column) in enumerate(zip(whole.features, whole.columns, strict=True)):
        values = column[rows]
        if not static[at]:
            of_row.append((feature, values))
            continue
        missing = _missing(feature, values)
        first = np.cumsum(counts) - counts
        owners, places = np.unique(owner[~missing], return_index=True)
        first[owners] = np.flatnonzero(~missing)[places]
        of_person.append((feature, values[first]))
        if (missing & ~missing[first][owner]).any():
            holes.append((at, missing))
    flags = [(Feature(f"{whole.features[at].name} is missing", 2, False, False), m.astype(np.int32)) for at, m in holes]
    persons = whole.persons[rows]
    data = Children(
        *_apart([*of_row, *flags]),
        persons,
        parents=Encoded(*_apart(of_person), persons[np.cumsum(counts) - counts]),
        counts=counts,
        order=None if order is None else int((~static[:order]).sum()),
    )
    return data, Arrangement(tuple(whole.features), static, tuple(at for at, _ in holes))


def below(parents: Encoded, rows: Encoded, order: int | None) -> Children:
    """Arrange encoded rows by parent, in their order.

    ``rows.persons`` has the position of each row's parent, ``order`` is that of the column that orders the rows.
    """
    owners, who = rows.persons, person_groups(parents.persons)
    places = np.lexsort([*([] if order is None else [missing_last(rows.columns[order])]), owners])
    columns, counts = [column[places] for column in rows.columns], np.bincount(owners, minlength=len(who))
    known = Encoded(parents.features, parents.columns, who)
    of = who[owners[places]]
    return Children(rows.features, columns, of, parents=known, counts=counts, order=order, given=True)


def known_states(parents: Encoded, rng: np.random.Generator) -> list[Array]:
    """Columns of parents, unseen states replaced by random ones."""
    return [_seen(feature, column, rng) for feature, column in zip(parents.features, parents.columns, strict=True)]


def missing_last(values: Array) -> Array:
    """Numbers that sort a column, missing values last; shape (n,), float64."""
    numbers = values.astype(np.float64)
    return np.where(np.isnan(numbers), np.inf, numbers)


def _apart(pairs: Sequence[tuple[Feature, Array]]) -> tuple[list[Feature], list[Array]]:
    return [feature for feature, _ in pairs], [values for _, values in pairs]


def _missing(feature: Feature, values: Array) -> Mask:
    """Mask of missing values of an encoded column; shape (n,)."""
    if not feature.is_discrete:
        return np.isnan(values)
    return np.asarray(values == (feature.n_levels - 1 if feature.missing else -1))


def _seen(feature: Feature, column: Array, rng: np.random.Generator) -> Array:
    if not feature.is_discrete:
        return column
    strange = (column < 0) | (column >= feature.n_levels)
    drawn = rng.integers(feature.n_levels, size=len(column)).astype(column.dtype)
    return np.where(strange, drawn, column)


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingRecord:
    """Provenance of a model; equal but for ``seconds``: equal models on a CPU.

    ``trained_on`` is the fingerprint of the table, ``options`` the generator's own, ``versions`` those
    of this package, of the libraries it was trained with, and of the managed environment if it was trained in one.
    """

    trained_on: str
    options: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    seconds: float


@dataclass(frozen=True)
class LossPoint:
    """Losses by name after ``done`` of ``total`` steps or epochs."""

    done: int
    total: int | None
    losses: Mapping[str, float]


@dataclass(frozen=True)
class FittedGenerator:
    """A trained generator. Private, since it may remember records."""

    name: str
    """The generator."""
    codec: Codec
    """Turns what the model draws into a table."""
    model: Model | None
    """None if no column varies: then there is nothing to learn."""
    record: TrainingRecord | None = None
    """What it was trained on; :func:`fit` sets it."""
    losses: tuple[LossPoint, ...] = field(default=(), compare=False)
    """The loss curve, in order; empty for generators without one."""
    arrangement: Arrangement | None = None
    """Which columns are a person's, where persons with all their rows are drawn."""
    parents: Codec | None = None
    """Of the parents below which rows are drawn, where these are given."""

    def limited(self, limits: WorkerLimits) -> FittedGenerator:
        """The same with other limits for the process that draws."""
        model = self.model
        return replace(self, model=replace(model, limits=limits)) if isinstance(model, IsolatedModel) else self

    def at(self, level: str | None) -> FittedGenerator:
        """The generator at one level of overfitting, of a training with snapshots."""
        model = self.model
        if level is None or not isinstance(model, Snapshots | IsolatedModel):
            return self
        return replace(self, model=model.at(level))

    def sample(self, n: int, seed: int) -> Table:
        """Draw exactly ``n`` (0 or more) new rows, or (1 or more) persons with all their rows where those were learned.

        With the schema, dtypes, categories and precision of the table learned from. Of persons with the person of each
        row (0, 1, ...): their rows are adjacent, and in order. The same seed gives the same rows.
        """
        if n < 0:
            raise ValueError("n must not be negative")
        if self.model is None:
            return self.codec.decode([], n)
        with blamed_on(self.name, "draw"):
            drawn = self.model.draw(max(n, 1), seed)
        if self.arrangement is not None:
            n_rows = int(drawn.counts.sum())
            if n_rows == 0:
                raise GeneratorError(f"{self.name} drew persons without rows", hint="learn from more persons")
            table = self.codec.decode(self.arrangement.whole(drawn), n_rows)
            return replace(table, named_persons=np.repeat(np.arange(n), drawn.counts))
        return self.codec.decode([column[:n] for column in drawn.rows] if n == 0 else drawn.rows, n)

    def sample_below(self, parents: Table, seed: int) -> Table:
        """Draw the rows of all given parents, which have the columns of those learned from; some may get none.

        ``persons`` has the position of each row's parent, ascending; rows of a parent are in order. The same parents
        and seed give the same rows.
        """
        assert self.parents is not None
        encoded = self.parents.encode(parents, rng_for(seed, "encode parents"))
        model = cast(ParentsModel, self.model)
        with blamed_on(self.name, "draw"):
            known = known_states(encoded, rng_for(seed, "unseen"))
            drawn = model.draw_below(known, len(parents), seed)
        owners = np.repeat(np.arange(len(parents)), drawn.counts)
        return replace(self.codec.decode(drawn.rows, len(owners)), named_persons=owners)


def fit(
    table: Table,
    options: SynthesizeOptions,
    seed: int,
    progress: Progress = silent,
    unfinished: Path | None = None,
    domains: Mapping[str, Array] | None = None,
    *,
    static: Sequence[str] | None = None,
    parents: Table | None = None,
    all_levels: bool = False,
) -> FittedGenerator:
    """Train the generator that ``options`` names on a table of one row or more, without identifiers.

    The same seed (0 or more), table, options and versions give the same model. Missing values are allowed everywhere.
    ``unfinished`` is a private folder for checkpoints, only ever the same for the same of these; a generator with
    checkpoints continues from the last one in it.

    ``static``: learn persons with all their rows, in the order of the column that the schema marks, or in the table's
    order; columns with one known value per person, the first of which is learned. ``parents``: learn rows given their
    parents, without identifiers; the table has no columns of theirs, its ``persons`` has the position of each row's
    parent, and those of the parents the person of each, which several may share. With neither each row has a parent of
    its own, without columns.

    ``all_levels``: snapshots of all levels stay, of which :meth:`FittedGenerator.at` chooses one. MissingExtraError,
    DataError or GeneratorError where there is nothing to train with, nothing to learn from, or training failed.
    """
    generator, own = options.engine, training_options(options.resolve())
    is_flat = static is None and parents is None
    if not is_flat and (table.rows_are_persons or not Capabilities.of(generator).persons):
        hint = f"use synthesize.generator: {' or '.join(sequence_generators())}"
        raise GeneratorError(f"{generator.name} draws single rows", hint=hint)
    require(generator)
    started = time.perf_counter()
    curve = Curve(progress)
    encoding = generator.encoding(own)
    codec, above, arrangement, model = Codec(table, encoding, domains), None, None, None
    order = codec.origins.index(table.schema.order) if table.schema.order in codec.origins else None
    if parents is None:
        encoded = codec.encode(table, rng_for(seed, "encode"))
    else:
        above = Codec(parents, encoding)
        known = above.encode(parents, rng_for(seed, "encode", "parents"))
        encoded = below(known, codec.encode(table, rng_for(seed, "encode", "rows")), order)
    if static is not None:
        encoded, arrangement = arranged(encoded, np.array([name in static for name in codec.origins], bool), order)
    if codec.features or not is_flat:
        model = _learn(encoded, generator, options, own, seed, curve, unfinished)
    record = TrainingRecord(
        trained_on=fingerprint(table),
        options=own.model_dump(mode="json"),
        seed=seed,
        versions=library_versions(PACKAGE) | versions_of(generator),
        seconds=time.perf_counter() - started,
    )
    fitted = FittedGenerator(generator.name, codec, model, record, tuple(curve.points), arrangement, above)
    return fitted if all_levels else fitted.at(drawn_level(options.resolve()))


def versions_of(generator: Generator) -> dict[str, str]:
    """Versions that decide a model of this generator, here or in its managed environment."""
    here = library_versions(*sorted({*LIBRARIES, *distributions(generator)}))
    if is_here(generator) or generator.environment is None:
        return here
    return {**here, **environments.inspect(generator.environment).versions}


def model_version(generator: Generator) -> str:
    """Fingerprint of the code and versions that decide a model."""
    return fingerprint(generator.name, code_version(), versions_of(generator))


class Curve:
    """Passes progress on, and keeps the losses."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.points: list[LossPoint] = []

    def __call__(self, step: str, done: int, total: int | None = None, **values: float) -> None:
        if values:
            self.points.append(LossPoint(done, total, values))
        self._progress(step, done, total, **values)


def _learn(
    data: Encoded,
    generator: Generator,
    options: SynthesizeOptions,
    own: Options,
    seed: int,
    progress: Progress,
    left: Path | None,
) -> Model:
    if left is not None:
        say_if_interrupted(generator, left)
    if generator.requires and (options.isolate or not is_here(generator)):
        return learn_isolated(generator, data, own, seed, progress, options.limits, left)
    with blamed_on(generator.name, "learn"):
        return generator.learn(data, own, seed, progress, left)


def say_if_interrupted(generator: Generator, left: Path) -> None:
    """Log that an earlier training in this folder did not end."""
    started = left / "started"
    if started.is_file():
        how = "continues from its last checkpoint" if generator.resumes else "has no checkpoints and starts again"
        logger.info("the training of %s was interrupted: it %s", generator.name, how)
    started.touch()


@contextmanager
def blamed_on(name: str, what: str) -> Iterator[None]:
    """Whatever a generator's library throws becomes one readable error.

    The library's own words may quote a cell, so they are kept in the private detail and out of the chain.
    """
    try:
        yield
    except HybridError:
        raise
    except MemoryError:
        raise GeneratorError(
            f"{name} ran out of memory trying to {what}", hint="learn from fewer records or states, or use cart"
        ) from None
    except Exception as error:  # noqa: BLE001  (any library may throw anything)
        raise GeneratorError(
            f"{name} failed to {what} ({type(error).__name__})",
            hint="--debug shows its own words; more records or a smaller learning rate may help",
            values=str(error),
        ) from None


def log_odds(fitted: FittedGenerator, generator: Generator, people: Table, reference: Table, seed: int) -> Array:
    """Evidence of a model about records, for an attacker who holds it; shape (n,), all 0 where no column varies.

    The larger, the more a record looks like one learned from; corrected by ``reference``, records of other people of
    the population.
    """
    assert isinstance(generator, InspectableGenerator)
    model = fitted.model
    if model is None:
        return np.zeros(len(people))
    with blamed_on(fitted.name, "inspect"):
        mine, others = (
            _learned_states(fitted.codec.encode(table, rng_for(seed, "inspect"))) for table in (people, reference)
        )
        if isinstance(model, IsolatedModel):
            return model.log_odds(mine, others, seed)
        held = list(model.models.values())[-1] if isinstance(model, Snapshots) else model
        return generator.log_odds(held, mine, others, seed)


def _learned_states(data: Encoded) -> Encoded:
    """The same with -1 for missing values in columns that were learned without."""
    columns = [
        np.where(column < feature.n_levels, column, -1).astype(np.int32) if feature.is_discrete else column
        for feature, column in zip(data.features, data.columns, strict=True)
    ]
    return Encoded(data.features, columns, data.persons)
