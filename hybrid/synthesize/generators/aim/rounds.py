"""Rounds of AIM: choose a pair of columns and measure it.

McKenna, Mullins, Sheldon and Miklau (2022), AIM: An Adaptive and Iterative Mechanism for Differentially Private
Synthetic Data, arXiv:2201.12677, Algorithms 1 to 3, with all pairs of columns as the workload.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.privacy.accounting import gaussian_rho, variance_for
from hybrid.privacy.noise import Bits, choose, discrete_gaussian, secure_bytes
from hybrid.synthesize.generators.aim.model import MarginalModel, Measurement, estimate
from hybrid.synthesize.generators.aim.pairs import all_pairs
from hybrid.synthesize.generators.aim.rare import Joined
from hybrid.synthesize.generators.aim.tree import Clique, tree_cells

_MEASURED = 0.9
"""Share of a round's budget for the measurement; the rest chooses what is measured."""
_SCORE_UNITS = 16
"""Scores are whole sixteenths of a row, so that the choice is exact."""
_EPSILON_UNITS = 2**30
_LEAST_EPSILON = Fraction(1, _EPSILON_UNITS)


class Counter:
    """Noisy counts of a table, and an account of their price.

    Parameters
    ----------
    columns : sequence of numpy.ndarray, each of shape (n_rows,)
        Codes.
    sizes : sequence of int
        States of each column.
    rho : float
        Budget of everything; spending more is an error of the program.
    rows : int
        Rows of one person, at most.
    bits : callable
        Source of randomness.
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
        counts: Array = np.bincount(codes, minlength=math.prod(shape)).reshape(shape)
        return counts

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
        """Position of a candidate whose counts differ much from those expected.

        Parameters
        ----------
        candidates : sequence of (columns, expected counts, handicap)
            The score is the sum of absolute differences less the handicap.
        rho : float
            Price of the choice, at most.
        """
        epsilon = max(Fraction(int(math.sqrt(8 * rho) * _EPSILON_UNITS), _EPSILON_UNITS), _LEAST_EPSILON)
        self._pay("choice of pairs", float(epsilon**2 / 8))
        scores = [float(np.abs(self.true(columns) - expected).sum()) - less for columns, expected, less in candidates]
        # One person changes a sum by at most the rows; rounding, and floating point, by a unit each.
        return choose(_whole(scores), epsilon, _SCORE_UNITS * self.rows + 2, self.bits)

    def recoded(self, joined: Sequence[Joined]) -> Counter:
        """The same table and account with fewer states."""
        columns = [states.codes[codes] for states, codes in zip(joined, self.columns, strict=True)]
        other = Counter(columns, [states.size for states in joined], self.budget, self.rows, self.bits)
        other.spent = dict(self.spent)
        return other

    def _pay(self, name: str, rho: float) -> None:
        if rho > self.left * (1 + 1e-9):
            raise AssertionError("the budget is spent")
        self.spent[name] += rho


def _whole(scores: Sequence[float]) -> Array:
    return np.array([math.floor(score * _SCORE_UNITS) for score in scores], dtype=np.int64)


@dataclass(frozen=True)
class Effort:
    """Limits of the work.

    Parameters
    ----------
    cells : int
        Cells of all cliques together, at most.
    iterations : int
        Steps of the last fit; those between rounds take a tenth.
    rounds : int
        Rounds that the budget is planned for.
    """

    cells: int
    iterations: int
    rounds: int


def measure_targets(counter: Counter, targets: frozenset[int], share: float, cells: int) -> list[Measurement]:
    """Measure the pairs of targets with every other column.

    Which pairs these are is declared, not chosen by the records, so nothing is paid for a choice.

    Parameters
    ----------
    counter : Counter
        The table, with the budget that is left.
    targets : frozenset of int
        Positions of the declared targets.
    share : float
        Of the budget that is left, in equal parts; in [0, 1).
    cells : int
        Cells of the model, at most; pairs beyond them are left out.
    """
    wanted = [pair for pair in combinations(range(len(counter.sizes)), 2) if not targets.isdisjoint(pair)]
    kept: list[Clique] = []
    for pair in wanted if share else ():
        if tree_cells(counter.sizes, [*kept, pair]) <= cells:
            kept.append(pair)
    each = share * counter.left / max(len(kept), 1)
    return [counter.measure(pair, each) for pair in kept]


def aim(
    counter: Counter,
    first: Sequence[Measurement],
    effort: Effort,
    progress: Callable[[int, int], None],
) -> MarginalModel:
    """Choose and measure pairs until the budget is spent.

    Parameters
    ----------
    counter : Counter
        The table, with the budget that is left.
    first : sequence of Measurement
        Marginals of one column and of targets, measured already.
    effort : Effort
        Limits of the work.
    progress : callable
        Gets the share of the budget that is spent, in thousandths, and 1000.
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
    counter: Counter,
    measurements: Sequence[Measurement],
    pairs: dict[Clique, Array],
    variance: int,
    allowed: float,
) -> list[tuple[Clique, Array, float]]:
    """Pairs with which the model stays small enough."""
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
