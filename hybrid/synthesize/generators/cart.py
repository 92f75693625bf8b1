"""Sequential regression and classification trees: the method of synthpop, on scikit-learn.

The first column is drawn from its own distribution. Every next column is drawn from a tree grown on the
columns before it: a synthetic record falls into a leaf and takes the value of one of the training records
there (Reiter, J. Off. Stat. 21(3), 2005; Nowok, Raab, Dibben, J. Stat. Softw. 74(11), 2016,
doi:10.18637/jss.v074.i11).

Rows of persons, or of parents, follow one after another (:mod:`hybrid.synthesize.generators.person_rows`): the person
table is drawn by such trees, and every column of a row from a tree grown on what is known before the row, and the
columns drawn before in the same row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from hybrid.base.arrays import Array, Mask
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.generators.person_rows import (
    BEFORE,
    MOST_LEVELS,
    MOST_ROWS,
    PERSON,
    POSITION,
    ROW,
    TIME,
    CategoryRows,
    Known,
    PersonTable,
    Recurrence,
    RowPlan,
    TrainingRows,
    earlier_rows,
    fit_recurrence,
    person_table,
    training_rows,
)
from hybrid.synthesize.generators.regressions import LinearStep, LogisticStep, Method, fit_regression, refuse_methods
from hybrid.synthesize.generators.smoothing import Smoother
from hybrid.synthesize.generators.trees import DonorTree, K, TreeLimits, grow, occurrences, only, person_weights
from hybrid.synthesize.protocol import Children, Cost, DrawnColumns, Encoded, Encoding, Feature, Generator
from hybrid.table.holders import n_with_key

PRIOR_PEOPLE = 5.0
"""People of the marginal distribution who are added to those of the reference in every leaf. Of 1, 5 and none of the
leaf's own (the marginal alone) 5 found most people of Adult, with leaves of 1 to 50."""
PRIOR_DONORS = 0.1
"""The same, added to the training values of a leaf: a value that none of them has is unlikely, not impossible."""


def leaf_odds(
    tree: DonorTree[K], known: Mapping[K, Array], values: Array, known_reference: Mapping[K, Array], reference: Array
) -> Array:
    """Log of how much more frequent values are among the training values of their leaf than among other people there.

    0: as frequent as among other people; larger: more; shape (n,). With t of T training values of the leaf equal to the
    record's, r of R reference people who fall into it, and the share q = (r_all + 1/2) / (n_reference + 1) of the value
    among all reference people: log((t + q/10) / (T + 1/10)) - log((r + 5 q) / (R + 5)). ``known`` and
    ``known_reference`` are the columns that the tree reads, ``values`` and ``reference`` its own column, in which NaN
    is a value.
    """
    if tree.apart:
        first, rest = tree.apart[0], replace(tree, apart=tree.apart[1:])
        holds, hold = first.has(values), first.has(reference)
        flags, others = holds.astype(np.int32), hold.astype(np.int32)
        of_flags = leaf_odds(first.holders, known, flags, known_reference, others)
        of_values = leaf_odds(rest, known, values, only(known_reference, ~hold), reference[~hold])
        return np.asarray(of_flags + np.where(holds, 0.0, of_values))
    if tree.certain is not None:
        groups, rest = tree.certain, replace(tree, certain=None)
        held, of_reference = groups.holds(known, len(values)), groups.holds(known_reference, len(reference))
        of_all = np.zeros(len(values))
        for part, mine, theirs in ((groups.tree, held, of_reference), (rest, ~held, ~of_reference)):
            some, others_there = only(known, mine), only(known_reference, theirs)
            of_all[mine] = leaf_odds(part, some, values[mine], others_there, reference[theirs])
        return of_all
    own, others = tree.leaves(known, len(values)), tree.leaves(known_reference, len(reference))
    _, codes = np.unique(np.concatenate([tree.donors, values, reference]), return_inverse=True)
    donors, mine, theirs = np.split(codes, np.cumsum([len(tree.donors), len(values)]))
    width = int(codes.max(initial=0)) + 1
    share = (np.bincount(theirs, minlength=width)[mine] + 0.5) / (len(reference) + 1)
    trained = occurrences(tree.donor_leaves * width + donors, own * width + mine)
    seen = occurrences(others * width + theirs, own * width + mine)
    there = np.bincount(others, minlength=len(tree.count))[own]
    among_donors = (trained + PRIOR_DONORS * share) / (tree.count[own] + PRIOR_DONORS)
    among_others = (seen + PRIOR_PEOPLE * share) / (there + PRIOR_PEOPLE)
    return np.asarray(np.log(among_donors) - np.log(among_others))


