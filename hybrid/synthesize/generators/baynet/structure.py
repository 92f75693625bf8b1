"""Structure of a Bayesian network: order of the columns, and their parents.

Greedy search by mutual information (Zhang, Cormode, Procopiuc, Srivastava, Xiao, PrivBayes, ACM TODS 42(4), 2017,
Algorithm 2 and Lemma 4.1), with natural logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError


@dataclass(frozen=True)
class Node:
    """A column and its parents.

    Positions of columns; parents come earlier in the network's order.
    """

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
        """Number of combinations of states."""
        return math.prod(self.sizes[at] for at in columns)

    def joint(self, columns: Sequence[int]) -> Array:
        """Combination of states of every row.

        The last column changes fastest; shape (n_rows,), int64.
        """
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
    """Largest change of the mutual information by one replaced record.

    Of ``n`` (PrivBayes, Lemma 4.1). ``binary``: the child, or its only parent, has two states.
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

    Parameters
    ----------
    codes : Codes
        d columns of n records.
    degree : int
        Parents of a column at most.
    max_cells : int
        Combinations of a column and its parents at most; larger sets of parents are not considered.
    rng : numpy.random.Generator
        The first column is drawn from it, and each choice for a finite ``epsilon``.
    epsilon : float
        For the d - 1 choices together, by the exponential mechanism; infinite: the best is taken.
    told : callable
        Receives the number of columns placed.

    Raises
    ------
    GeneratorError
        A column has more states than ``max_cells``.
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

    With probability proportional to exp(epsilon * score / (2 * widest)). ``widest`` is the sensitivity of the
    scores; an infinite ``epsilon`` takes the best.
    """
    if math.isinf(epsilon):
        return int(np.argmax(scores))
    weights = np.exp(epsilon * (scores - scores.max()) / (2 * widest))
    return int(rng.choice(len(scores), p=weights / weights.sum()))


def _candidates(codes: Codes, placed: Sequence[int], degree: int, max_cells: int) -> list[Node]:
    """Columns not yet placed, each with possible sets of parents.

    Of as many parents as there may be, or fewer where the cells are too many.
    """
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
