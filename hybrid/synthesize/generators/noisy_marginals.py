"""Generators of noisy marginals: options, noisy counts, model, and training on one account; ``aim`` and ``mst``.

All marginals of one column are measured with discrete Gaussian noise, then pairs of columns as the generator chooses.
Rows are drawn from the graphical model that fits all measurements best. Neighbouring tables differ in the presence of
one person with at most ``rows_per_person`` rows; what is spent adds up as rho of zCDP
(:mod:`hybrid.privacy.accounting`). The noise comes from the operating system, and no seed repeats it. Numbers are cut
into intervals; states whose noisy counts do not differ from none are joined into one.

``aim``: McKenna, Mullins, Sheldon and Miklau (2022), AIM: An Adaptive and Iterative Mechanism for Differentially
Private Synthetic Data, arXiv:2201.12677, Algorithms 1 to 3, with all pairs of columns as the workload. After the pairs
of declared targets with every other column, the pair of columns that the graphical model knows least is chosen with the
exponential mechanism and measured, round after round.

``mst``: McKenna, Miklau and Sheldon (2021), Winning the NIST Contest, arXiv:2108.04978. A third of the budget measures
the marginals of one column, a third chooses a spanning tree of pairs, edge by edge with the exponential mechanism
(Kruskal's algorithm on the errors of the model of independent columns), and a third measures these pairs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hybrid.base.arrays import Array
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.privacy.accounting import gaussian_rho, rho_for, variance_for
from hybrid.privacy.noise import Bits, choose, discrete_gaussian, secure_bytes
from hybrid.synthesize.generators.graphical_model import (
    Clique,
    MarginalModel,
    Measurement,
    all_pairs,
    draw_rows,
    estimate,
    tree_cells,
)
from hybrid.synthesize.protocol import Cost, DrawnColumns, Encoded, Encoding, Feature, Generator


@dataclass(frozen=True)
class Intervals:
    """Disjoint intervals from their smallest to their largest value, ascending."""

    lows: Array
    highs: Array
    """Values that occur; equal where an interval is one value; shape (n_intervals,)."""

    def __len__(self) -> int:
        return len(self.lows)

    def codes(self, values: Array) -> Array:
        """Interval of each value, int32."""
        found: Array = np.searchsorted(self.lows, values, side="right") - 1
        return np.clip(found, 0, len(self) - 1).astype(np.int32)

    def draw(self, codes: Array, rng: np.random.Generator) -> Array:
        return rng.uniform(self.lows[codes], self.highs[codes])


def intervals(values: Array, bins: int) -> Intervals:
    """Cut values into intervals of about as many records each.

    A value that at least n / bins records have is an interval of its own; so there are up to ``2 * bins + 1``. None is
    missing.
    """
    distinct, counts = np.unique(values, return_counts=True)
    limit = len(values) / bins
    alone = counts >= limit
    others = np.where(alone, 0, counts)
    part = (np.cumsum(others) - others) // limit
    starts = np.flatnonzero(np.concatenate([[True], alone[1:] | alone[:-1] | (part[1:] != part[:-1])]))
    ends = np.append(starts[1:], len(distinct)) - 1
    return Intervals(distinct[starts], distinct[ends])


_DEVIATIONS = 3.0
"""Standard deviations of the noise below which a count does not differ from none."""


@dataclass(frozen=True)
class Joined:
    """States of a column, the rare ones as one."""

    codes: Array
    """The new state of each; shape (n_states,), int64."""
    shares: Array
    """Share of each within its new state; shape (n_states,)."""

    @property
    def size(self) -> int:
        return int(self.codes.max()) + 1

    def of(self, measured: Measurement) -> Measurement:
        """Noisy counts of the new states, with the variances of sums."""
        variances = np.broadcast_to(measured.variance, measured.counts.shape)
        return Measurement(
            measured.columns, np.bincount(self.codes, measured.counts), np.bincount(self.codes, variances)
        )

    def split(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw the old state of each row from its new one."""
        order = np.argsort(self.codes, kind="stable")
        new = self.codes[order]
        ends = np.cumsum(np.bincount(new))
        bounds = np.cumsum(self.shares[order])
        starts = np.concatenate([[0.0], bounds[ends - 1][:-1]])
        wanted = starts[codes] + rng.random(len(codes)) * (bounds[ends - 1] - starts)[codes]
        place = np.searchsorted(bounds, wanted, side="right")
        first = np.concatenate([[0], ends[:-1]])
        return np.asarray(order[np.clip(place, first[codes], ends[codes] - 1)].astype(np.int32))


