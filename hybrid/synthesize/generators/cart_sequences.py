"""Sequential trees for persons with several rows.

The person table (:mod:`hybrid.synthesize.generators.person_table`) is drawn by the trees of ``cart``. Rows follow one
after another: every column from a tree grown on the person, the position, the row before, summaries of all rows before
(:mod:`hybrid.synthesize.generators.row_history`), and the columns drawn before in the same row. The column that orders
the rows is drawn as the gap to the row before, 0 or more, so that order holds exactly. All persons draw the row of one
position at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.generators.cart import (
    Cart,
    CartModel,
    CartOptions,
    Smoother,
    drawing_order,
    fit_predictors,
    matrix_of,
    new_tree,
    outcome_of,
    person_weights,
    smoother_of,
)
from hybrid.synthesize.generators.person_table import (
    PersonTable,
    encoded_order,
    order_values,
    person_table,
)
from hybrid.synthesize.generators.predictors import Ranks, Scores
from hybrid.synthesize.generators.row_history import RowHistory, lasting_columns, past_summaries
from hybrid.synthesize.protocol import DrawnSequences, Encoded, Feature, Sequences

LEAST_REPEATED = 0.05
"""Share of rows that repeat the value of the row before, beyond chance, from which repeats are drawn on their own."""
MOST_TRIES = 10
"""Draws, at most, of a value that must differ from that of the row before."""
Known = dict[str, Array]
"""Columns by name, one value per row that is drawn."""
_PERSON, _PAST, _BEFORE, _ROW, _POSITION, _TIME = "person ", "past ", "before ", "row ", "position", "time"
"""Names of columns (with their number), of the row's place among those of the person, and of its value in the order."""


@dataclass(frozen=True)
class _Step:
    """Tree of one column of a row with its donors.

    ``donors`` (n,): training values ordered by leaf; ``first``, ``n_donors`` (n_nodes,): those that a leaf draws from.
    """

    target: int
    tree: Any
    predictors: Mapping[str, Ranks | Scores]
    donors: Array
    first: Array
    n_donors: Array

    def draw(self, known: Known, rng: np.random.Generator) -> Array:
        """One value per row, of a training row in the same leaf."""
        leaves = self.tree.apply(matrix_of(self.predictors, known))
        place = self.first[leaves] + (rng.random(len(leaves)) * self.n_donors[leaves]).astype(np.int64)
        drawn: Array = self.donors[place]
        return drawn


