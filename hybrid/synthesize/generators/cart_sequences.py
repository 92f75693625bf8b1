"""Sequential trees for persons with several rows.

The person table is drawn by the trees of ``cart``. Rows follow one after another
(:mod:`hybrid.synthesize.generators.person_rows`): every column from a tree grown on what is known before the row, and
the columns drawn before in the same row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import joblib
import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.generators.cart import (
    CartModel,
    CartOptions,
    Smoother,
    drawing_order,
    learn_columns,
)
from hybrid.synthesize.generators.person_rows import (
    BEFORE,
    PERSON,
    ROW,
    TIME,
    Known,
    PersonTable,
    RowPlan,
    TrainingRows,
    person_table,
    training_rows,
)
from hybrid.synthesize.generators.trees import DonorTree, TreeLimits, grow
from hybrid.synthesize.protocol import DrawnSequences, Encoded, Feature, Sequences
from hybrid.table.holders import n_with_key

MOST_TRIES = 10
"""Draws, at most, of a value that must differ from that of the row before."""
FILE = "sequences.joblib"


USUAL = "usual"
"""Name of the share of people like the row's person who have the value of the row before."""


@dataclass(frozen=True)
class RepeatTree:
    """Tree of a column's repeats: whether a row has the value of the row before."""

    whether: DonorTree[str]
    """1 where it has, 0 where a new value is drawn."""
    usual: DonorTree[str] | None
    """Of a discrete column, the first rows' values by the person's columns: how usual the value before is among people
    like the person. Who was in a hospital far from home rarely is there again; without this no single column says so,
    and rows would drift away from their person, one after another."""

    def draw(self, known: Known, last: Array, rng: np.random.Generator) -> Mask:
        """Rows that repeat the value of the row before; shape (n,)."""
        if self.usual is not None:
            known = known | {USUAL: self.usual.shares(known, last)}
        repeated: Mask = self.whether.draw(known, len(last), rng) == 1
        return repeated


@dataclass(frozen=True)
class CartSequenceModel:
    """Trees of persons and of rows. Private: donors are training values."""

    people: CartModel
    """Of the person table; without the first value and the span of the order, where ``ends`` draws these."""
    ends: CartModel | None
    """Of the whole person table, from the persons who have rows; None where all have."""
    plan: RowPlan
    """What is known before each row."""
    steps: tuple[DonorTree[str], ...]
    """One per column of a row, in the order of drawing; the column that orders them first."""
    repeats: Mapping[int, RepeatTree]
    """Of the columns whose value often is that of the row before."""
    smoothers: Mapping[int, Smoother]
    """Of the columns of a row."""

    def draw(self, n_persons: int, seed: int) -> DrawnSequences:
        rng = rng_for(seed, "cart sequences draw")
        return self._drawn((), n_persons, rng)

    def draw_rows(self, persons: Sequence[Array], n_persons: int, seed: int) -> DrawnSequences:
        return self._drawn(persons, n_persons, rng_for(seed, "cart sequences draw rows"))

    def _drawn(self, given: Sequence[Array], n_persons: int, rng: np.random.Generator) -> DrawnSequences:
        """Persons and their rows; the first columns of the person table may be given."""
        people = self.people.draw(n_persons, int(rng.integers(2**31)), given)
        if self.ends is not None:
            people = self.ends.draw(n_persons, int(rng.integers(2**31)), people)
        return self.plan.draw(people, lambda known, before, position: self._row(known, before, position, rng))

    def save(self, folder: Path) -> None:
        joblib.dump(self, folder / FILE)

    def _row(self, known: Known, before: Sequence[Array], position: int, rng: np.random.Generator) -> list[Array]:
        row: dict[int, Array] = {}
        for step in self.steps:
            last = before[step.target]
            if step.target == self.plan.order:
                first = position == 0 and self.plan.first_at is not None
                gap = np.zeros(len(last)) if first else self._new(step, known, len(last), rng)
                row[step.target] = known[TIME] = self.plan.time(known, gap, last, position)
            else:
                row[step.target] = known[f"{ROW}{step.target}"] = self._value(step, known, last, position, rng)
        return [row[at] for at in range(len(self.plan.features))]

    def _value(self, step: DonorTree[str], known: Known, last: Array, position: int, rng: np.random.Generator) -> Array:
        new = self._new(step, known, len(last), rng)
        if position == 0 or step.target not in self.repeats:
            return new
        same = self.repeats[step.target].draw(known, last, rng)
        for _ in range(MOST_TRIES):
            equal = np.flatnonzero(~same & (new == last))
            if not len(equal):
                break
            new[equal] = self._new(step, {name: column[equal] for name, column in known.items()}, len(equal), rng)
        return np.where(same, last, new)

    def _new(self, step: DonorTree[str], known: Known, n_rows: int, rng: np.random.Generator) -> Array:
        new, smoother = step.draw(known, n_rows, rng), self.smoothers.get(step.target)
        return new if smoother is None else smoother.apply(new, rng)


