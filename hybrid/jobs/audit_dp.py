"""Audit of a stated differential privacy by attacks.

The attacks try to refute it, over the whole walk. Canaries are records of listed values; no real record is at stake.
One run: many canaries, of which each is in the table with probability 1/2, and guesses about which are (Steinke, Nasr
and Jagielski 2023). Game: many runs on two neighbouring tables, and an event that half of the runs choose and the other
half count (Clopper-Pearson).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Counts
from hybrid.base.atomic import write_json
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.hierarchy import Hierarchy
from hybrid.jobs.run import staged
from hybrid.pipeline.amplification import epsilon_for
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.sampled_labels import DELTAS
from hybrid.privacy.auditing import epsilon_of_game, epsilon_of_guesses
from hybrid.table import DTYPES, Table

RESULT = "audit-dp.json"
_ABOVE_FLOOR = (1.25, 4.0)
"""Deltas, in multiples of beta ** k, at which few runs can say most."""
_LONE_CLASSES = 4
"""Sizes, in multiples of k / beta, of the class beside which a canary is alone."""


@dataclass(frozen=True)
class Point:
    """One stated pair of epsilon and delta."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Attack:
    """Result of one attack: a lower bound of epsilon.

    Parameters
    ----------
    name : str
        one run, or the pair of tables of a game.
    point : Point
        The stated guarantee.
    lower : float
        Epsilon is at least this at the stated delta, with the audit's confidence.
    detail : str
        Counts behind the bound.
    """

    name: str
    point: Point
    lower: float
    detail: str

    @property
    def refutes(self) -> bool:
        """True if the stated epsilon is below the bound."""
        return self.lower > self.point.epsilon


@dataclass(frozen=True)
class PrivacyAudit:
    """All attacks of an audit; together their bounds hold with ``confidence``."""

    attacks: tuple[Attack, ...]
    confidence: float

    @property
    def refuted(self) -> tuple[Attack, ...]:
        """Attacks that refute the statement."""
        return tuple(attack for attack in self.attacks if attack.refutes)

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        attacks = [asdict(attack) | {"refutes": attack.refutes} for attack in self.attacks]
        return {"confidence": self.confidence, "refuted": bool(self.refuted), "attacks": attacks}


