"""Fitting of a generator to persons with several rows, or to rows given their parents."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.fitted import Curve, LossPoint, blamed_on, say_if_interrupted
from hybrid.synthesize.isolation.job import IsolatedSequences, Limits, learn_sequences_isolated
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.protocol import DrawnSequences, Encoded, Feature, SequenceGenerator, SequenceModel, Sequences
from hybrid.synthesize.registry import is_here, require, sequence_generators
from hybrid.table import Table
from hybrid.table.persons import person_groups

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Arrangement:
    """Places of encoded columns among those of persons and of rows."""

    features: tuple[Feature, ...]
    """The codec's."""
    static: Mask
    """Columns of persons; shape (n_features,), bool."""
    holes: tuple[int, ...]
    """Columns of persons that single rows may lack: a flag of each is among the last columns of the rows."""

    def whole(self, drawn: DrawnSequences) -> list[Array]:
        """Columns of the table in the codec's order, from drawn persons and rows."""
        persons, rows = iter(drawn.persons), iter(drawn.rows)
        columns = [np.repeat(next(persons), drawn.counts) if static else next(rows) for static in self.static]
        for at, flag in zip(self.holes, rows, strict=True):
            feature = self.features[at]
            columns[at] = np.where(flag == 1, feature.n_levels - 1 if feature.is_discrete else np.nan, columns[at])
        return columns


@dataclass(frozen=True)
class FittedSequences:
    """A generator trained on persons with all their rows. Private."""

    name: str
    """The generator."""
    codec: Codec
    """Turns what the model draws into a table."""
    model: SequenceModel
    """Draws persons."""
    arrangement: Arrangement
    """Which columns are a person's."""
    losses: tuple[LossPoint, ...] = field(default=(), compare=False)
    """The loss curve; empty for generators without one."""

    def limited(self, limits: Limits) -> FittedSequences:
        """The same with other limits for the process that draws."""
        model = self.model
        return replace(self, model=replace(model, limits=limits)) if isinstance(model, IsolatedSequences) else self

    def sample(self, n_persons: int, seed: int) -> Table:
        """Draw exactly ``n_persons`` (1 or more) persons with all their rows.

        Returns
        -------
        Table
            With the schema, dtypes, categories and precision of the table learned from, and the person of each row
            (0, 1, ...). The rows of a person are adjacent, and in order. The same seed gives the same rows.
        """
        with blamed_on(self.name, "draw"):
            drawn = self.model.draw(n_persons, seed)
        n_rows = int(drawn.counts.sum())
        if n_rows == 0:
            raise GeneratorError(f"{self.name} drew persons without rows", hint="learn from more persons")
        columns = self.arrangement.whole(drawn)
        return replace(self.codec.decode(columns, n_rows), named_persons=np.repeat(np.arange(n_persons), drawn.counts))


def fit_sequences(
    table: Table,
    static: Sequence[str],
    options: SynthesizeOptions,
    seed: int,
    progress: Progress = silent,
    unfinished: Path | None = None,
) -> FittedSequences:
    """Train the generator that ``options`` names on persons.

    Parameters
    ----------
    table : Table, 1 row or more
        No identifiers, with the person of each row. Rows of a person are in the order of the column that the schema
        marks, or in the table's order.
    static : sequence of str
        Columns with one known value per person, the first of which is learned.
    options : SynthesizeOptions
        Its generator must be a :class:`~hybrid.synthesize.protocol.SequenceGenerator`.
    seed : int
        0 or more. The same seed, table, options and versions give the same model.

    Raises
    ------
    DataError, MissingExtraError
        As :func:`hybrid.synthesize.fit`.
    GeneratorError
        Training failed, the table has identifiers, or the generator learns single rows only.
    """
    generator = options.engine
    require(generator)
    if not isinstance(generator, SequenceGenerator) or table.rows_are_persons:
        hint = f"use synthesize.generator: {' or '.join(sequence_generators())}"
        raise GeneratorError(f"{generator.name} draws single rows, no persons", hint=hint)
    codec = Codec(table, generator.encoding(options.resolve()))
    whole = codec.encode(table, rng_for(seed, "encode"))
    is_static = np.array([name in static for name in codec.origins], dtype=bool)
    order = table.schema.order
    at = codec.origins.index(order) if order in codec.origins and order not in static else None
    data, arrangement = arranged(whole, table.persons, is_static, at)
    curve = Curve(progress)
    model = learn(generator, data, options, seed, curve, unfinished)
    return FittedSequences(generator.name, codec, model, arrangement, tuple(curve.points))


def learn(
    generator: SequenceGenerator,
    data: Sequences,
    options: SynthesizeOptions,
    seed: int,
    progress: Progress,
    unfinished: Path | None = None,
) -> SequenceModel:
    """Train a generator on persons, in a process of its own where the options want that."""
    own = options.resolve()
    if unfinished is not None:
        say_if_interrupted(generator, unfinished)
    if generator.requires and (options.isolate or not is_here(generator)):
        return learn_sequences_isolated(generator, data, own, seed, progress, options.limits, unfinished)
    with blamed_on(generator.name, "learn"):
        return generator.learn_sequences(data, own, seed, progress, unfinished)