def _expected(counts: Array, deviations: Array) -> Array:
    """Expected true counts, 0 or more, given noisy ones.

    Mean of the normal distribution that is cut off below 0: all non-negative counts are as likely beforehand.
    """
    from scipy.stats import norm

    distance = counts / deviations
    result: Array = counts + deviations * np.exp(norm.logpdf(distance) - norm.logcdf(distance))
    return np.maximum(result, 0.0)


def join_rare(measured: Measurement, *, missing: bool) -> Joined:
    """Join the rare states of a column by its noisy counts alone.

    ``missing``: the last state is the missing value. Where it is rare it never comes out.
    """
    counts = measured.counts
    rare = counts < _DEVIATIONS * np.sqrt(measured.variance)
    if missing and rare[-1] and rare.sum() == 1 and len(counts) > 2:
        rare[np.argmin(counts[:-1])] = True
    if rare.sum() < 2:
        return Joined(np.arange(len(counts)), np.ones(len(counts)))
    codes = np.cumsum(~rare) - 1
    codes[rare] = codes.max() + 1
    deviations = np.broadcast_to(np.sqrt(measured.variance), counts.shape)
    shares = np.where(rare, _expected(counts, deviations), 1.0)
    if missing and rare[-1]:
        shares[-1] = 0.0
    shares[rare] /= shares[rare].sum()
    return Joined(codes, shares)


_SCORE_UNITS = 16
"""Scores are whole sixteenths of a row, so that the choice is exact."""
_EPSILON_UNITS = 2**30
_LEAST_EPSILON = Fraction(1, _EPSILON_UNITS)


class NoisyCounts:
    """Noisy counts of columns of codes, of so many states each, and an account of their price.

    ``rho`` is the budget of everything; spending more is an error of the program. One person has so many ``rows`` at
    most. ``bits`` are the source of randomness.
    """

    def __init__(
        self, columns: Sequence[Array], sizes: Sequence[int], rho: float, rows: int, bits: Bits = secure_bytes
    ) -> None:
        self.columns, self.sizes, self.budget, self.rows, self.bits = columns, tuple(sizes), rho, rows, bits
        self.spent = {"marginals of one column": 0.0, "marginals of two columns": 0.0, "choice of pairs": 0.0}

    @property
    def left(self) -> float:
        """Budget that is not spent."""
        return self.budget - math.fsum(self.spent.values())

    def true(self, columns: Clique) -> Array:
        """Exact counts; not to be released."""
        shape = [self.sizes[column] for column in columns]
        codes = np.ravel_multi_index([self.columns[column] for column in columns], shape)
        return np.bincount(codes, minlength=math.prod(shape)).reshape(shape)

    def measure(self, columns: Clique, rho: float) -> Measurement:
        """Counts with discrete Gaussian noise for at most ``rho``."""
        variance = variance_for(rho, self.rows**2)
        self._pay(
            "marginals of one column" if len(columns) == 1 else "marginals of two columns",
            gaussian_rho(variance, self.rows**2),
        )
        counts = self.true(columns)
        noise = discrete_gaussian(counts.size, variance, self.bits).reshape(counts.shape)
        return Measurement(columns, (counts + noise).astype(np.float64), variance)

    def worst(self, candidates: Sequence[tuple[Clique, Array, float]], rho: float) -> int:
        """Position of a candidate (columns, expected counts, handicap) whose counts differ much from those expected.

        The score is the sum of absolute differences less the handicap; the choice costs at most ``rho``.
        """
        epsilon = max(Fraction(int(math.sqrt(8 * rho) * _EPSILON_UNITS), _EPSILON_UNITS), _LEAST_EPSILON)
        self._pay("choice of pairs", float(epsilon**2 / 8))
        scores = [float(np.abs(self.true(columns) - expected).sum()) - less for columns, expected, less in candidates]
        # One person changes a sum by at most the rows; rounding, and floating point, by a unit each.
        return choose(_whole(scores), epsilon, _SCORE_UNITS * self.rows + 2, self.bits)

    def recoded(self, joined: Sequence[Joined]) -> NoisyCounts:
        """The same table and account with fewer states."""
        columns = [states.codes[codes] for states, codes in zip(joined, self.columns, strict=True)]
        other = NoisyCounts(columns, [states.size for states in joined], self.budget, self.rows, self.bits)
        other.spent = dict(self.spent)
        return other

    def _pay(self, name: str, rho: float) -> None:
        if rho > self.left * (1 + 1e-9):
            raise AssertionError("the budget is spent")
        self.spent[name] += rho