def audit_privacy(
    config: RunConfig,
    *,
    canaries: int = 200,
    runs: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> PrivacyAudit:
    """Attack the walk of a configuration that states differential privacy.

    By k-anonymous labels of a sample.

    Parameters
    ----------
    config : RunConfig
        Its records are read for their columns alone; the tables of the attacks hold canaries.
    canaries : int
        Most canaries of the one run, 10 or more; as many as the fixed levels have combinations of labels.
    runs : int
        Runs on each table of a game, 20 or more; the first half chooses the event.
    confidence : float
        Of all bounds together, in (0, 1).
    seed : int
        Of the audit's own draws and of the walk's.
    progress : Progress
        Called after each run.

    Raises
    ------
    ConfigError
        The configuration states no differential privacy, or by a generator's noise.
    """
    if canaries < 10 or runs < 20 or not 0 < confidence < 1:
        raise ConfigError(
            f"{canaries} canaries, {runs} runs or confidence {confidence:g} are too few",
            hint="use 10 canaries, 20 runs and a confidence below 1, or more",
        )
    pipeline = Pipeline(config, judge_power=False)
    if not pipeline.is_private:
        missing = "; ".join(one.text for one in pipeline.explanation.conditions if not one.met)
        raise ConfigError(
            f"the configuration states no differential privacy that could be audited; not met: {missing}",
            hint="hybrid explain has all conditions",
        )
    if config.anonymize is None:
        raise ConfigError(
            "audits of generators with a budget are not supported: canaries are made for k-anonymous labels",
            hint="audit a configuration with anonymize and sample.order: pre",
        )
    walk = _Walk(pipeline, config.anonymize.k, config.sample.beta, config.anonymize.levels)
    points = list(_points(walk))
    rng = rng_for(seed, "audit-dp")
    tables = list(_pairs(walk, rng))
    error = (1 - confidence) / (len(tables) + 1)
    found = [*_one_run(walk, points, canaries, 1 - error, rng)]
    for at, (name, canary, others) in enumerate(tables):
        progress("audit game", at, len(tables))
        found += _game(walk, name, canary, others, points, runs, 1 - error, rng)
    return PrivacyAudit(tuple(found), confidence)


def write_privacy_audit(audit: PrivacyAudit, folder: Path) -> None:
    """Write the result as JSON."""
    with staged(folder) as temporary:
        write_json(temporary / RESULT, audit.to_json())


@dataclass(frozen=True)
class _Walk:
    """The audited walk, from a table of canaries to what is released."""

    pipeline: Pipeline
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
        """Leaves of the rows that are released of these records.

        None where the run ends without a table.
        """
        schema = self.pipeline.train.schema
        frame = {
            one.column: pd.Series(one.leaves[column]).astype(DTYPES[schema[one.column].kind])
            for one, column in zip(self.hierarchies, leaves.T, strict=True)
        }
        persons = None if self.pipeline.train.persons is None else np.arange(len(leaves))
        table = Table(pd.DataFrame(frame)[schema.names], schema, persons)
        try:
            made = self.pipeline.with_training(table, seed).generated.table
        except HybridError:
            return np.empty((0, leaves.shape[1]), dtype=np.int64)
        return np.stack([one.encode(made.frame[one.column]) for one in self.hierarchies], axis=1)


def _points(walk: _Walk) -> Iterator[Point]:
    """Stated pairs of epsilon and delta."""
    for delta in (*DELTAS, *(min(factor * walk.beta**walk.k, 0.9) for factor in _ABOVE_FLOOR)):
        found = epsilon_for(walk.k, walk.beta, delta)
        if found is not None:
            yield Point(found.epsilon, delta)


def _worst(walk: _Walk, epsilon: float = 1.0) -> int:
    """Size of the class whose count discloses most, with the canary."""
    gamma = 1 - (1 - walk.beta) * math.exp(-epsilon)
    return max(math.floor((walk.k - 1) / gamma) + 1, walk.k)


def _one_run(
    walk: _Walk, points: Sequence[Point], canaries: int, confidence: float, rng: np.random.Generator
) -> Iterator[Attack]:
    """Guess which canaries were in the table of a single run."""
    drawn = walk.leaves(20 * canaries, rng)
    first = np.sort(np.unique(walk.cells(drawn), axis=0, return_index=True)[1])[:canaries]
    each, present = drawn[first], rng.random(len(first)) < 0.5
    table = np.concatenate([np.repeat(each, _worst(walk) - 1, axis=0), each[present]])
    made = walk.cells(walk.release(table[rng.permutation(len(table))], int(rng.integers(2**31))))
    score = _equal(made, walk.cells(each)) + rng.random(len(each)) / 2
    order = np.argsort(score)
    half = max(len(each) // 4, 1)
    right = int(present[order[-half:]].sum() + (~present[order[:half]]).sum())
    for point in points:
        lower = epsilon_of_guesses(len(each), 2 * half, right, point.delta, confidence)
        yield Attack("one run", point, lower, f"{right} of {2 * half} guesses right, {len(each)} canaries")


def _pairs(walk: _Walk, rng: np.random.Generator) -> Iterator[tuple[str, Array, Array]]:
    """Neighbouring tables of the games: the canary, and the records beside it."""
    canary, *others = _apart(walk, rng)
    twin = _twin(walk, canary, rng)
    for size in dict.fromkeys((walk.k - 1, walk.k, _worst(walk))):
        if size:
            yield f"class of {size}", canary, np.repeat(twin[None], size - 1, axis=0)
    crowd = math.ceil(_LONE_CLASSES * walk.k / walk.beta)
    yield "in a large class", canary, np.repeat(twin[None], crowd, axis=0)
    if others:
        yield "alone beside a class", canary, np.repeat(others[0][None], crowd, axis=0)


def _apart(walk: _Walk, rng: np.random.Generator) -> Array:
    """Up to two records with different labels."""
    drawn = walk.leaves(400, rng)
    found: Array = drawn[np.sort(np.unique(walk.cells(drawn), axis=0, return_index=True)[1])[:2]]
    return found


def _twin(walk: _Walk, canary: Array, rng: np.random.Generator) -> Array:
    """A record with the canary's labels and other values, if any."""
    drawn = walk.leaves(4000, rng)
    same = (walk.cells(drawn) == walk.cells(canary[None])).all(axis=1) & (drawn != canary).any(axis=1)
    return drawn[np.flatnonzero(same)[0]] if same.any() else canary


def _game(
    walk: _Walk,
    name: str,
    canary: Array,
    others: Array,
    points: Sequence[Point],
    runs: int,
    confidence: float,
    rng: np.random.Generator,
) -> Iterator[Attack]:
    """Distinguish two neighbouring tables by what is released."""
    with_canary = np.concatenate([others, canary[None]])
    sides = [
        np.array([_facts(walk, walk.release(table, int(rng.integers(2**31))), canary) for _ in range(runs)])
        for table in (with_canary, others)
    ]
    middle = runs // 2
    event = _best_event(sides[0][:middle], sides[1][:middle])
    hits = [int(_occurs(event, side[middle:]).sum()) for side in sides]
    at = event[3]
    left = runs - middle
    for point in points:
        lower = epsilon_of_game((hits[at], hits[1 - at]), (left, left), point.delta, confidence)
        yield Attack(name, point, lower, f"{hits[0]} of {left} with, {hits[1]} of {left} without the canary")


def _facts(walk: _Walk, made: Array, canary: Array) -> tuple[int, int, int]:
    """Rows released, rows with the canary's labels, and its copies."""
    labels = _equal(walk.cells(made), walk.cells(canary[None])) if len(made) else [0]
    return len(made), int(labels[0]), int(_equal(made, canary[None])[0])


def _equal(rows: Array, wanted: Array) -> Counts:
    """Number of rows that equal each wanted one."""
    codes = np.unique(np.concatenate([wanted, rows]), axis=0, return_inverse=True)[1].reshape(-1)
    found: Counts = np.bincount(codes[len(wanted) :], minlength=int(codes.max()) + 1)[codes[: len(wanted)]]
    return found


Event = tuple[int, int, bool, int]
"""Fact, threshold, whether at least or less, and the table on which it is more frequent (0: with the canary)."""


def _best_event(first: Array, second: Array) -> Event:
    """The event whose frequencies differ by the largest ratio."""
    best: tuple[float, Event] = (-math.inf, (0, 0, True, 0))
    for fact in range(first.shape[1]):
        for threshold in np.unique(np.concatenate([first[:, fact], second[:, fact]])):
            for above in (True, False):
                event = (fact, int(threshold), above)
                shares = [(_occurs((*event, 0), side).sum() + 0.5) / (len(side) + 1) for side in (first, second)]
                more = int(shares[1] > shares[0])
                gain = math.log(shares[more] / shares[1 - more]) * math.sqrt(shares[more])
                if gain > best[0]:
                    best = (gain, (*event, more))
    return best[1]


def _occurs(event: Event, facts: Array) -> Array:
    """Mask of the runs in which an event occurs."""
    fact, threshold, above, _ = event
    found: Array = facts[:, fact] >= threshold
    return found if above else ~found
