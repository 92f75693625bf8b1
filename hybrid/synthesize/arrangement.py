"""Encoded rows below their parents: of persons with several rows, and of a table with its parent table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.synthesize.protocol import Children, DrawnColumns, Encoded, Feature
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
