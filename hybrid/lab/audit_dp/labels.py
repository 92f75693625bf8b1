"""Attacks on k-anonymous labels of a sample.

Canaries are records of listed values. One run: many canaries, of which each is in the table with probability 1/2, and
guesses about which are (Steinke, Nasr and Jagielski 2023). Game: many runs on two neighbouring tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.base.arrays import Array
from hybrid.base.errors import HybridError
from hybrid.base.progress import Progress
from hybrid.hierarchy import Hierarchy
from hybrid.lab.audit_dp.attack import BudgetAttack, StatedBound, first_distinct, n_equal, n_right, play
from hybrid.pipeline.amplification import epsilon_for
from hybrid.pipeline.sampled_labels import DELTAS
from hybrid.pipeline.table_run import TableRun
from hybrid.table import DTYPES, Table

_ABOVE_FLOOR = (1.25, 4.0)
"""Deltas, in multiples of beta ** k, at which few runs can say most."""
_LONE_CLASSES = 4
"""Sizes, in multiples of k / beta, of the class beside which a canary is alone."""


def attack_labels(
    pipeline: TableRun,
    options: AnonymizeOptions,
    canaries: int,
    runs: int,
    confidence: float,
    rng: np.random.Generator,
    progress: Progress,
) -> Iterator[BudgetAttack]:
    """Attack the walk of labels at fixed levels; arguments as of :func:`hybrid.lab.audit_dp.audit_privacy`."""
    walk = _Walk(pipeline, options.k, pipeline.config.sample.beta, options.levels)
    points = list(_points(walk))
    tables = list(_pairs(walk, rng))
    error = (1 - confidence) / (len(tables) + 1)
    least = min(points, key=lambda point: point.delta)
    yield from _one_run(walk, points, canaries, 1 - error / len(points), rng)
    for at, (name, canary, others) in enumerate(tables):
        progress("audit game", at, len(tables))
        yield from play(name, _sides(walk, canary, others, runs, rng), points, least, 1 - error)


@dataclass(frozen=True)
class _Walk:
    """The audited walk, from a table of canaries to what is released."""

    pipeline: TableRun
    k: int
    beta: float
    levels: dict[str, int]

    @property
    def hierarchies(self) -> list[Hierarchy]:
        """One per column, in the order of ``levels``."""
        return [self.pipeline.hierarchies[name] for name in self.levels]

    def leaves(self, n: int, rng: np.random.Generator) -> Array:
        """Random records of listed values as leaves; shape (n, n_columns)."""
        sizes = [one.n_leaves - (one.missing_leaf is not None) for one in self.hierarchies]
        return np.stack([rng.integers(size, size=n) for size in sizes], axis=1)

    def cells(self, leaves: Array) -> Array:
        """Label of each value at the fixed levels; shape (n, n_columns)."""
        columns = zip(self.hierarchies, leaves.T, self.levels.values(), strict=True)
        return np.stack([one.node_of[column, level] for one, column, level in columns], axis=1)

    def release(self, leaves: Array, seed: int) -> Array:
        """Leaves of the rows that are released of these records; none where the run ends without a table."""
        schema = self.pipeline.train.schema
        frame = {
            one.column: pd.Series(one.leaves[column]).astype(DTYPES[schema[one.column].kind])
            for one, column in zip(self.hierarchies, leaves.T, strict=True)
        }
        persons = None if self.pipeline.train.rows_are_persons else np.arange(len(leaves))
        table = Table(pd.DataFrame(frame)[schema.names], schema, persons)
        try:
            made = self.pipeline.with_training(table, seed).generated.table
        except HybridError:
            return np.empty((0, leaves.shape[1]), dtype=np.int64)
        return np.stack([one.encode(made.frame[one.column]) for one in self.hierarchies], axis=1)


def _points(walk: _Walk) -> Iterator[StatedBound]:
    """Stated pairs of epsilon and delta."""
    for delta in (*DELTAS, *(min(factor * walk.beta**walk.k, 0.9) for factor in _ABOVE_FLOOR)):
        found = epsilon_for(walk.k, walk.beta, delta)
        if found is not None:
            yield StatedBound("epsilon", found.epsilon, delta)


def _worst(walk: _Walk, epsilon: float = 1.0) -> int:
    gamma = 1 - (1 - walk.beta) * math.exp(-epsilon)
    return max(math.floor((walk.k - 1) / gamma) + 1, walk.k)


def _one_run(
    walk: _Walk, points: Sequence[StatedBound], canaries: int, confidence: float, rng: np.random.Generator
) -> Iterator[BudgetAttack]:
    """Guess which canaries were in the table of a single run."""
    drawn = walk.leaves(20 * canaries, rng)
    first = first_distinct(walk.cells(drawn), canaries)
    each, present = drawn[first], rng.random(len(first)) < 0.5
    table = np.concatenate([np.repeat(each, _worst(walk) - 1, axis=0), each[present]])
    made = walk.cells(walk.release(table[rng.permutation(len(table))], int(rng.integers(2**31))))
    half = max(len(each) // 4, 1)
    right = n_right(present, n_equal(made, walk.cells(each)) + rng.random(len(each)) / 2, half)
    yield from (point.of_guesses(len(each), 2 * half, right, confidence) for point in points)


def _pairs(walk: _Walk, rng: np.random.Generator) -> Iterator[tuple[str, Array, Array]]:
    """Neighbouring tables of the games: the canary, and the records beside it."""
    drawn = walk.leaves(400, rng)
    canary, *others = drawn[first_distinct(walk.cells(drawn), 2)]
    twin = _twin(walk, canary, rng)
    for size in dict.fromkeys((walk.k - 1, walk.k, _worst(walk))):
        if size:
            yield f"class of {size}", canary, np.repeat(twin[None], size - 1, axis=0)
    crowd = math.ceil(_LONE_CLASSES * walk.k / walk.beta)
    yield "in a large class", canary, np.repeat(twin[None], crowd, axis=0)
    if others:
        yield "alone beside a class", canary, np.repeat(others[0][None], crowd, axis=0)


def _twin(walk: _Walk, canary: Array, rng: np.random.Generator) -> Array:
    """A record with the canary's labels and other values, if any."""
    drawn = walk.leaves(4000, rng)
    same = (walk.cells(drawn) == walk.cells(canary[None])).all(axis=1) & (drawn != canary).any(axis=1)
    return drawn[np.flatnonzero(same)[0]] if same.any() else canary


def _sides(walk: _Walk, canary: Array, others: Array, runs: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Facts of runs with the canary and without it; shape (n_runs, n_facts)."""
    with_canary = np.concatenate([others, canary[None]])
    facts, facts_without = (
        np.array([_facts(walk, walk.release(table, int(rng.integers(2**31))), canary) for _ in range(runs)])
        for table in (with_canary, others)
    )
    return facts, facts_without


def _facts(walk: _Walk, made: Array, canary: Array) -> tuple[int, int, int]:
    """Rows released, rows with the canary's labels, and its copies."""
    labels = n_equal(walk.cells(made), walk.cells(canary[None])) if len(made) else [0]
    return len(made), int(labels[0]), int(n_equal(made, canary[None])[0])
