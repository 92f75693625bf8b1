"""Sequential regression and classification trees: the method of synthpop, on scikit-learn.

The first column is drawn from its own distribution. Every next column is drawn from a tree grown on the
columns before it: a synthetic record falls into a leaf and takes the value of one of the training records
there (Reiter, J. Off. Stat. 21(3), 2005; Nowok, Raab, Dibben, J. Stat. Softw. 74(11), 2016,
doi:10.18637/jss.v074.i11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import joblib
import numpy as np
from pydantic import Field

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.cost import Cost
from hybrid.synthesize.generators.predictors import Ranks, Scores, fit_scores, level_map
from hybrid.synthesize.generators.regressions import (
    LinearStep,
    LogisticStep,
    Method,
    fit_regression,
    refuse_methods,
)
from hybrid.synthesize.protocol import Encoded, Encoding, Feature, SequenceModel, Sequences
from hybrid.table.persons import person_groups

K = TypeVar("K")
LEAST_LEAF, LARGEST_LEAF, SHARE = 10, 50, 50
"""Smallest and largest leaf where none is configured; between them a leaf holds one of so many people."""
MOST_CLASSES = 30
"""Targets with more states are predicted through a projection of their indicators instead of one by one."""
N_PROJECTED = 16
"""Dimensions of that projection."""
_FILE = "cart.joblib"
_SECONDS_PER_WORK = 1.6e-8
"""Per record, column, column before it and halving of the records: Adult."""


class CartOptions(Options):
    """Options of ``cart``."""

    min_leaf: int | None = Field(default=None, ge=1)
    """Training records that every leaf holds at least, or persons with `data.person`; larger: smoother, fewer copies,
    less detail. null: a fiftieth of the training records or persons, but 10 at least and 50 at most."""
    max_depth: int | None = Field(default=None, ge=1)
    """Splits from root to leaf at most; null: no limit."""
    smoothing: int = Field(default=5, ge=0)
    """A number, date or amount that at most this many training records have, or persons with `data.person`, is not
    copied: it is replaced by a point between its neighbours, up to this many distinct values away. 0: copies are kept,
    as in synthpop."""
    visit_order: tuple[str, ...] = ()
    """Columns to draw first, in this order; then the columns marked as targets, so that all others are drawn
    given them; then the rest in the table's order."""
    methods: dict[str, Method] = Field(default_factory=dict)
    """How single columns are drawn given those drawn before them: tree (all that are not named), linear (numbers and
    dates: a linear regression with normal residuals, never a copied value) or logistic (categories). Regressions have
    no interactions. Not for persons with several rows."""


