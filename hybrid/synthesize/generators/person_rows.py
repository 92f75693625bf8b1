"""Rows of persons for generators that draw one row after another.

What is known before a row is drawn: the record of the person (:mod:`hybrid.synthesize.generators.person_table`), the
position, the row before, and summaries of all rows before (:mod:`hybrid.synthesize.generators.row_history`). The column
that orders the rows is learned as the gap to the row before, 0 or more, so that order holds exactly. All persons draw
the row of one position at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.person_table import PersonTable, encoded_order, order_values
from hybrid.synthesize.generators.row_history import RowHistory, lasting_columns, past_summaries
from hybrid.synthesize.protocol import DrawnSequences, Feature, Sequences

LEAST_REPEATED = 0.05
"""Share of rows that repeat the value of the row before, beyond chance, from which repeats are drawn on their own."""
Known = dict[str, Array]
"""Columns by name, one value per row that is drawn."""
DrawRow = Callable[[Known, Sequence[Array], int], list[Array]]
"""From what is known, the rows before and the position to the columns of the rows there."""
PERSON, PAST, BEFORE, ROW, POSITION, TIME = "person ", "past ", "before ", "row ", "position", "time"
"""Names of columns (with their number), of the row's place among those of the person, and of its value in the order."""


@dataclass(frozen=True)
class RowPlan:
    """Order in which rows of drawn persons are drawn.

    Parameters
    ----------
    counts_at, first_at, n_static : int
        As in :class:`~hybrid.synthesize.generators.person_table.PersonTable`.
    features : tuple of Feature
        Columns of a row.
    order : int or None
        The column that orders the rows.
    lasting : mapping of int to Feature
        Columns of a row of which there are summaries (:class:`~hybrid.synthesize.generators.row_history.RowHistory`).
    """

    counts_at: int
    first_at: int | None
    n_static: int
    features: tuple[Feature, ...]
    order: int | None
    lasting: Mapping[int, Feature]

    @classmethod
    def of(cls, data: Sequences, table: PersonTable) -> RowPlan:
        """The plan for data like these."""
        found = lasting_columns(data.rows.features, data.rows.columns, data.counts)
        lasting = {at: feature for at, feature in found.items() if at != data.order}
        places = table.counts_at, table.first_at, table.n_static
        return cls(*places, tuple(data.rows.features), data.order, lasting)

    def draw(self, people: Sequence[Array], draw_row: DrawRow) -> DrawnSequences:
        """Draw the rows of persons, position by position.

        Parameters
        ----------
        people : sequence of numpy.ndarray, each of shape (n_persons,)
            Drawn records of the person table.
        draw_row : callable
            Draws the rows at one position.
        """
        n_persons, counts = len(people[0]), np.rint(people[self.counts_at]).astype(np.int64)
        persons = np.argsort(-counts, kind="stable")
        starts = np.cumsum(counts) - counts
        before, history = no_row(self.features, self.order, n_persons), RowHistory.empty(self.lasting, n_persons)
        columns = [np.empty(int(counts.sum()), dtype=column.dtype) for column in before]
        for position in range(int(counts.max(initial=0))):
            persons = persons[: int((counts[persons] > position).sum())]
            before, history = [column[: len(persons)] for column in before], history.of_first(len(persons))
            known = {f"{PERSON}{at}": people[at][persons] for at in range(len(people))}
            known |= {f"{PAST}{at}": summary for at, summary in history.summaries().items()}
            known[POSITION] = np.full(len(persons), float(position))
            known |= {f"{BEFORE}{at}": column for at, column in enumerate(before)}
            before = row = draw_row(known, before, position)
            history = history.after(row)
            for column, values in zip(columns, row, strict=True):
                column[starts[persons] + position] = values
        if self.order is not None:
            columns[self.order] = encoded_order(self.features[self.order], columns[self.order])
        return DrawnSequences(people[: self.n_static], columns, counts)

    def time(self, known: Known, gap: Array, last: Array, position: int) -> Array:
        """Value of the order in each row.

        That of the row before plus a gap, or the person's first.
        """
        if position == 0 and self.first_at is not None:
            return known[f"{PERSON}{self.first_at}"]
        return last + gap


