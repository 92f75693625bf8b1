"""Fitting of a generator to rows, given their parents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hybrid.base.arrays import Array, Codes
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.fitted import blamed_on
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.synthesize.protocol import Encoded, Feature, SequenceGenerator, SequenceModel, Sequences
from hybrid.synthesize.registry import require, sequence_generators
from hybrid.synthesize.sequences import learn, missing_last
from hybrid.table import Table
from hybrid.table.persons import person_groups


@dataclass(frozen=True)
class FittedChildren:
    """A generator trained on rows with the parent of each. Private.

    Parameters
    ----------
    name : str
        The generator.
    parents, rows : Codec
        Of the parent table, and of the table itself.
    model : SequenceModel
        Draws the rows of given parents.
    """

    name: str
    parents: Codec
    rows: Codec
    model: SequenceModel

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
        return replace(self.rows.decode(list(drawn.rows), len(owners)), persons=owners)


def fit_children(
    parents: Table, rows: Table, options: SynthesizeOptions, seed: int, progress: Progress = silent
) -> FittedChildren:
    """Train the generator that ``options`` names on rows, given their parents.

    Parameters
    ----------
    parents : Table, n_parents rows
        No identifiers; ``persons`` has the person of each, which several may share; None: each is another person.
    rows : Table, 1 row or more
        No identifiers and no columns of the parents; ``persons`` has the position of each row's parent. Rows of a
        parent are in the order of the column that the schema marks, or in the table's order.
    options : SynthesizeOptions
        Its generator must be a :class:`~hybrid.synthesize.protocol.SequenceGenerator`.
    seed : int
        0 or more. The same seed, tables, options and versions give the same model.
    progress : Progress
        Receives every column.

    Raises
    ------
    DataError, MissingExtraError
        As :func:`hybrid.synthesize.fit`.
    GeneratorError
        Training failed, a table has identifiers, or the generator learns single rows only.
    """
    generator = options.engine
    if not isinstance(generator, SequenceGenerator) or rows.persons is None:
        names = " or ".join(sequence_generators())
        raise GeneratorError(f"{generator.name} draws single rows", hint=f"use synthesize.generator: {names}")
    require(generator)
    own = options.resolve()
    codecs = [Codec(table, generator.encoding(own)) for table in (parents, rows)]
    encoded = [
        codec.encode(table, rng_for(seed, "encode", which))
        for codec, table, which in zip(codecs, (parents, rows), ("parents", "rows"), strict=True)
    ]
    who = np.arange(len(parents)) if parents.persons is None else person_groups(parents.persons)
    data = _sequences(encoded[0], encoded[1], who, rows.persons, _order_of(rows, codecs[1]))
    model = learn(generator, data, options, seed, progress)
    return FittedChildren(generator.name, codecs[0], codecs[1], model)


def _order_of(rows: Table, codec: Codec) -> int | None:
    """Position of the encoded column that orders the rows."""
    order = rows.schema.order
    return codec.origins.index(order) if order in codec.origins else None


def _sequences(parents: Encoded, rows: Encoded, who: Codes, owners: Codes, order: int | None) -> Sequences:
    """Encoded rows arranged by their parents."""
    times = [] if order is None else [missing_last(rows.columns[order])]
    places = np.lexsort([*times, owners])
    counts = np.bincount(owners, minlength=len(who))
    arranged = Encoded(rows.features, [column[places] for column in rows.columns], who[owners[places]])
    return Sequences(replace(parents, persons=who), arranged, counts, order)


def _known(parents: Encoded, rng: np.random.Generator) -> list[Array]:
    """Columns of parents, unseen states replaced by random ones."""
    return [_seen(feature, column, rng) for feature, column in zip(parents.features, parents.columns, strict=True)]


def _seen(feature: Feature, column: Array, rng: np.random.Generator) -> Array:
    if not feature.is_discrete:
        return column
    strange = (column < 0) | (column >= feature.n_levels)
    drawn = rng.integers(feature.n_levels, size=len(column)).astype(column.dtype)
    return np.where(strange, drawn, column)
