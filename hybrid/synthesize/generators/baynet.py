"""Bayesian networks: every column drawn given a few others.

Without a budget the network of Zhang et al. 2017 before noise ("BayNet" in Meeus et al., Achilles' Heels, 2023), with
one PrivBayes itself. One record *replaced* makes a neighbouring table, and the number of records counts as public. The
noise repeats with the seed and the bounds of numbers are taken from the records: no differential privacy is claimed.

Source: Zhang, Cormode, Procopiuc, Srivastava, Xiao, PrivBayes, ACM TODS 42(4), 2017. The structure is searched greedily
by mutual information in nats (Algorithm 2 and Lemma 4.1). One noisy joint table is counted per column with all its
parents; the first columns share the table of the first column that has as many parents as there may be (Algorithm 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.options import Options
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.protocol import Cost, DrawnColumns, Encoded, Encoding, Feature, Generator


@dataclass(frozen=True)
class Node:
    """A column and its parents, by their positions; parents come earlier in the network's order."""

    child: int
    parents: tuple[int, ...]


@dataclass(frozen=True)
class Codes:
    """Discrete columns: codes (n_rows,) each, and their numbers of states (n_columns,)."""

    columns: Sequence[Array]
    sizes: Sequence[int]

    def __len__(self) -> int:
        return len(self.columns[0])

    def cells(self, columns: Sequence[int]) -> int:
        return math.prod(self.sizes[at] for at in columns)

    def joint(self, columns: Sequence[int]) -> Array:
        """Combination of states of every row, the last column changing fastest; shape (n_rows,), int64."""
        code = np.zeros(len(self), dtype=np.int64)
        for at in columns:
            code = code * self.sizes[at] + self.columns[at]
        return code

    def counts(self, columns: Sequence[int]) -> Array:
        """Rows of each combination of states; shape (cells,), int64."""
        return np.bincount(self.joint(columns), minlength=self.cells(columns))


def mutual_information(counts: Array, child_size: int) -> float:
    """Mutual information of parents and child in nats, 0 or more.

    ``counts`` (cells,) of the combinations, the child changing fastest.
    """
    joint = counts.reshape(-1, child_size) / counts.sum()
    alone = _negative_entropy(joint.sum(axis=0)) + _negative_entropy(joint.sum(axis=1))
    return max(_negative_entropy(joint) - alone, 0.0)


def _negative_entropy(shares: Array) -> float:
    present = shares[shares > 0]
    return float((present * np.log(present)).sum())


def sensitivity(n: int, binary: bool) -> float:
    """Largest change of the mutual information by one replaced record of ``n`` (PrivBayes, Lemma 4.1).

    ``binary``: the child, or its only parent, has two states.
    """
    if n < 2:
        return math.log(2)
    if binary:
        return math.log(n) / n + (n - 1) / n * math.log(n / (n - 1))
    return 2 / n * math.log((n + 1) / 2) + (n - 1) / n * math.log((n + 1) / (n - 1))


def learn_structure(
    codes: Codes,
    degree: int,
    max_cells: int,
    rng: np.random.Generator,
    epsilon: float = math.inf,
    told: Callable[[int], None] | None = None,
) -> tuple[Node, ...]:
    """Order of the columns with their parents.

    A column has up to ``degree`` parents, and sets of parents with more than ``max_cells`` combinations are not
    considered. The first column is random; the d - 1 choices cost ``epsilon`` together, by the exponential mechanism;
    infinite: the best is taken.
    """
    d = len(codes.sizes)
    if max(codes.sizes) > max_cells:
        raise GeneratorError(
            f"a column has {max(codes.sizes)} states (limit {max_cells})",
            hint="generalize or drop it, raise max_cells if memory allows, or use cart",
        )
    nodes = [Node(int(rng.integers(d)), ())]
    known: dict[Node, float] = {}
    while len(nodes) < d:
        candidates = _candidates(codes, [node.child for node in nodes], degree, max_cells)
        for node in candidates:
            if node not in known:
                known[node] = mutual_information(codes.counts((*node.parents, node.child)), codes.sizes[node.child])
        scores = np.array([known[node] for node in candidates])
        at = choose(scores, _widest(codes, candidates), epsilon / (d - 1), rng)
        nodes.append(candidates[at])
        if told is not None:
            told(len(nodes))
    return tuple(nodes)