def _whole(scores: Sequence[float]) -> Array:
    return np.array([math.floor(score * _SCORE_UNITS) for score in scores], dtype=np.int64)


class NoisyMarginalOptions(Options):
    """Options of generators of noisy marginals."""

    epsilon: float = Field(default=1.0, gt=0)
    """Privacy budget of one training; every further training from the same records adds its own."""
    delta: float = Field(default=1e-6, gt=0, lt=1)
    """Probability that the bound epsilon may fail; to be well below 1 / number of people."""
    rho: float | None = Field(default=None, gt=0)
    """Budget as rho of zero-concentrated differential privacy, in place of epsilon and delta. null: what they allow."""
    rows_per_person: int = Field(default=1, ge=1)
    """Rows that one person may have, at most; the noise grows in proportion."""
    bins: int = Field(default=32, ge=2)
    """Intervals that a column of many numbers or dates is cut into, of about as many records each, with values that as
    many records share apart. They are taken from the records, so such a column voids the claim of differential
    privacy."""
    iterations: int = Field(default=1000, ge=1)
    """Steps of mirror descent of the last fit, at most."""


@dataclass(frozen=True)
class NoisyMarginals:
    """A fitted graphical model with the joined states of each column."""

    model: MarginalModel
    """Of the joined states."""
    joined: tuple[Joined, ...]
    """For each column."""
    cut: Mapping[int, Intervals]
    """Of continuous columns, by position."""
    spent: Mapping[str, float]
    """rho of each part."""

    def draw(self, n: int, seed: int) -> DrawnColumns:
        rng = rng_for(seed, "marginals draw")
        drawn = draw_rows(self.model, n, rng)
        states = [joined.split(codes, rng) for joined, codes in zip(self.joined, drawn, strict=True)]
        columns = [self.cut[at].draw(codes, rng) if at in self.cut else codes for at, codes in enumerate(states)]
        return DrawnColumns(columns)


class MarginalGenerator(Generator, ABC):
    """Base of the generators of noisy marginals."""

    secure_noise = True

    def encoding(self, options: Any) -> Encoding:
        return Encoding(max_levels=options.bins, flag_missing=True, listed_domains=True)

    def learn(
        self,
        data: Encoded,
        options: Any,
        seed: int,  # noqa: ARG002  (the noise is fresh every time)
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (training again would spend the budget again)
    ) -> NoisyMarginals:
        cut = {at: intervals(data.columns[at], options.bins) for at, f in enumerate(data.features) if not f.is_discrete}
        columns = [cut[at].codes(values) if at in cut else values for at, values in enumerate(data.columns)]
        sizes = [feature.n_levels or len(cut[at]) for at, feature in enumerate(data.features)]
        rho = options.rho if options.rho is not None else rho_for(options.epsilon, options.delta)
        counter = NoisyCounts(columns, sizes, rho, options.rows_per_person)
        each = self.first_share(len(sizes)) * rho / len(sizes)
        singles = [counter.measure((at,), each) for at in range(len(sizes))]
        joined = [
            join_rare(measured, missing=feature.missing)
            for measured, feature in zip(singles, data.features, strict=True)
        ]
        fewer = counter.recoded(joined)
        first = [states.of(measured) for states, measured in zip(joined, singles, strict=True)]
        first += self.declared_pairs(fewer, data.features, options)
        model = self.fit_pairs(fewer, first, options, progress)
        return NoisyMarginals(model, tuple(joined), cut, dict(fewer.spent))

    @abstractmethod
    def first_share(self, n_columns: int) -> float:
        """Share of the budget for the marginals of one column."""

    def declared_pairs(
        self,
        counter: NoisyCounts,  # noqa: ARG002
        features: Sequence[Feature],  # noqa: ARG002
        options: Any,  # noqa: ARG002
    ) -> list[Measurement]:
        """Measure pairs that no record chooses; by default none."""
        return []

    @abstractmethod
    def fit_pairs(
        self, counter: NoisyCounts, first: Sequence[Measurement], options: Any, progress: Progress
    ) -> MarginalModel:
        """Choose and measure pairs for what is left, and fit the model."""