@dataclass(frozen=True)
class CartSequenceModel:
    """Trees of persons and of rows. Private: donors are training values.

    Parameters
    ----------
    people : CartModel
        Of the person table; without the first value and the span of the order, where ``ends`` draws these.
    ends : CartModel or None
        Of the whole person table, from the persons who have rows; None where all have.
    counts_at, first_at, n_static : int
        As in :class:`~hybrid.synthesize.generators.person_table.PersonTable`.
    features : tuple of Feature
        Columns of a row.
    order : int or None
        The column that orders the rows.
    lasting : mapping of int to Feature
        Columns of a row of which there are summaries (:class:`~hybrid.synthesize.generators.row_history.RowHistory`).
    steps : tuple
        One per column of a row, in the order of drawing; the column that orders them first.
    repeats : mapping of int to tree
        Of the columns whose value often is that of the row before: 1 where it is, 0 where a new one is drawn.
    smoothers : mapping of int to smoother
        Of the columns of a row.
    """

    people: CartModel
    ends: CartModel | None
    counts_at: int
    first_at: int | None
    n_static: int
    features: tuple[Feature, ...]
    order: int | None
    lasting: Mapping[int, Feature]
    steps: tuple[_Step, ...]
    repeats: Mapping[int, _Step]
    smoothers: Mapping[int, Smoother]

    def draw(self, n_persons: int, seed: int) -> DrawnSequences:
        """As :class:`hybrid.synthesize.protocol.SequenceModel`."""
        rng = rng_for(seed, "cart sequences draw")
        return self._drawn((), n_persons, rng)

    def draw_rows(self, persons: Sequence[Array], n_persons: int, seed: int) -> DrawnSequences:
        """As :class:`hybrid.synthesize.protocol.SequenceModel`."""
        return self._drawn(persons, n_persons, rng_for(seed, "cart sequences draw rows"))

    def _people(self, given: Sequence[Array], n_persons: int, rng: np.random.Generator) -> list[Array]:
        """Columns of the person table, of which the first may be given."""
        people = self.people.draw(n_persons, int(rng.integers(2**31)), given)
        return people if self.ends is None else self.ends.draw(n_persons, int(rng.integers(2**31)), people)

    def _drawn(self, given: Sequence[Array], n_persons: int, rng: np.random.Generator) -> DrawnSequences:
        """Persons and their rows, the rows of one position at once."""
        people = self._people(given, n_persons, rng)
        counts = np.rint(people[self.counts_at]).astype(np.int64)
        persons = np.argsort(-counts, kind="stable")
        starts = np.cumsum(counts) - counts
        before, history = _no_row(self.features, self.order, n_persons), RowHistory.empty(self.lasting, n_persons)
        columns = [np.empty(int(counts.sum()), dtype=column.dtype) for column in before]
        for position in range(int(counts.max(initial=0))):
            persons = persons[: int((counts[persons] > position).sum())]
            own = {f"{_PERSON}{at}": people[at][persons] for at in range(len(people))}
            history = history.of_first(len(persons))
            own |= {f"{_PAST}{at}": summary for at, summary in history.summaries().items()}
            before = row = self._row(own, [column[: len(persons)] for column in before], position, rng)
            history = history.after(row)
            for column, values in zip(columns, row, strict=True):
                column[starts[persons] + position] = values
        if self.order is not None:
            columns[self.order] = encoded_order(self.features[self.order], columns[self.order])
        return DrawnSequences(people[: self.n_static], columns, counts)

    def _row(self, own: Known, before: Sequence[Array], position: int, rng: np.random.Generator) -> list[Array]:
        """Columns of the rows at one position."""
        n = len(own[f"{_PERSON}{self.counts_at}"])
        known = own | {_POSITION: np.full(n, float(position))} | {f"{_BEFORE}{at}": c for at, c in enumerate(before)}
        row: dict[int, Array] = {}
        for step in self.steps:
            last = before[step.target]
            if step.target == self.order:
                row[step.target] = known[_TIME] = self._time(step, known, last, position, rng)
            else:
                row[step.target] = known[f"{_ROW}{step.target}"] = self._value(step, known, last, position, rng)
        return [row[at] for at in range(len(self.features))]

    def _value(self, step: _Step, known: Known, last: Array, position: int, rng: np.random.Generator) -> Array:
        """One value per row, repeated from the row before or new."""
        new = self._new(step, known, rng)
        if position == 0 or step.target not in self.repeats:
            return new
        same = self.repeats[step.target].draw(known, rng) == 1
        for _ in range(MOST_TRIES):
            equal = np.flatnonzero(~same & (new == last))
            if not len(equal):
                break
            new[equal] = self._new(step, {name: column[equal] for name, column in known.items()}, rng)
        return np.where(same, last, new)

    def _new(self, step: _Step, known: Known, rng: np.random.Generator) -> Array:
        """One value per row; rare numbers between their neighbours."""
        new, smoother = step.draw(known, rng), self.smoothers.get(step.target)
        return new if smoother is None else smoother.apply(new, rng)

    def _time(self, step: _Step, known: Known, last: Array, position: int, rng: np.random.Generator) -> Array:
        """Value of the order in each row.

        That of the row before plus a gap, or the person's first.
        """
        if position == 0 and self.first_at is not None:
            return known[f"{_PERSON}{self.first_at}"]
        return last + self._new(step, known, rng)


@dataclass(frozen=True)
class _Rows:
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

    def kind(self, target: int) -> Feature:
        """Description of a column of a row."""
        name = f"{_ROW}{target}"
        return self.features[name if name in self.features else _TIME]