@dataclass(frozen=True)
class TrainingRows:
    """Training rows with all predictors and targets.

    Parameters
    ----------
    features : mapping of str to Feature
        Description of every column of ``known``.
    known : mapping of str to numpy.ndarray, each of shape (n_rows,)
        Person, position, row before, summaries, value of the order, and columns of the row itself.
    targets : sequence of numpy.ndarray, each of shape (n_rows,)
        Columns of a row; the gap to the row before in the place of the column that orders the rows.
    persons : numpy.ndarray, shape (n_rows,), int64
        Person of each row; negative for rows without a key.
    later : numpy.ndarray of int64
        Rows that follow another one of their person; all rows, where none does.
    """

    features: Mapping[str, Feature]
    known: Mapping[str, Array]
    targets: Sequence[Array]
    persons: Array
    later: Array

    @property
    def given(self) -> list[str]:
        """Names of the columns that are known before a row is drawn."""
        return [name for name in self.known if not name.startswith((TIME, ROW))]

    def kind(self, target: int) -> Feature:
        """Description of a column of a row."""
        name = f"{ROW}{target}"
        return self.features[name if name in self.features else TIME]

    def repeated(self, target: int) -> Array:
        """Rows that repeat the value of the row before.

        None, where there are no more than by chance. Chance is what two random rows have in common; the excess counts
        from :data:`LEAST_REPEATED`.
        """
        values, later = self.targets[target], self.later
        same = later[(values[later] == self.known[f"{BEFORE}{target}"][later])]
        shares = np.unique(values[~np.isnan(values)], return_counts=True)[1] / max(len(values), 1)
        excess = len(same) / len(later) - float(shares @ shares)
        found: Array = same if excess >= LEAST_REPEATED else same[:0]
        return found


def training_rows(data: Sequences, table: PersonTable, plan: RowPlan) -> TrainingRows:
    """Training rows with what would be known before each."""
    features, order, counts = data.rows.features, data.order, data.counts
    owner = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    later = np.flatnonzero(position > 0)
    columns = [order_values(features[at], c) if at == order else c for at, c in enumerate(data.rows.columns)]
    kinds = [_number(feature) if at == order else feature for at, feature in enumerate(features)]
    described = {f"{PERSON}{at}": feature for at, feature in enumerate(table.encoded.features)}
    known: Known = {f"{PERSON}{at}": column[owner] for at, column in enumerate(table.encoded.columns)}
    known[POSITION], described[POSITION] = position.astype(np.float64), Feature(POSITION, 0, True, False)
    for at, (kind, column, empty) in enumerate(zip(kinds, columns, no_row(features, order, len(owner)), strict=True)):
        empty[later] = column[later - 1]
        known[f"{BEFORE}{at}"], described[f"{BEFORE}{at}"] = empty, _with_none(kind)
        name = TIME if at == order else f"{ROW}{at}"
        known[name], described[name] = column, kind
    for at, summary in past_summaries(plan.lasting, columns, counts).items():
        known[f"{PAST}{at}"], described[f"{PAST}{at}"] = summary, _with_none(kinds[at])
    targets = list(columns)
    if order is not None:
        targets[order] = np.zeros(len(owner))
        targets[order][later] = columns[order][later] - columns[order][later - 1]
    persons = owner if data.rows.persons is None else data.rows.persons
    return TrainingRows(described, known, targets, persons, later if len(later) else np.arange(len(owner)))


def no_row(features: Sequence[Feature], order: int | None, n: int) -> list[Array]:
    """Columns of the row before the first one.

    NaN, or a state of its own; each of shape (n,).
    """
    return [
        np.full(n, feature.n_levels, dtype=np.int32) if feature.is_discrete and at != order else np.full(n, np.nan)
        for at, feature in enumerate(features)
    ]


def _number(feature: Feature) -> Feature:
    return Feature(feature.name, 0, ordered=True, missing=feature.missing)


def _with_none(feature: Feature) -> Feature:
    """The feature of a row that may not exist."""
    return Feature(feature.name, feature.n_levels + feature.is_discrete, feature.ordered, missing=True)