FEWEST, MOST, SHARE = 10, 50, 50
"""People who count as enough where nothing is configured: one of so many, within these ends."""
OF_STATES = 0.3
"""``alpha`` of columns of three states or more where none is configured, of so many people that leaves no longer grow
with them: of fewer it costs more relations than it hides people."""
_SECONDS_PER_WORK = 1.6e-8
"""Per record, column, column before it and halving of the records: Adult."""


class CartOptions(Options):
    """Options of ``cart``."""

    min_leaf: int | None = Field(default=None, ge=1)
    """Training records that every leaf holds at least, or persons with `data.person` (smaller ones: `small_groups`);
    larger: smoother, fewer copies, less detail. null: a fiftieth of the training records or persons, but 10 at least
    and 50 at most."""
    alpha: float | None = Field(default=None, gt=0, le=1)
    """Below 1, a split of a tree counts for nothing if chance alone would make one as good with a larger probability,
    counted in people, and in full once it is twice as good: an attacker finds less of single people, and relations that
    many weak splits carry are lost. 1: every split counts, as in synthpop. null: 0.3 for columns of three states or
    more that are learned from 2,500 people or more; 1 for others, and for numbers and two states, whose weak relations
    slopes carry."""
    slopes: bool = True
    """Whether a value follows the columns drawn before it within a leaf, too. A donor's number or ordered state is
    moved by the slope that people bear out, in ranks; which of two states a row has follows a logistic regression with
    a level for each leaf. Large leaves then keep relations."""
    small_groups: bool = True
    """Whether a category, or who lacks a number, is also drawn within groups of a fifth of `min_leaf` people, ten at
    least, that differ from others so much that chance explains it once in ten thousand times: children without an
    occupation, a rare diagnosis that always brings the same treatment."""
    max_depth: int | None = Field(default=None, ge=1)
    """Splits from root to leaf at most; null: no limit."""
    smoothing: int | None = Field(default=None, ge=0)
    """A number, date or amount that fewer training records than this have, or persons with `data.person`, is not
    copied: it is drawn evenly from an interval of the distribution that holds so many of them. null: as for
    `min_leaf`. 0: copies are kept, as in synthpop."""
    visit_order: tuple[str, ...] = ()
    """Columns to draw first, in this order; then the columns marked as targets, so that all others are drawn
    given them; then the rest in the table's order. Columns that nearly everybody has the same value of come later:
    trees can hardly split on them, and draw them given all others. Targets of two states come last, and follow all."""
    methods: dict[str, Method] = Field(default_factory=dict)
    """How single columns are drawn given those drawn before them: tree (all that are not named), linear (numbers and
    dates: a linear regression with normal residuals, never a copied value) or logistic (categories). Regressions have
    no interactions. Not for persons with several rows."""

    def limits(self, people: int) -> tuple[TreeLimits, int]:
        """Limits of the trees of so many training people, and the people who must have a number that is copied."""
        least = enough_people(people) if self.min_leaf is None else self.min_leaf
        of_states = OF_STATES if self.alpha is None and people >= SHARE * MOST else None
        return (
            TreeLimits(least, self.alpha or 1.0, self.max_depth, self.slopes, self.small_groups, of_states),
            enough_people(people) if self.smoothing is None else self.smoothing,
        )