def learn_sequences(data: Sequences, options: CartOptions, seed: int, progress: Progress) -> CartSequenceModel:
    """Grow the trees of the person table and of the rows.

    Options are those of :class:`CartOptions`. Leaves of rows hold rows of at least ``min_leaf`` persons, or all rows.
    """
    table = person_table(data)
    features, order = tuple(data.rows.features), data.order
    static = {feature.name for feature in data.persons.features}
    first = [tuple(n for n in options.visit_order if (n in static) is side) for side in (True, False)]
    own = options.model_copy(update={"visit_order": first[0]})
    people, ends = _learn_people(table, data.counts, own, seed, progress)
    lasting = {at: f for at, f in lasting_columns(features, data.rows.columns, data.counts).items() if at != order}
    rows, rng = _training_rows(data, table, lasting), rng_for(seed, "cart sequences fit")
    targets = list(dict.fromkeys([*([] if order is None else [order]), *drawing_order(features, first[1])]))
    steps, repeats = _grow_all(rows, targets, order, options, rng, progress)
    smoothers = {}
    for at, feature in enumerate(features):
        if at == order or not feature.is_discrete:
            used = rows.later if at == order else np.arange(len(rows.persons))
            smoothers[at] = smoother_of(rows.targets[at][used], options.smoothing, rows.persons[used])
    places = table.counts_at, table.first_at, table.n_static
    return CartSequenceModel(people, ends, *places, features, order, lasting, tuple(steps), repeats, smoothers)


def _learn_people(
    table: PersonTable, counts: Array, options: CartOptions, seed: int, progress: Progress
) -> tuple[CartModel, CartModel | None]:
    """Trees of the person table.

    Where persons have no rows, those of the extent of the rows are apart.
    """
    data, rows = table.encoded, counts > 0
    if rows.all() or table.first_at is None or not rows.any():
        return Cart().learn(data, options, seed, progress), None
    some = table.counts_at + 1
    people = Encoded(data.features[:some], data.columns[:some], data.persons)
    with_rows = Encoded(
        data.features, [c[rows] for c in data.columns], None if data.persons is None else data.persons[rows]
    )
    return Cart().learn(people, options, seed, progress), Cart().learn(with_rows, options, seed, progress)