_MEASURED = 0.9
"""Share of a round's budget for the measurement; the rest chooses what is measured."""


@dataclass(frozen=True)
class AimLimits:
    """Limits of the work."""

    cells: int
    """Cells of all cliques together, at most."""
    iterations: int
    """Steps of the last fit; those between rounds take a tenth."""
    rounds: int
    """Rounds that the budget is planned for."""


def measure_targets(counter: NoisyCounts, targets: frozenset[int], share: float, cells: int) -> list[Measurement]:
    """Measure the pairs of targets with every other column.

    Which pairs these are is declared, not chosen by the records, so nothing is paid for a choice. They get a ``share``
    of the budget that is left, in equal parts; pairs beyond the cells of the model are left out.
    """
    wanted = [pair for pair in combinations(range(len(counter.sizes)), 2) if not targets.isdisjoint(pair)]
    kept: list[Clique] = []
    for pair in wanted if share else ():
        if tree_cells(counter.sizes, [*kept, pair]) <= cells:
            kept.append(pair)
    each = share * counter.left / max(len(kept), 1)
    return [counter.measure(pair, each) for pair in kept]


def aim(
    counter: NoisyCounts,
    first: Sequence[Measurement],
    effort: AimLimits,
    progress: Callable[[int, int], None],
) -> MarginalModel:
    """Choose and measure pairs until the budget is spent.

    ``first`` are measured already: marginals of one column and of targets. ``progress`` gets the share of the budget
    that is spent, in thousandths, and 1000.
    """
    measurements = list(first)
    between = max(effort.iterations // 10, 1)
    model = estimate(counter.sizes, measurements, between)
    start, round_rho = counter.left, counter.left / effort.rounds
    while counter.left > start * 1e-6:
        is_last = counter.left < 2 * round_rho
        rho = counter.left if is_last else round_rho
        variance = variance_for(_MEASURED * rho, counter.rows**2)
        pairs = all_pairs(model)
        allowed = effort.cells * (1 - counter.left / counter.budget)
        candidates = _candidates(counter, measurements, pairs, variance, effort.cells if is_last else allowed)
        if not candidates:
            break
        # Rounding noise up to a whole variance, and the choice's epsilon down, leaves a rest for the last round.
        columns = candidates[counter.worst(candidates, (1 - _MEASURED) * rho)][0]
        measurements.append(counter.measure(columns, _MEASURED * rho))
        new = estimate(counter.sizes, measurements, between, model.parameters)
        change = float(np.abs(new.marginal(columns) - pairs[columns]).sum())
        if change <= _expected_noise(variance, pairs[columns].size):
            round_rho *= 2
        model = new
        progress(int(1000 * (1 - counter.left / start)), 1000)
        if is_last:
            break
    return estimate(counter.sizes, measurements, effort.iterations, model.parameters)


def _candidates(
    counter: NoisyCounts,
    measurements: Sequence[Measurement],
    pairs: dict[Clique, Array],
    variance: int,
    allowed: float,
) -> list[tuple[Clique, Array, float]]:
    measured = [each.columns for each in measurements]
    known = set(measured)
    return [
        (pair, pairs[pair], _expected_noise(variance, pairs[pair].size))
        for pair in combinations(range(len(counter.sizes)), 2)
        if pair in known or tree_cells(counter.sizes, [*measured, pair]) <= allowed
    ]


def _expected_noise(variance: int, n_cells: int) -> float:
    """Expected sum of absolute Gaussian noise of so many counts."""
    return math.sqrt(2 * variance / math.pi) * n_cells


_ROUNDS_PER_COLUMN = 16
"""Rounds that the budget is planned for, as in the paper."""
_FIRST = 0.1
"""Share of the budget for the marginals of one column."""


class AimOptions(NoisyMarginalOptions):
    """Options of ``aim``."""

    target_share: float = Field(default=0.4, ge=0, lt=1)
    """Share of the budget after the marginals of one column that goes to the pairs of each declared target with every
    other column, in equal parts. The rest goes to pairs that are chosen. 0: all pairs are chosen."""
    cells: int = Field(default=100_000, ge=100)
    """Cells of the model, at most. More let it keep more pairs of columns; time and memory grow in proportion."""


class Aim(MarginalGenerator):
    """The generator ``aim``."""

    name = "aim"
    title = "noisy marginals chosen round by round (AIM, McKenna et al. 2022): differentially private"
    Options = AimOptions

    def cost(self, features: Sequence[Feature], n_rows: int, options: AimOptions) -> Cost:
        d = len(features)
        rounds = 2 * d
        seconds = (rounds / 10 + 1) * options.iterations * options.cells * 1e-7 + rounds * d * d * (
            1e-3 + 1e-8 * n_rows
        )
        return Cost(seconds, 200 * options.cells + 16 * n_rows * d)

    def first_share(self, n_columns: int) -> float:  # noqa: ARG002  (of any number)
        return _FIRST

    def declared_pairs(
        self, counter: NoisyCounts, features: Sequence[Feature], options: AimOptions
    ) -> list[Measurement]:
        targets = frozenset(at for at, feature in enumerate(features) if feature.target)
        return measure_targets(counter, targets, options.target_share, options.cells)

    def fit_pairs(
        self, counter: NoisyCounts, first: Sequence[Measurement], options: AimOptions, progress: Progress
    ) -> MarginalModel:
        effort = AimLimits(options.cells, options.iterations, _ROUNDS_PER_COLUMN * len(counter.sizes))
        return aim(counter, first, effort, lambda done, total: progress("fit aim", done, total))


_THIRD = 1 / 3


class MstOptions(NoisyMarginalOptions):
    """Options of ``mst``."""

    cells: int = Field(default=1_000_000, ge=4)
    """Cells of a pair of columns, at most; larger pairs are not measured."""


class Mst(MarginalGenerator):
    """The generator ``mst``."""

    name = "mst"
    title = "noisy marginals along a tree (MST, McKenna et al. 2021): differentially private"
    Options = MstOptions

    def cost(self, features: Sequence[Feature], n_rows: int, options: MstOptions) -> Cost:
        levels = sorted((min(feature.n_levels or options.bins, options.bins) for feature in features), reverse=True)
        pairs = len(levels) * (len(levels) - 1) / 2
        cells = sum(levels) * max(levels, default=0)
        return Cost(pairs * (1e-3 + 1e-8 * n_rows) + options.iterations * cells * 1e-7, 200 * cells + 16 * n_rows)

    def first_share(self, n_columns: int) -> float:
        return 1.0 if n_columns == 1 else _THIRD

    def fit_pairs(
        self, counter: NoisyCounts, first: Sequence[Measurement], options: MstOptions, progress: Progress
    ) -> MarginalModel:
        progress("fit mst", 0, 2)
        tree = list(chosen_tree(counter, estimate(counter.sizes, first, options.iterations), options.cells))
        progress("fit mst", 1, 2)
        measured = [
            counter.measure(pair, counter.left / left) for pair, left in zip(tree, range(len(tree), 0, -1), strict=True)
        ]
        model = estimate(counter.sizes, [*first, *measured], options.iterations)
        progress("fit mst", 2, 2)
        return model


def chosen_tree(counter: NoisyCounts, model: MarginalModel, cells: int) -> Iterator[Clique]:
    """Choose a tree of pairs for half of the budget left.

    The score of a pair is the sum of absolute differences of its counts from those that the model of independent
    columns expects. Columns without a pair of so few cells stay apart.
    """
    n_columns = len(counter.sizes)
    if n_columns == 1:
        return
    rho, expected = counter.left / 2 / (n_columns - 1), all_pairs(model)
    trees = list(range(n_columns))
    while True:
        candidates = [
            (pair, expected[pair], 0.0)
            for pair in combinations(range(n_columns), 2)
            if trees[pair[0]] != trees[pair[1]] and expected[pair].size <= cells
        ]
        if not candidates:
            return
        one, other = candidates[counter.worst(candidates, rho)][0]
        trees = [trees[one] if tree == trees[other] else tree for tree in trees]
        yield one, other