def load_sequences(folder: Path) -> CartSequenceModel:
    model: CartSequenceModel = joblib.load(folder / FILE)
    return model


def learn_sequences(data: Sequences, options: CartOptions, seed: int, progress: Progress) -> CartSequenceModel:
    """Grow the trees of the person table and of the rows.

    Options are those of :class:`CartOptions`. Leaves of rows hold rows of at least ``min_leaf`` persons, or all rows;
    where it is not configured, it follows the number of persons, for the person table and the rows alike.
    """
    limits, holders = options.limits(n_with_key(data.persons.persons))
    table = person_table(data)
    plan, order = RowPlan.of(data, table), data.order
    static = {feature.name for feature in data.persons.features}
    first = [tuple(n for n in options.visit_order if (n in static) is side) for side in (True, False)]
    own = options.model_copy(update={"visit_order": first[0], "min_leaf": limits.least, "smoothing": holders})
    people, ends = _learn_people(table, data, own, seed, progress)
    rows, rng = training_rows(data, table, plan), rng_for(seed, "cart sequences fit")
    targets = list(
        dict.fromkeys([*([] if order is None else [order]), *drawing_order(data.rows, first[1], limits.least)])
    )
    steps, repeats = _grow_all(rows, targets, order, limits, rng, progress)
    smoothers = {}
    for at, feature in enumerate(data.rows.features):
        if holders and (at == order or not feature.is_discrete):
            used = rows.later if at == order else np.arange(len(rows.persons))
            smoothers[at] = Smoother.of(rows.targets[at][used], holders, rows.persons[used])
    return CartSequenceModel(people, ends, plan, tuple(steps), repeats, smoothers)


def _learn_people(
    table: PersonTable, data: Sequences, options: CartOptions, seed: int, progress: Progress
) -> tuple[CartModel, CartModel | None]:
    """Trees of the person table; where persons have no rows, those of the extent of the rows are apart."""
    encoded, rows, given = table.encoded, data.counts > 0, table.n_static if data.given else 0
    if rows.all() or table.first_at is None or not rows.any():
        return learn_columns(encoded, options, seed, progress, given), None
    some = table.counts_at + 1
    people = Encoded(encoded.features[:some], encoded.columns[:some], encoded.persons)
    ends = learn_columns(encoded.take(rows), options, seed, progress, some)
    return learn_columns(people, options, seed, progress, given), ends


def _grow_all(
    rows: TrainingRows,
    targets: Sequence[int],
    order: int | None,
    limits: TreeLimits,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[list[DonorTree[str]], dict[int, RepeatTree]]:
    """Trees of the columns of a row, and of their repeats.

    The column that orders the rows learns from rows that follow another one; a column with repeats from the others.
    """
    everything = np.arange(len(rows.persons))
    drawn, steps = rows.given, list[DonorTree[str]]()
    repeats: dict[int, RepeatTree] = {}
    for number, target in enumerate(targets):
        same = everything[:0] if target == order else rows.repeated(target)
        if len(same):
            repeats[target] = _grow_repeats(rows, target, same, drawn, limits, rng)
        used = rows.later if target == order else np.setdiff1d(everything, same)
        steps.append(_grow(rows, (target, rows.kind(target), rows.targets[target]), drawn, used, limits, rng))
        drawn.append(TIME if target == order else f"{ROW}{target}")
        progress("fit rows of persons", number + 1, len(targets))
    return steps, repeats


def _grow_repeats(
    rows: TrainingRows, target: int, same: Array, names: Sequence[str], limits: TreeLimits, rng: np.random.Generator
) -> RepeatTree:
    """Tree of the repeats of a column, which the rows ``same`` have."""
    everything, values, usual = np.arange(len(rows.persons)), rows.targets[target], None
    if rows.kind(target).is_discrete:
        whose, plain = [name for name in names if name.startswith(PERSON)], replace(limits, small_groups=False)
        usual = _grow(rows, (target, rows.kind(target), values), whose, rows.first, plain, rng)
        before = rows.known[f"{BEFORE}{target}"]
        # Without the person's own first row: in a small group that alone would tell what follows.
        share = usual.shares(rows.known, before, values[rows.first][rows.owner])
        kind = Feature(USUAL, 0, ordered=True, missing=False)
        rows = replace(rows, known={**rows.known, USUAL: share}, features={**rows.features, USUAL: kind})
        names = [*names, USUAL]
    flag = Feature("repeats", 2, ordered=False, missing=False)
    flags = np.isin(everything, same).astype(np.int32)
    return RepeatTree(_grow(rows, (target, flag, flags), names, rows.later, limits, rng), usual)


def _grow(
    rows: TrainingRows,
    column: tuple[int, Feature, Array],
    names: Sequence[str],
    used: Array,
    limits: TreeLimits,
    rng: np.random.Generator,
) -> DonorTree[str]:
    known = {name: rows.known[name][used] for name in names}
    return grow((column[0], column[1], column[2][used]), known, rows.features, rows.persons[used], limits, rng)