def choose(scores: Array, widest: float, epsilon: float, rng: np.random.Generator) -> int:
    """Position of a score, drawn by the exponential mechanism.

    With probability proportional to exp(epsilon * score / (2 * widest)). ``widest`` is the sensitivity of the scores;
    an infinite ``epsilon`` takes the best.
    """
    if math.isinf(epsilon):
        return int(np.argmax(scores))
    weights = np.exp(epsilon * (scores - scores.max()) / (2 * widest))
    return int(rng.choice(len(scores), p=weights / weights.sum()))


def _candidates(codes: Codes, placed: Sequence[int], degree: int, max_cells: int) -> list[Node]:
    """Columns not yet placed, each with sets of as many parents as the limit of cells allows."""
    found = []
    for child in sorted(set(range(len(codes.sizes))) - set(placed)):
        for number in range(min(degree, len(placed)), -1, -1):
            sets = combinations(sorted(placed), number)
            fitting = [parents for parents in sets if codes.cells((*parents, child)) <= max_cells]
            if fitting:
                found += [Node(child, parents) for parents in fitting]
                break
    return found


def _widest(codes: Codes, candidates: Sequence[Node]) -> float:
    def binary(node: Node) -> bool:
        return codes.sizes[node.child] == 2 or [codes.sizes[at] for at in node.parents] == [2]

    return max(sensitivity(len(codes), binary(node)) for node in candidates)


def learn_tables(
    codes: Codes, nodes: Sequence[Node], rng: np.random.Generator, epsilon: float = math.inf
) -> tuple[Array, ...]:
    """Cumulative conditional probabilities of every node, shape (parent states, child states).

    All tables together cost ``epsilon``; each measured one gets an equal part, as discrete Laplace noise for one
    replaced record. Counts below 0 become 0; a parent state without a count is uniform.
    """
    shared = _shared(nodes)
    measured = max(len(nodes) - shared, 1)
    first = _noisy(codes.counts(_columns(nodes[shared])), measured, epsilon, rng)
    found = []
    for at, node in enumerate(nodes):
        if at <= shared:
            counts = _summed(codes, first, nodes[shared], node)
        else:
            counts = _noisy(codes.counts(_columns(node)), measured, epsilon, rng)
        found.append(_cumulative(counts.reshape(-1, codes.sizes[node.child])))
    return tuple(found)


def draw_rows(
    sizes: Sequence[int], nodes: Sequence[Node], tables: Sequence[Array], n_rows: int, rng: np.random.Generator
) -> list[Array]:
    """Codes of new rows: one array (n_rows,), int32, per column."""
    drawn: dict[int, Array] = {}
    for node, table in zip(nodes, tables, strict=True):
        state = np.zeros(n_rows, dtype=np.int64)
        for parent in node.parents:
            state = state * sizes[parent] + drawn[parent]
        # One search for all rows: the table's rows one after the other, each a step higher.
        heights = (table + np.arange(len(table))[:, None]).reshape(-1)
        found = np.searchsorted(heights, state + rng.random(n_rows), side="right")
        drawn[node.child] = (found - state * table.shape[1]).clip(0, table.shape[1] - 1).astype(np.int32)
    return [drawn[at] for at in range(len(sizes))]


def _columns(node: Node) -> tuple[int, ...]:
    return (*node.parents, node.child)


def _shared(nodes: Sequence[Node]) -> int:
    """Position of the last node whose parents are all columns before it: its table has those of the nodes before."""
    last = 0
    for at, node in enumerate(nodes):
        if len(node.parents) != at:
            break
        last = at
    return last


def _summed(codes: Codes, counts: Array, whole: Node, part: Node) -> Array:
    columns = _columns(whole)
    cells = counts.reshape([codes.sizes[at] for at in columns])
    kept = _columns(part)
    others = tuple(axis for axis, at in enumerate(columns) if at not in kept)
    left = [at for at in columns if at in kept]
    summed: Array = cells.sum(axis=others).transpose([left.index(at) for at in kept])
    return summed.reshape(-1)


def _noisy(counts: Array, measured: int, epsilon: float, rng: np.random.Generator) -> Array:
    """Counts with discrete Laplace noise of scale 2 * measured / epsilon, cut at 0."""
    if math.isinf(epsilon):
        return counts
    stop = -math.expm1(-epsilon / (2 * measured))
    noise = rng.geometric(stop, len(counts)) - rng.geometric(stop, len(counts))
    return np.asarray(np.maximum(counts + noise, 0))