def leaf_size(options: CartOptions, people: int) -> int:
    """Least number of people in a leaf.

    Parameters
    ----------
    options : CartOptions
        A configured ``min_leaf`` holds.
    people : int
        Training people: persons, or records where each is another person.

    Returns
    -------
    int
        A fiftieth of the people, but 10 at least and 50 at most: of 350 people leaves of 50 would hold every seventh,
        and few relations between columns would be left.
    """
    least = min(max(people // SHARE, LEAST_LEAF), LARGEST_LEAF)
    return least if options.min_leaf is None else options.min_leaf


def n_people(persons: Array | None, n_records: int) -> int:
    """Number of different persons with a key.

    That of records, where each is another person.
    """
    return n_records if persons is None else len(np.unique(persons[persons >= 0]))


@dataclass(frozen=True)
class _Step:
    """Tree of one column with the training values in its leaves.

    ``donors`` (n,): training values ordered by leaf; ``starts`` (n_nodes + 1,): where each node's begin.
    """

    target: int
    tree: Any
    predictors: Mapping[int, Ranks | Scores]
    donors: Array
    starts: Array

    def draw(self, drawn: Mapping[int, Array], n_rows: int, rng: np.random.Generator) -> Array:
        if self.tree is None:
            return rng.choice(self.donors, size=n_rows)
        leaves = self.tree.apply(matrix_of(self.predictors, drawn))
        begin, count = self.starts[leaves], np.diff(self.starts)[leaves]
        picked: Array = self.donors[begin + (rng.random(n_rows) * count).astype(np.int64)]
        return picked


@dataclass(frozen=True)
class Smoother:
    """Replaces rare values by points between their neighbours.

    ``distinct`` (m,) sorted, ``rare`` (m,) bool.
    """

    distinct: Array
    rare: Array
    reach: int

    def apply(self, values: Array, rng: np.random.Generator) -> Array:
        """Values of shape (n,) with the rare ones replaced; NaN stays NaN."""
        at = np.searchsorted(self.distinct, values)
        last = len(self.distinct) - 1
        spread = np.isfinite(values) & self.rare[np.minimum(at, last)]
        position = at[spread] + rng.uniform(-self.reach, self.reach, size=int(spread.sum()))
        position = last - np.abs(last - np.abs(position) % (2 * last)) if last else position * 0
        smoothed = values.copy()
        smoothed[spread] = np.interp(position, np.arange(last + 1), self.distinct)
        return smoothed


@dataclass(frozen=True)
class CartModel:
    """Trees with their donors, and regressions. Private: donors are training values."""

    steps: tuple[_Step | LinearStep | LogisticStep, ...]
    smoothers: Mapping[int, Smoother]

    def draw(self, n_rows: int, seed: int, given: Sequence[Array] = ()) -> list[Array]:
        """As :class:`hybrid.synthesize.protocol.Model`; ``given`` are the first columns, which stay as they are."""
        rng = rng_for(seed, "cart draw")
        drawn: dict[int, Array] = dict(enumerate(given))
        for step in self.steps:
            if step.target >= len(given):
                drawn[step.target] = step.draw(drawn, n_rows, rng)
        for at, smoother in self.smoothers.items():
            if at >= len(given):
                drawn[at] = smoother.apply(drawn[at], rng)
        return [drawn[at] for at in range(len(drawn))]

    def save(self, folder: Path) -> None:
        """As :class:`hybrid.synthesize.protocol.Model`."""
        joblib.dump(self, folder / _FILE)


class Cart:
    """The generator ``cart``."""

    name: ClassVar[str] = "cart"
    title: ClassVar[str] = "sequential trees, the method of synthpop: seconds, no deep learning"
    licence: ClassVar[str] = "Apache-2.0 (ours, on scikit-learn, BSD-3-Clause)"
    requires: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str | None] = None
    environment: ClassVar[str | None] = None
    resumes: ClassVar[bool] = False
    Options: ClassVar[type[Options]] = CartOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "synthpop": {"min_leaf": 5, "smoothing": 0},
    }

    def encoding(self, options: CartOptions) -> Encoding:  # noqa: ARG002  (the protocol)
        """Missing values stay within their columns."""
        return Encoding()

    def cost(self, features: Sequence[Feature], n_rows: int, options: CartOptions) -> Cost:  # noqa: ARG002
        """Cost: every column sorts its predecessors once per tree level."""
        work = n_rows * np.log2(n_rows + 2) * len(features) ** 2
        return Cost(0.05 * len(features) + _SECONDS_PER_WORK * work, int(64 * n_rows * len(features)))

    def learn(
        self,
        data: Encoded,
        options: CartOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it takes seconds)
    ) -> CartModel:
        """Grow one tree, or fit one regression, per column; see :class:`CartOptions`."""
        refuse_methods(data.features, options.methods)
        least = leaf_size(options, n_people(data.persons, len(data)))
        order = drawing_order(data.features, options.visit_order)
        rng = rng_for(seed, "cart fit")
        weights = person_weights(data.persons)
        steps: list[_Step | LinearStep | LogisticStep] = []
        for position, target in enumerate(order):
            before, method = order[:position], options.methods.get(data.features[target].name, "tree")
            steps.append(
                _grow(data, target, before, options, least, rng, weights)
                if method == "tree"
                else fit_regression(data, target, before, method, least, weights)
            )
            progress("fit cart", position + 1, len(order))
        smoothers = {
            at: smoother_of(data.columns[at], options.smoothing, data.persons)
            for at, feature in enumerate(data.features)
            if options.smoothing and not feature.is_discrete and options.methods.get(feature.name) != "linear"
        }
        return CartModel(tuple(steps), smoothers)

    def learn_sequences(
        self,
        data: Sequences,
        options: CartOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (grows in minutes)
    ) -> SequenceModel:
        """Grow trees for persons and their rows; see :mod:`hybrid.synthesize.generators.cart_sequences`."""
        from hybrid.synthesize.generators.cart_sequences import learn_sequences

        if options.methods:
            raise GeneratorError(
                "cart: methods are for tables with one row per person", hint="leave methods out, or data.order"
            )
        return learn_sequences(data, options, seed, progress)

    def load_sequences(self, folder: Path) -> SequenceModel:
        """As :class:`hybrid.synthesize.protocol.SequenceGenerator`."""
        from hybrid.synthesize.generators.cart_sequences import load_sequences

        return load_sequences(folder)

    def load(self, folder: Path) -> CartModel:
        """As :class:`hybrid.synthesize.protocol.Generator`."""
        model: CartModel = joblib.load(folder / _FILE)
        return model


def drawing_order(features: Sequence[Feature], first: tuple[str, ...]) -> list[int]:
    """Positions of the columns in the order in which they are drawn.

    Raises
    ------
    GeneratorError
        ``first`` names columns that are not among the features.
    """
    names = [feature.name for feature in features]
    unknown = [name for name in first if name not in names]
    if unknown:
        raise GeneratorError(
            f"cart: visit_order names columns that are not learned: {', '.join(map(repr, unknown))}",
            hint=f"use columns that vary: {', '.join(names)}",
        )
    targets = [at for at, feature in enumerate(features) if feature.target]
    return list(dict.fromkeys([names.index(name) for name in first] + targets + list(range(len(names)))))