def enough_people(people: int) -> int:
    """People of a leaf, and of a number that is copied, where none are configured.

    A fiftieth of the training people, but 10 at least and 50 at most: of 350 people leaves of 50 would hold every
    seventh, and few relations between columns would be left.
    """
    return min(max(people // SHARE, FEWEST), MOST)


def leaf_of_sampled(people: int) -> int:
    """People of a leaf that is proposed where only some of ``people`` are sampled.

    That of :func:`enough_people` up to 2,500 people, and their square root beyond. Of more people smaller leaks are
    found, and an average over neighbours errs least if these grow in number with the people: as n^(2 / (d + 2)) for d
    predictors (Gyorfi et al., A Distribution-Free Theory of Nonparametric Regression, 2002, theorem 6.2).
    """
    return max(enough_people(people), min(people // SHARE, isqrt(people)))


@dataclass(frozen=True)
class CartModel:
    """Trees with their donors, and regressions. Private: donors are training values."""

    steps: tuple[DonorTree[int] | LinearStep | LogisticStep, ...]
    smoothers: Mapping[int, Smoother]

    def draw(self, n: int, seed: int) -> DrawnColumns:
        return DrawnColumns(self.columns(n, seed))

    def columns(self, n_rows: int, seed: int, given: Sequence[Array] = ()) -> list[Array]:
        """Draw all columns but the first ones that are ``given``, which stay as they are."""
        rng = rng_for(seed, "cart draw")
        drawn: dict[int, Array] = dict(enumerate(given))
        for step in self.steps:
            if step.target >= len(given):
                drawn[step.target] = step.draw(drawn, n_rows, rng)
        for at, smoother in self.smoothers.items():
            if at >= len(given):
                drawn[at] = smoother.apply(drawn[at], rng)
        return [drawn[at] for at in range(len(drawn))]


class Cart(Generator):
    """The generator ``cart``."""

    name = "cart"
    title = "sequential trees, the method of synthpop: seconds, no deep learning"
    licence = "Apache-2.0 (ours, on scikit-learn, BSD-3-Clause)"
    learns_parents = True
    Options = CartOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "synthpop": {"min_leaf": 5, "smoothing": 0, "slopes": False, "alpha": 1.0},
    }

    def encoding(self, options: CartOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        return Encoding()

    def cost(self, features: Sequence[Feature], n_rows: int, options: CartOptions) -> Cost:  # noqa: ARG002
        work = n_rows * np.log2(n_rows + 2) * len(features) ** 2
        return Cost(0.05 * len(features) + _SECONDS_PER_WORK * work, int(64 * n_rows * len(features)))

    def learn(
        self,
        data: Encoded,
        options: CartOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it takes seconds)
    ) -> CartModel | CartSequenceModel:
        if not isinstance(data, Children):
            return _learn_rows(data, options, seed, progress)
        if options.methods:
            raise GeneratorError(
                "cart: methods are for tables with one row per person", hint="leave methods out, or data.order"
            )
        return _learn_children(data, options, seed, progress)

    def log_odds(self, model: CartModel, people: Encoded, reference: Encoded, seed: int) -> Array:  # noqa: ARG002
        """Odds by the leaves, summed over the columns with a tree: regressions keep no values."""
        known, others = dict(enumerate(people.columns)), dict(enumerate(reference.columns))
        odds = np.zeros(len(people))
        for step in model.steps:
            if isinstance(step, DonorTree):
                odds += leaf_odds(step, known, known[step.target], others, others[step.target])
        return odds


SPLIT_BOTH = 2
"""Leaves that the people must fill who differ from the most frequent value: of fewer, no tree splits once more."""


def _learn_rows(data: Encoded, options: CartOptions, seed: int, progress: Progress, given: int = 0) -> CartModel:
    """Learn the columns of a table; the first ``given`` ones are given whenever others are drawn, and have no trees."""
    refuse_methods(data.features, options.methods)
    limits, holders = options.limits(n_with_key(data.persons))
    drawn = [at for at in drawing_order(data, options.visit_order, limits.least) if at >= given]
    order = [*range(given), *drawn]
    rng = rng_for(seed, "cart fit")
    weights = person_weights(data.persons)
    steps: list[DonorTree[int] | LinearStep | LogisticStep] = []
    for position, target in enumerate(drawn, given):
        before, method = order[:position], options.methods.get(data.features[target].name, "tree")
        if method == "tree":
            known = {at: data.columns[at] for at in before}
            features = {at: data.features[at] for at in before}
            column = (target, data.features[target], data.columns[target])
            steps.append(grow(column, known, features, data.persons, limits, rng))
        else:
            steps.append(fit_regression(data, target, before, method, limits.least, weights))
        progress("fit cart", position + 1, len(order))
    smoothers = {
        at: Smoother.of(data.columns[at], holders, data.persons)
        for at, feature in enumerate(data.features)
        if at >= given and holders and not feature.is_discrete and options.methods.get(feature.name) != "linear"
    }
    return CartModel(tuple(steps), smoothers)


def drawing_order(data: Encoded, first: tuple[str, ...], least: int) -> list[int]:
    """Positions of the columns in the order in which they are drawn, those of ``first`` first.

    Then targets; the others; then those in which the people with another value than the most frequent one fill less
    than :data:`SPLIT_BOTH` leaves, the rarest at the end; and targets of two states. Drawn early, a rare diagnosis
    would lose its relations: no tree could split on it. Drawn late, its own tree splits on all others. Which of two
    states a row has also follows columns that no tree splits on (:mod:`.leaf_slopes`): drawn last, it follows all that
    models of it read.
    """
    names = [feature.name for feature in data.features]
    unknown = [name for name in first if name not in names]
    if unknown:
        raise GeneratorError(
            f"cart: visit_order names columns that are not learned: {', '.join(map(repr, unknown))}",
            hint=f"use columns that vary: {', '.join(names)}",
        )
    asked = [names.index(name) for name in first]
    targets = [at for at, feature in enumerate(data.features) if feature.target]
    last = [at for at in targets if at not in asked and len(np.unique(data.columns[at])) == 2]
    others = [at for at in dict.fromkeys([*targets, *range(len(names))]) if at not in {*asked, *last}]
    apart = {at: _people_apart(data.columns[at], data.persons) for at in others}
    rare = sorted((at for at in others if apart[at] < SPLIT_BOTH * least), key=lambda at: -apart[at])
    return [*dict.fromkeys(asked), *(at for at in others if at not in rare), *rare, *last]


def _people_apart(column: Array, persons: Array) -> int:
    """People with another value than the most frequent one."""
    _, codes = np.unique(column, return_inverse=True)
    return n_with_key(persons[codes != np.bincount(codes).argmax()])


MOST_TRIES = 10
"""Draws, at most, of a value that must differ from that of the row before."""
EARLIER = "earlier "
"""Names of the numbers of a parent's earlier rows by category of a column, with its position; shape (n, n_levels)."""
LAST = "last "
"""Names of the last values of a column, with its position, by category of another one, NaN without; as EARLIER."""
USUAL = "usual"
"""Name of the share of people like the row's person who have the value of the row before."""


@dataclass(frozen=True)
class RepeatTree:
    """Tree of a column's repeats: whether a row has the value of the row before, or of the last one like it."""

    whether: DonorTree[str]
    """1 where it has, 0 where a new value is drawn."""
    usual: DonorTree[str] | None
    """Of a discrete column, the first rows' values by the person's columns: how usual the value before is among people
    like the person. Who was in a hospital far from home rarely is there again; without this no single column says so,
    and rows would drift away from their person, one after another."""
    like: int | None
    """Position of a column of categories, where what comes again is the value of the last row with the row's own."""

    def draw(self, known: Known, last: Array, rng: np.random.Generator) -> Mask:
        """Rows that repeat the value of the row before; shape (n,)."""
        if self.usual is not None:
            known = known | {USUAL: self.usual.shares(known, last)}
        return np.asarray(self.whether.draw(known, len(last), rng) == 1)


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
    recurrences: Mapping[int, Recurrence]
    """Of the columns whose categories come otherwise than the trees draw them in rows of one parent."""
    smoothers: Mapping[int, Smoother]
    """Of the columns of a row."""

    def draw(self, n: int, seed: int) -> DrawnColumns:
        return self._drawn((), n, rng_for(seed, "cart sequences draw"))

    def draw_below(self, parents: Sequence[Array], n_parents: int, seed: int) -> DrawnColumns:
        return self._drawn(parents, n_parents, rng_for(seed, "cart sequences draw rows"))

    def _drawn(self, given: Sequence[Array], n: int, rng: np.random.Generator) -> DrawnColumns:
        """Persons and their rows; the first columns of the person table may be given."""
        people = self.people.columns(n, int(rng.integers(2**31)), given)
        if self.ends is not None:
            people = self.ends.columns(n, int(rng.integers(2**31)), people)
        earlier = {f"{EARLIER}{at}": one.tally(n) for at, one in self.recurrences.items()}
        for at, tree in self.repeats.items():
            if tree.like is not None:
                earlier[f"{LAST}{at}"] = np.full((n, self.plan.features[tree.like].n_levels), np.nan)

        def row(known: Known, before: Sequence[Array], position: int) -> list[Array]:
            seen = {name: values[: len(known[POSITION])] for name, values in earlier.items()}
            return self._row(known | seen, before, position, rng)

        return self.plan.draw(people, row)

    def _row(self, known: Known, before: Sequence[Array], position: int, rng: np.random.Generator) -> list[Array]:
        row: dict[int, Array] = {}
        for step in self.steps:
            last = before[step.target]
            if step.target == self.plan.order:
                first = position == 0 and self.plan.first_at is not None
                gap = np.zeros(len(last)) if first else self._gap(step, known, last, rng)
                row[step.target] = known[TIME] = self.plan.time(known, gap, last, position)
            else:
                like, everybody = self._like(step.target), np.arange(len(last))
                if like is not None:
                    last = known[f"{LAST}{step.target}"][everybody, row[like]]
                row[step.target] = value = self._value(step, known, last, position, rng)
                known[f"{ROW}{step.target}"] = value
                if like is not None:
                    known[f"{LAST}{step.target}"][everybody, row[like]] = value
                if step.target in self.recurrences:
                    known[f"{EARLIER}{step.target}"][everybody, value] += 1
        return [row[at] for at in range(len(self.plan.features))]

    def _like(self, target: int) -> int | None:
        return self.repeats[target].like if target in self.repeats else None

    def _gap(self, step: DonorTree[str], known: Known, last: Array, rng: np.random.Generator) -> Array:
        """Gap to the row before; one that leads beyond the learned end is drawn again."""
        gap = self._new(step, known, len(last), rng)
        for _ in range(MOST_TRIES):
            beyond = np.flatnonzero(last + gap > self.plan.end)
            if not len(beyond):
                break
            gap[beyond] = self._new(step, only(known, beyond), len(beyond), rng)
        return gap

    def _value(self, step: DonorTree[str], known: Known, last: Array, position: int, rng: np.random.Generator) -> Array:
        def propose(rows: Array) -> Array:
            return self._new(step, only(known, rows), len(rows), rng)

        if position == 0 or step.target not in {*self.repeats, *self.recurrences}:
            return self._new(step, known, len(last), rng)
        repeats, recurrence = self.repeats.get(step.target), self.recurrences.get(step.target)
        if recurrence is None:
            new = propose(np.arange(len(last)))
        else:
            new = recurrence.draw(propose, known[f"{EARLIER}{step.target}"], None if repeats is None else last, rng)
        if repeats is None:
            return new
        same = repeats.draw(known, last, rng)
        if repeats.like is not None:
            same &= ~np.isnan(last)
        for _ in range(MOST_TRIES):
            equal = np.flatnonzero(~same & (new == last))
            if not len(equal):
                break
            new[equal] = propose(equal)
        return np.where(same, last, new)

    def _new(self, step: DonorTree[str], known: Known, n_rows: int, rng: np.random.Generator) -> Array:
        new, smoother = step.draw(known, n_rows, rng), self.smoothers.get(step.target)
        return new if smoother is None else smoother.apply(new, rng)


def _learn_children(data: Children, options: CartOptions, seed: int, progress: Progress) -> CartSequenceModel:
    """Grow the trees of the person table and of the rows.

    Options are those of :class:`CartOptions`. Leaves of rows hold rows of at least ``min_leaf`` persons, or all rows;
    where it is not configured, it follows the number of persons, for the person table and the rows alike.
    """
    limits, holders = options.limits(n_with_key(data.parents.persons))
    table = person_table(data)
    plan, order = RowPlan.of(data, table), data.order
    static = {feature.name for feature in data.parents.features}
    first = [tuple(n for n in options.visit_order if (n in static) is side) for side in (True, False)]
    own = options.model_copy(update={"visit_order": first[0], "min_leaf": limits.least, "smoothing": holders})
    people, ends = _learn_people(table, data, own, seed, progress)
    rows, rng = training_rows(data, table, plan), rng_for(seed, "cart sequences fit")
    targets = list(dict.fromkeys([*([] if order is None else [order]), *drawing_order(data, first[1], limits.least)]))
    steps, repeats = _grow_all(rows, targets, order, limits, rng, progress)
    recurrences = {step.target: one for step in steps if (one := _recurrence(rows, step, repeats, limits, seed))}
    smoothers = {}
    for at, feature in enumerate(data.features):
        if holders and (at == order or not feature.is_discrete):
            used = rows.later if at == order else np.arange(len(rows.persons))
            smoothers[at] = Smoother.of(rows.targets[at][used], holders, rows.persons[used])
    return CartSequenceModel(people, ends, plan, tuple(steps), repeats, recurrences, smoothers)


def _learn_people(
    table: PersonTable, data: Children, options: CartOptions, seed: int, progress: Progress
) -> tuple[CartModel, CartModel | None]:
    """Trees of the person table; where persons have no rows, those of the extent of the rows are apart."""
    encoded, rows, given = table.encoded, data.counts > 0, table.n_static if data.given else 0
    if rows.all() or table.counts_at + 1 == len(encoded.features) or not rows.any():
        return _learn_rows(encoded, options, seed, progress, given), None
    some = table.counts_at + 1
    people = Encoded(encoded.features[:some], encoded.columns[:some], encoded.persons)
    ends = _learn_rows(encoded.take(rows), options, seed, progress, some)
    return _learn_rows(people, options, seed, progress, given), ends


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
    Numbers may repeat those of rows with the same category of a column that is drawn before.
    """
    everything = np.arange(len(rows.persons))
    drawn, steps = rows.given, list[DonorTree[str]]()
    repeats: dict[int, RepeatTree] = {}
    for number, target in enumerate(targets):
        like, same = None, everything[:0]
        if target != order:
            if not rows.kind(target).is_discrete:
                before = [at for at in targets[:number] if at != order and rows.kind(at).is_discrete]
                like = rows.most_repeated(target, before)
            same = rows.repeated(target, like)
        if len(same):
            repeats[target] = _grow_repeats(rows, (target, like), same, drawn, limits, rng)
        used = rows.later if target == order else np.setdiff1d(everything, same)
        steps.append(_grow(rows, (target, rows.kind(target), rows.targets[target]), drawn, used, limits, rng))
        drawn.append(TIME if target == order else f"{ROW}{target}")
        progress("fit rows of persons", number + 1, len(targets))
    return steps, repeats


def _recurrence(
    rows: TrainingRows, step: DonorTree[str], repeats: Mapping[int, RepeatTree], limits: TreeLimits, seed: int
) -> Recurrence | None:
    """Weights of the column's categories, from rows that follow another one and do not repeat its value."""
    target, n_levels = step.target, rows.kind(step.target).n_levels
    if not 1 < n_levels <= MOST_LEVELS:
        return None
    rng, values = rng_for(seed, "cart recurrence", target), rows.targets[target]
    drawn = np.setdiff1d(rows.later, rows.repeated(target)) if target in repeats else rows.later
    used = np.sort(rng.permutation(drawn)[:MOST_ROWS])
    known = {name: rows.known[name][used] for name in step.predictors}

    def propose(places: Array) -> Array:
        return step.draw(only(known, places), len(places), rng)

    learned = CategoryRows(
        values[used],
        earlier_rows(values, rows.first[rows.owner], n_levels)[used],
        rows.persons[used],
        rows.known[f"{BEFORE}{target}"][used] if target in repeats else None,
    )
    return fit_recurrence(learned, propose, limits.least, rng)


def _grow_repeats(
    rows: TrainingRows,
    column: tuple[int, int | None],
    same: Array,
    names: Sequence[str],
    limits: TreeLimits,
    rng: np.random.Generator,
) -> RepeatTree:
    """Tree of the repeats of a column, which the rows ``same`` have; and in which category they are like the last."""
    target, like = column
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
    whether = _grow(rows, (target, flag, flags), names, rows.last(target, like)[1], limits, rng)
    return RepeatTree(whether, usual, like)


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