def arranged(whole: Encoded, persons: Codes, static: Mask, order: int | None) -> tuple[Sequences, Arrangement]:
    """Arrange encoded rows by person, in their order.

    Parameters
    ----------
    whole : Encoded, n rows
    persons : numpy.ndarray, shape (n,), int
        Person of each row.
    static : numpy.ndarray, shape (n_features,), bool
        Columns whose first known value is the person's. Where rows of a person lack it, a flag becomes a column of the
        rows.
    order : int or None
        Position in ``whole`` of the column that orders the rows.
    """
    groups = person_groups(persons)
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
    data = Sequences(
        Encoded(*_apart(of_person), persons[rows][np.cumsum(counts) - counts]),
        Encoded(*_apart([*of_row, *flags]), persons[rows]),
        counts,
        None if order is None else int((~static[:order]).sum()),
    )
    return data, Arrangement(tuple(whole.features), static, tuple(at for at, _ in holes))


def _apart(pairs: Sequence[tuple[Feature, Array]]) -> tuple[list[Feature], list[Array]]:
    return [feature for feature, _ in pairs], [values for _, values in pairs]


def _missing(feature: Feature, values: Array) -> Mask:
    """Mask of missing values of an encoded column; shape (n,)."""
    if not feature.is_discrete:
        return np.isnan(values)
    return np.asarray(values == (feature.n_levels - 1 if feature.missing else -1))


def missing_last(values: Array) -> Array:
    """Numbers that sort a column, missing values last; shape (n,), float64."""
    numbers = values.astype(np.float64)
    return np.where(np.isnan(numbers), np.inf, numbers)


@dataclass(frozen=True)
class FittedChildren:
    """A generator trained on rows with the parent of each. Private."""

    name: str
    """The generator."""
    parents: Codec
    rows: Codec
    """Of the parent table, and of the table itself."""
    model: SequenceModel
    """Draws the rows of given parents."""

    def limited(self, limits: Limits) -> FittedChildren:
        """The same with other limits for the process that draws."""
        model = self.model
        return replace(self, model=replace(model, limits=limits)) if isinstance(model, IsolatedSequences) else self

    def sample(self, parents: Table, seed: int) -> Table:
        """Draw the rows of all given parents.

        Parameters
        ----------
        parents : Table, 1 row or more
            With the columns of the parents learned from.
        seed : int
            The same parents and seed give the same rows.

        Returns
        -------
        Table
            ``persons`` has the position of each row's parent, ascending; parents may have no rows. Rows of a parent are
            in order.

        Raises
        ------
        GeneratorError
            The model drew something that is no value.
        """
        known = _known(self.parents.encode(parents, rng_for(seed, "encode parents")), rng_for(seed, "unseen"))
        with blamed_on(self.name, "draw"):
            drawn = self.model.draw_rows(known, len(parents), seed)
        owners = np.repeat(np.arange(len(parents)), drawn.counts)
        return replace(self.rows.decode(list(drawn.rows), len(owners)), named_persons=owners)


def fit_children(
    parents: Table, rows: Table, options: SynthesizeOptions, seed: int, progress: Progress = silent
) -> FittedChildren:
    """Train the generator that ``options`` names on rows, given their parents.

    Parameters
    ----------
    parents : Table, n_parents rows
        No identifiers; ``persons`` has the person of each, which several may share.
    rows : Table, 1 row or more
        No identifiers and no columns of the parents; ``persons`` has the position of each row's parent. Rows of a
        parent are in the order of the column that the schema marks, or in the table's order.
    options : SynthesizeOptions
        Its generator must be a :class:`~hybrid.synthesize.protocol.SequenceGenerator`.
    seed : int
        0 or more. The same seed, tables, options and versions give the same model.

    Raises
    ------
    DataError, MissingExtraError
        As :func:`hybrid.synthesize.fit`.
    GeneratorError
        Training failed, a table has identifiers, or the generator learns single rows only.
    """
    generator = options.engine
    if not isinstance(generator, SequenceGenerator) or rows.rows_are_persons:
        names = " or ".join(sequence_generators())
        raise GeneratorError(f"{generator.name} draws single rows", hint=f"use synthesize.generator: {names}")
    require(generator)
    own = options.resolve()
    codecs = [Codec(table, generator.encoding(own)) for table in (parents, rows)]
    encoded = [
        codec.encode(table, rng_for(seed, "encode", which))
        for codec, table, which in zip(codecs, (parents, rows), ("parents", "rows"), strict=True)
    ]
    who = person_groups(parents.persons)
    data = _sequences(encoded[0], encoded[1], who, rows.persons, _order_of(rows, codecs[1]))
    model = learn(generator, data, options, seed, progress)
    return FittedChildren(generator.name, codecs[0], codecs[1], model)


def _order_of(rows: Table, codec: Codec) -> int | None:
    order = rows.schema.order
    return codec.origins.index(order) if order in codec.origins else None


def _sequences(parents: Encoded, rows: Encoded, who: Codes, owners: Codes, order: int | None) -> Sequences:
    times = [] if order is None else [missing_last(rows.columns[order])]
    places = np.lexsort([*times, owners])
    counts = np.bincount(owners, minlength=len(who))
    arranged = Encoded(rows.features, [column[places] for column in rows.columns], who[owners[places]])
    return Sequences(replace(parents, persons=who), arranged, counts, order, given=True)


def _known(parents: Encoded, rng: np.random.Generator) -> list[Array]:
    """Columns of parents, unseen states replaced by random ones."""
    return [_seen(feature, column, rng) for feature, column in zip(parents.features, parents.columns, strict=True)]


def _seen(feature: Feature, column: Array, rng: np.random.Generator) -> Array:
    if not feature.is_discrete:
        return column
    strange = (column < 0) | (column >= feature.n_levels)
    drawn = rng.integers(feature.n_levels, size=len(column)).astype(column.dtype)
    return np.where(strange, drawn, column)