def person_weights(persons: Array | None) -> Array | None:
    """Weight of each record, 1 / (records of its person); shape (n,).

    Records without a key weigh nothing: they may be of any person. None where each record is another person.
    """
    if persons is None:
        return None
    groups = person_groups(persons)
    weights: Array = np.where(persons < 0, 0.0, 1 / np.bincount(groups)[groups])
    return weights


def _grow(
    data: Encoded,
    target: int,
    before: list[int],
    options: CartOptions,
    least: int,
    rng: np.random.Generator,
    weights: Array | None,
) -> _Step:
    values = data.columns[target]
    if not before or (weights is not None and weights.sum() < 2 * least):
        return _Step(target, None, {}, values, np.empty(0, dtype=np.int64))
    outcome = outcome_of(values, data.features[target], rng)
    known, features = {at: data.columns[at] for at in before}, {at: data.features[at] for at in before}
    predictors = fit_predictors(known, features, outcome, least, weights)
    matrix = matrix_of(predictors, known)
    tree = new_tree(outcome, options.max_depth, least, int(rng.integers(2**31)), weights)
    tree.fit(matrix, outcome, sample_weight=weights)
    leaves = tree.apply(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(leaves, minlength=tree.tree_.node_count))])
    return _Step(target, tree, predictors, values[np.argsort(leaves, kind="stable")], starts)


def outcome_of(values: Array, feature: Feature, rng: np.random.Generator) -> Array:
    """Target of the tree: classes (n,) or numbers (n, d).

    It reduces the variance of numbers.

    Numbers become normalized ranks, so that long tails do not decide every split, and a flag if some are
    missing. Many classes, or classes with fewer than two records on average, become a random projection of their
    indicators: the sum of the projections' variances is the Gini impurity in expectation (Johnson, Lindenstrauss 1984).
    """
    if feature.is_discrete:
        if feature.n_levels <= MOST_CLASSES and 2 * len(np.unique(values)) <= len(values):
            return values
        projection = rng.standard_normal((feature.n_levels, N_PROJECTED)) / np.sqrt(N_PROJECTED)
        projected: Array = projection[values]
        return projected
    missing = np.isnan(values)
    ranks = np.zeros(len(values))
    _, inverse, counts = np.unique(values[~missing], return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - (counts + 1) / 2
    ranks[~missing] = middles[inverse]
    ranks = (ranks - middles[inverse].mean()) / max(ranks[~missing].std(), 1e-12)
    ranks[missing] = 0
    return np.column_stack([ranks, missing]) if missing.any() else ranks[:, None]


def new_tree(outcome: Array, max_depth: int | None, least: int, seed: int, weights: Array | None) -> Any:
    """Tree that is not grown yet.

    A leaf whose records weigh ``least`` in persons holds as many persons at least, since none weighs more than 1.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    limits = {"max_depth": max_depth, "random_state": seed}
    if weights is None:
        limits["min_samples_leaf"] = least
    else:
        limits["min_weight_fraction_leaf"] = least / weights.sum()
    if outcome.ndim == 1:
        return DecisionTreeClassifier(criterion="entropy", **limits)
    return DecisionTreeRegressor(**limits)


def fit_predictors(
    known: Mapping[K, Array], features: Mapping[K, Feature], outcome: Array, min_count: int, weights: Array | None
) -> dict[K, Ranks | Scores]:
    """Predictors of an outcome from columns, by the columns' keys.

    Arguments as for :func:`hybrid.synthesize.generators.predictors.fit_scores`; ``outcome`` as :func:`outcome_of`.
    """
    numbers = level_map(outcome)
    return {
        key: fit_scores(column, features[key], numbers, min_count, weights)
        if features[key].is_discrete
        else Ranks(np.unique(column[~np.isnan(column)]))
        for key, column in known.items()
    }


def matrix_of(predictors: Mapping[K, Ranks | Scores], known: Mapping[K, Array]) -> Array:
    """Columns as a tree reads them; shape (n, n_predictors)."""
    return np.column_stack([coder.encode(known[key]) for key, coder in predictors.items()])


def smoother_of(values: Array, reach: int, persons: Array | None) -> Smoother:
    """Smoother of the values that few records have, or few persons.

    Records without a key are of one person together.
    """
    present = ~np.isnan(values)
    distinct, codes = np.unique(values[present], return_inverse=True)
    if not len(distinct):
        return Smoother(np.zeros(1), np.zeros(1, dtype=bool), reach)
    if persons is not None:
        codes = np.unique(np.stack([codes, np.maximum(persons[present], -1)]), axis=1)[0]
    return Smoother(distinct, np.bincount(codes, minlength=len(distinct)) <= reach, reach)
