"""MST: noisy marginals along a tree of pairs.

McKenna, Miklau and Sheldon (2021), Winning the NIST Contest, arXiv:2108.04978, with the noise, the graphical model and
the account of ``aim`` (:mod:`hybrid.synthesize.generators.noisy_marginals`).

A third of the budget measures the marginals of one column, a third chooses a spanning tree of pairs, edge by edge with
the exponential mechanism (Kruskal's algorithm on the errors of the model of independent columns), and a third measures
these pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from pydantic import Field

from hybrid.base.progress import Progress
from hybrid.synthesize.generators.graphical_model import Clique, MarginalModel, Measurement, all_pairs, estimate
from hybrid.synthesize.generators.noisy_marginals import MarginalGenerator, NoisyCounts, NoisyMarginalOptions
from hybrid.synthesize.protocol import Cost, Feature

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