def _grow_all(
    rows: _Rows,
    targets: Sequence[int],
    order: int | None,
    options: CartOptions,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[list[_Step], dict[int, _Step]]:
    """Trees of the columns of a row, and of their repeats.

    The column that orders the rows learns from rows that follow another one; a column with repeats from the others.
    """
    everything = np.arange(len(rows.persons))
    drawn, steps = [name for name in rows.known if not name.startswith((_TIME, _ROW))], list[_Step]()
    repeats: dict[int, _Step] = {}
    for number, target in enumerate(targets):
        same = everything[:0] if target == order else _repeated(rows, target)
        if len(same):
            flag = Feature("repeats", 2, ordered=False, missing=False)
            flags = np.isin(everything, same).astype(np.int32)
            repeats[target] = _grow(rows, (target, flag, flags), drawn, rows.later, options, rng)
        used = rows.later if target == order else np.setdiff1d(everything, same)
        steps.append(_grow(rows, (target, rows.kind(target), rows.targets[target]), drawn, used, options, rng))
        drawn.append(_TIME if target == order else f"{_ROW}{target}")
        progress("fit rows of persons", number + 1, len(targets))
    return steps, repeats


def _training_rows(data: Sequences, table: PersonTable, lasting: Mapping[int, Feature]) -> _Rows:
    features, order, counts = data.rows.features, data.order, data.counts
    owner = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    later = np.flatnonzero(position > 0)
    columns = [order_values(features[at], c) if at == order else c for at, c in enumerate(data.rows.columns)]
    kinds = [_number(feature) if at == order else feature for at, feature in enumerate(features)]
    described = {f"{_PERSON}{at}": feature for at, feature in enumerate(table.encoded.features)}
    known: Known = {f"{_PERSON}{at}": column[owner] for at, column in enumerate(table.encoded.columns)}
    known[_POSITION], described[_POSITION] = position.astype(np.float64), Feature(_POSITION, 0, True, False)
    for at, (kind, column, empty) in enumerate(zip(kinds, columns, _no_row(features, order, len(owner)), strict=True)):
        empty[later] = column[later - 1]
        known[f"{_BEFORE}{at}"], described[f"{_BEFORE}{at}"] = empty, _with_none(kind)
        name = _TIME if at == order else f"{_ROW}{at}"
        known[name], described[name] = column, kind
    for at, summary in past_summaries(lasting, columns, counts).items():
        known[f"{_PAST}{at}"], described[f"{_PAST}{at}"] = summary, _with_none(kinds[at])
    targets = list(columns)
    if order is not None:
        targets[order] = np.zeros(len(owner))
        targets[order][later] = columns[order][later] - columns[order][later - 1]
    persons = owner if data.rows.persons is None else data.rows.persons
    return _Rows(described, known, targets, persons, later if len(later) else np.arange(len(owner)))


def _number(feature: Feature) -> Feature:
    return Feature(feature.name, 0, ordered=True, missing=feature.missing)


def _with_none(feature: Feature) -> Feature:
    """The feature of a row that may not exist."""
    return Feature(feature.name, feature.n_levels + feature.is_discrete, feature.ordered, missing=True)


def _no_row(features: Sequence[Feature], order: int | None, n: int) -> list[Array]:
    """Columns of the row before the first one.

    NaN, or a state of its own; each of shape (n,).
    """
    return [
        np.full(n, feature.n_levels, dtype=np.int32) if feature.is_discrete and at != order else np.full(n, np.nan)
        for at, feature in enumerate(features)
    ]


def _repeated(rows: _Rows, target: int) -> Array:
    """Rows that repeat the value of the row before.

    None, where there are no more than by chance. Chance is what two random rows have in common; the excess counts from
    :data:`LEAST_REPEATED`.
    """
    values, later = rows.targets[target], rows.later
    same = later[(values[later] == rows.known[f"{_BEFORE}{target}"][later])]
    shares = np.unique(values[~np.isnan(values)], return_counts=True)[1] / max(len(values), 1)
    excess = len(same) / len(later) - float(shares @ shares)
    found: Array = same if excess >= LEAST_REPEATED else same[:0]
    return found


def _grow(
    rows: _Rows,
    column: tuple[int, Feature, Array],
    names: Sequence[str],
    used: Array,
    options: CartOptions,
    rng: np.random.Generator,
) -> _Step:
    target, feature, values = column[0], column[1], column[2][used]
    outcome, persons = outcome_of(values, feature, rng), rows.persons[used]
    known = {name: rows.known[name][used] for name in names}
    predictors = fit_predictors(known, rows.features, outcome, options.min_leaf, person_weights(persons))
    matrix = matrix_of(predictors, known)
    tree = new_tree(outcome, options, int(rng.integers(2**31)), None)
    tree.fit(matrix, outcome)
    leaves = tree.apply(matrix)
    by_leaf = np.argsort(leaves, kind="stable")
    first, n_donors = _donors(tree.tree_, leaves[by_leaf], persons[by_leaf], options.min_leaf)
    return _Step(target, tree, predictors, values[by_leaf], first, n_donors)


def _donors(tree: Any, leaves: Array, persons: Array, least: int) -> tuple[Array, Array]:
    """First donor and number of donors of every node; shape (n_nodes,).

    A leaf with rows of fewer than ``least`` persons draws from its nearest ancestor with enough. Nodes are numbered
    depth first, so that the rows below a node are adjacent where rows are sorted by leaf.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    leaves, persons : numpy.ndarray, shape (n_rows,)
        Leaf and person of each row, sorted by leaf; rows of a negative person count for nobody.
    """
    n_nodes = tree.node_count
    parent, end = np.full(n_nodes, -1), np.arange(1, n_nodes + 1)
    for node in range(n_nodes - 1, -1, -1):
        left, right = tree.children_left[node], tree.children_right[node]
        if left >= 0:
            parent[[left, right]], end[node] = node, end[right]
    starts = np.searchsorted(leaves, np.arange(n_nodes + 1))
    home = np.arange(n_nodes)
    pairs = np.unique(np.stack([leaves, persons])[:, persons >= 0], axis=1)[0]
    lacking = np.bincount(pairs, minlength=n_nodes) < least
    for leaf in np.flatnonzero(lacking & (tree.children_left < 0)):
        node = leaf
        while parent[node] >= 0 and _n_known(persons[starts[node] : starts[end[node]]]) < least:
            node = parent[node]
        home[leaf] = node
    return starts[home], starts[end[home]] - starts[home]


def _n_known(persons: Array) -> int:
    """Number of different persons with a key."""
    return len(np.unique(persons[persons >= 0]))
