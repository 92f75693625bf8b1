"""Attacks on a whole walk, from the source to the synthetic table.

Game: many runs with a canary and without it. One run: hundreds of canaries, of which each is in the table with
probability 1/2, and guesses about which are, with abstention (Steinke, Nasr and Jagielski 2023, arXiv:2305.08846).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from hybrid.base.arrays import Array, Codes, Mask, Numbers
from hybrid.base.errors import HybridError
from hybrid.base.progress import Progress
from hybrid.lab.audit_dp.attack import Attack, Bound, play
from hybrid.lab.audit_dp.canaries import Letters, as_frame
from hybrid.lab.audit_dp.stated import Stated
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.privacy.auditing import (
    epsilon_between,
    epsilon_of_game,
    epsilon_of_guesses,
    guesses_p_value,
    rho_between,
    rho_of_game,
)
from hybrid.table import Schema, Table

_OTHERS = 40
"""People beside the canary of a game."""
_TOO_MANY = 400
"""Rows of the person with too many, in multiples of what is used."""
_OTHERS_PER_VALUE = 50
"""People beside the canaries of the one run who have each value, so that none is rare."""
_ROWS_PER_PERSON = 10
"""Rows that are drawn in the one run; few rows would hide what the model knows."""
_PILOTS = 3
"""Runs that decide about scores and guesses of the one run."""
_GUESSED = (0.02, 0.05, 0.1, 0.25, 0.5)
"""Shares of the canaries about which is guessed, on each side."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables.

    Parameters
    ----------
    name : str
        How the canary differs from the others.
    others : numpy.ndarray, shape (n_others, n_columns)
        Positions of values; each row is another person.
    canary : numpy.ndarray, shape (n_columns,)
        Position of each value, -1 if missing.
    rows : int
        Rows of the canary.
    """

    name: str
    others: Codes
    canary: Codes
    rows: int


@dataclass(frozen=True)
class Walk:
    """The audited walk, from a table of canaries to what is released.

    ``schema``: all columns of the source.
    """

    config: RunConfig
    schema: Schema
    letters: tuple[Letters, ...]
    stated: Stated

    def release(self, codes: Codes, persons: Codes, seed: int, rows: int | None = None) -> Table | None:
        """Released table of these records.

        With as many rows as configured or as given. None where the run ends without a table.
        """
        changes: dict[str, Any] = {"split": self.config.split.model_copy(update={"control": 0.0})}
        if rows is not None:
            changes["synthesize"] = self.config.synthesize.model_copy(update={"rows": rows})
        config = self.config.model_copy(update=changes)
        try:
            frame = as_frame(self.schema, self.letters, codes, persons)
            return Pipeline(config.with_frame(frame), seed, judge_power=False).synthetic
        except HybridError:
            return None


def attack_walk(
    walk: Walk, canaries: int, runs: int, confidence: float, rng: np.random.Generator, progress: Progress
) -> Iterator[Attack]:
    """Attack a whole walk; arguments as of :func:`hybrid.lab.audit_dp.audit_privacy`."""
    pairs = list(_pairs(walk))
    error = (1 - confidence) / (len(pairs) + 1)
    yield _one_run(walk, canaries, 1 - error, rng)
    for at, pair in enumerate(pairs):
        progress("audit game", at, len(pairs))
        yield from _game(walk, pair, runs, 1 - error, rng)


def _pairs(walk: Walk) -> Iterator[Pair]:
    """Neighbouring tables, each made for what a faulty walk might read."""
    others = np.zeros((_OTHERS, len(walk.letters)), dtype=np.int64)
    last = np.array([len(one.values) - 1 for one in walk.letters])
    most = walk.stated.rows
    yield Pair("among equals", others, others[0], most)
    yield Pair("alone at the other end", others, last, most)
    if walk.stated.protects_missing:
        yield Pair("alone with missing values", others, np.full_like(last, -1), most)
    if walk.config.data.person_columns and walk.config.data.max_rows is not None:
        yield Pair("with too many rows", others, last, _TOO_MANY * most)


def _game(walk: Walk, pair: Pair, runs: int, confidence: float, rng: np.random.Generator) -> Iterator[Attack]:
    """Distinguish two neighbouring tables by what is released."""
    stated, n = walk.stated, len(pair.others)
    persons = np.arange(n)
    tables = (
        (np.concatenate([pair.others, np.repeat(pair.canary[None], pair.rows, axis=0)]), [*persons, *[n] * pair.rows]),
        (pair.others, persons),
    )
    facts = [
        np.array([_facts(walk, codes, np.array(of), pair.canary, int(rng.integers(2**31))) for _ in range(runs)])
        for codes, of in tables
    ]
    tally = play((facts[0], facts[1]), _bound(stated), confidence)
    lower = epsilon_of_game(tally.hits, tally.runs, stated.delta, confidence)
    yield Attack(pair.name, "epsilon", stated.epsilon, stated.delta, lower, tally.detail)
    if stated.rho is not None:
        lower = rho_of_game(tally.hits, tally.runs, stated.rho_delta, confidence)
        yield Attack(pair.name, "rho", stated.rho, stated.rho_delta, lower, tally.detail)


def _bound(stated: Stated) -> Bound:
    if stated.rho is None:
        return lambda low, high: epsilon_between(low, high, stated.delta)
    return lambda low, high: rho_between(low, high, stated.rho_delta)


def _facts(walk: Walk, codes: Codes, persons: Codes, canary: Codes, seed: int) -> Numbers:
    """Rows released, copies of the canary, and for each column three facts.

    Rows like the canary, rows unlike the first person, and if the canary's category is known.
    """
    made = walk.release(codes, persons, seed, walk.stated.draws)
    if made is None:
        return np.full(2 + 3 * len(walk.letters), -1.0)
    columns = [made.frame[one.column.name] for one in walk.letters]
    near = np.stack([one.nearest(drawn) for one, drawn in zip(walk.letters, columns, strict=True)])
    equal = near == canary[:, None]
    unlike = (near != codes[0][:, None]).sum(axis=1)
    known = [one.lists(drawn, int(code)) for one, drawn, code in zip(walk.letters, columns, canary, strict=True)]
    return np.array([len(made), equal.all(axis=0).sum(), *equal.sum(axis=1), *unlike, *known], dtype=np.float64)


def _one_run(walk: Walk, canaries: int, confidence: float, rng: np.random.Generator) -> Attack:
    """Guess which canaries were in the table of a single run.

    Other runs, made before, decide what a canary's score is and about how many is guessed.
    """
    stated = walk.stated
    each = _distinct(walk, canaries, rng)
    pilots = [_played(walk, each, rng) for _ in range(_PILOTS)]
    weights = _fitted(pilots)

    def evidence(share: float) -> tuple[float, float]:
        guesses = [_right(present, facts @ weights, share) for present, facts in pilots]
        right, made = (sum(numbers) for numbers in zip(*guesses, strict=True))
        known = len(each) * len(pilots), made, right
        lower = epsilon_of_guesses(*known, stated.delta, confidence)
        return lower, -guesses_p_value(*known, 0.0, stated.delta)

    present, facts = _played(walk, each, rng)
    right, made = _right(present, facts @ weights, max(_GUESSED, key=evidence))
    lower = epsilon_of_guesses(len(each), made, right, stated.delta, confidence)
    detail = f"{right} of {made} guesses right, {len(each)} canaries"
    return Attack("one run", "epsilon", stated.epsilon, stated.delta, lower, detail)


def _distinct(walk: Walk, canaries: int, rng: np.random.Generator) -> Codes:
    """Different records, at most so many; shape (n_canaries, n_columns)."""
    drawn = _random(walk, 20 * canaries, rng)
    first = np.sort(np.unique(drawn, axis=0, return_index=True)[1])[:canaries]
    found: Codes = drawn[first]
    return found


def _random(walk: Walk, n: int, rng: np.random.Generator) -> Codes:
    return np.stack([rng.integers(len(one.values), size=n) for one in walk.letters], axis=1)


def _played(walk: Walk, each: Codes, rng: np.random.Generator) -> tuple[Mask, Numbers]:
    """One run, with each canary or without it.

    Presence (n,) and facts (n, n_facts): how much more often than the other people alone explain the canary's values,
    and pairs of them, were released.
    """
    present = rng.random(len(each)) < 0.5
    others = _random(walk, _OTHERS_PER_VALUE * max(len(one.values) for one in walk.letters), rng)
    used = np.repeat(np.flatnonzero(present), walk.stated.rows)
    persons = np.concatenate([used, len(each) + np.arange(len(others))])
    people = np.concatenate([each[used], others])
    made = walk.release(people, persons, int(rng.integers(2**31)), _ROWS_PER_PERSON * len(people))
    columns = range(each.shape[1])
    sets = [*((at,) for at in columns), *combinations(columns, 2)]
    if made is None:
        return present, np.zeros((len(each), len(sets)))
    drawn = np.stack([one.nearest(made.frame[one.column.name]) for one in walk.letters], axis=1)
    facts = [
        _equal(drawn[:, some], each[:, some]) / _ROWS_PER_PERSON - _equal(others[:, some], each[:, some])
        for some in map(list, sets)
    ]
    return present, np.stack([fact - fact.mean() for fact in facts], axis=1)


def _fitted(pilots: Sequence[tuple[Mask, Numbers]]) -> Numbers:
    """Weights of the facts by least squares; shape (n_facts,)."""
    facts = np.concatenate([one for _, one in pilots])
    present = np.concatenate([mask for mask, _ in pilots]) - 0.5
    spread = facts.T @ facts
    found: Numbers = np.linalg.solve(spread + np.eye(len(spread)) * (1e-3 * np.trace(spread) + 1e-9), facts.T @ present)
    return found


def _equal(rows: Codes, wanted: Codes) -> Array:
    """Number of rows that equal each wanted one."""
    codes = np.unique(np.concatenate([wanted, rows]), axis=0, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(codes[len(wanted) :], minlength=int(codes.max()) + 1)
    found: Array = counts[codes[: len(wanted)]]
    return found


def _right(present: Mask, score: Numbers, share: float) -> tuple[int, int]:
    """Right guesses and all guesses about the highest and lowest scores."""
    order = np.argsort(score)
    side = max(int(len(order) * share), 1)
    return int(present[order[-side:]].sum() + (~present[order[:side]]).sum()), 2 * side