def _cumulative(counts: Array) -> Array:
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full(counts.shape, 1 / counts.shape[1]), where=totals > 0)
    sums: Array = np.cumsum(shares, axis=1)
    sums[:, -1] = 1.0
    return sums


class BaynetOptions(Options):
    """Options of ``baynet``."""

    degree: int = Field(default=2, ge=1, le=4)
    """Columns that a column is drawn from, at most; the time grows with the number of columns to this power."""
    bins: int = Field(default=20, ge=2)
    """Intervals of equal width that a column of more different numbers or dates is cut into."""
    max_cells: int = Field(default=1_000_000, ge=2)
    """Combinations of a column and those it is drawn from, at most; it gets fewer columns where they are more."""


class PrivbayesOptions(BaynetOptions):
    """Options of ``privbayes``."""

    epsilon: float = Field(default=1.0, gt=0)
    """Budget of one training, for one replaced record."""
    split: float = Field(default=0.5, gt=0, lt=1)
    """Share of the budget that chooses the structure; the rest goes into the tables."""


@dataclass(frozen=True)
class BaynetModel:
    """A network with its tables.

    ``edges``: bounds of the intervals of each continuous column, by position, shape (n_bins + 1,).
    """

    sizes: tuple[int, ...]
    nodes: tuple[Node, ...]
    tables: tuple[Array, ...]
    edges: Mapping[int, Array]

    def draw(self, n: int, seed: int) -> DrawnColumns:
        rng = rng_for(seed, "baynet draw")
        drawn = draw_rows(self.sizes, self.nodes, self.tables, n, rng)
        for at, edges in self.edges.items():
            drawn[at] = rng.uniform(edges[drawn[at]], edges[drawn[at] + 1])
        return DrawnColumns(drawn)


class Baynet(Generator):
    """The generator ``baynet``."""

    name = "baynet"
    title = "Bayesian network (Zhang et al. 2017) without noise: fast, coarse numbers"
    Options = BaynetOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}, "meeus": {"degree": 1, "bins": 10}}

    def encoding(self, options: BaynetOptions) -> Encoding:
        return Encoding(max_levels=options.bins, flag_missing=True, listed_domains=True)

    def cost(self, features: Sequence[Feature], n_rows: int, options: BaynetOptions) -> Cost:
        d = len(features)
        sets = sum(math.comb(d, number + 1) * (number + 1) for number in range(1, options.degree + 1))
        return Cost(0.02 + sets * (2e-5 + 6e-9 * n_rows), 24 * n_rows * d + 16 * options.max_cells)

    def learn(
        self,
        data: Encoded,
        options: BaynetOptions,
        seed: int,
        progress: Progress,
        unfinished: Path | None = None,  # noqa: ARG002  (it takes seconds)
    ) -> BaynetModel:
        edges = {at: _edges(data.columns[at], options.bins) for at, f in enumerate(data.features) if not f.is_discrete}
        columns = [_coded(values, edges.get(at)) for at, values in enumerate(data.columns)]
        sizes = tuple(f.n_levels or len(edges[at]) - 1 for at, f in enumerate(data.features))
        codes, (structure, tables) = Codes(columns, sizes), self._budget(options)
        progress("fit baynet", 0, len(sizes))
        nodes = learn_structure(
            codes,
            options.degree,
            options.max_cells,
            rng_for(seed, "baynet structure"),
            structure,
            lambda done: progress("fit baynet", done, len(sizes)),
        )
        return BaynetModel(sizes, nodes, learn_tables(codes, nodes, rng_for(seed, "baynet noise"), tables), edges)

    def _budget(self, options: BaynetOptions) -> tuple[float, float]:  # noqa: ARG002  (what privbayes has)
        """Budgets of structure and tables."""
        return math.inf, math.inf


class Privbayes(Baynet):
    """The generator ``privbayes``."""

    name = "privbayes"
    title = "Bayesian network with noise (PrivBayes, Zhang et al. 2017): for research, no claim is made"
    Options = PrivbayesOptions

    def _budget(self, options: BaynetOptions) -> tuple[float, float]:
        assert isinstance(options, PrivbayesOptions)
        return options.split * options.epsilon, (1 - options.split) * options.epsilon


def _edges(values: Array, bins: int) -> Array:
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high if high > low else low + 1, bins + 1)


def _coded(values: Array, edges: Array | None) -> Array:
    if edges is None:
        return values
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int32)
