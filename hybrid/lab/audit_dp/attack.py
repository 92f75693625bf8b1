"""Attacks on a stated guarantee: their results, and games with an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from hybrid.base.arrays import Array, Codes, Counts, Mask, Numbers
from hybrid.privacy.auditing import epsilon_between, epsilon_of_guesses, rho_between, shares_of_game

_THRESHOLDS = np.linspace(0, 1, 65)
"""Quantiles of a fact that are looked at as thresholds."""

Quantity = Literal["epsilon", "rho"]


def first_distinct(rows: Codes, most: int) -> Codes:
    """Positions of the first of each kind of rows, ascending, at most so many."""
    found: Codes = np.sort(np.unique(rows, axis=0, return_index=True)[1])[:most]
    return found


def n_equal(rows: Codes, wanted: Codes) -> Counts:
    """Number of rows that equal each of the wanted."""
    codes = np.unique(np.concatenate([wanted, rows]), axis=0, return_inverse=True)[1].reshape(-1)
    found: Counts = np.bincount(codes[len(wanted) :], minlength=int(codes.max()) + 1)[codes[: len(wanted)]]
    return found


def n_right(present: Mask, score: Numbers, side: int) -> int:
    """Right guesses that the highest scores, so many, are of present canaries, and the lowest of others."""
    order = np.argsort(score)
    return int(present[order[-side:]].sum() + (~present[order[:side]]).sum())


@dataclass(frozen=True)
class BudgetAttack:
    """Result of one attack: a lower bound of what is stated."""

    name: str
    """one run, the pair of tables of a game, or the part of the account."""
    quantity: Quantity
    """What is bounded: epsilon at ``delta``, or rho of zero-concentrated differential privacy but for ``delta``."""
    stated: float
    delta: float
    lower: float
    """The quantity is at least this, with the audit's confidence."""
    detail: str

    @property
    def refutes(self) -> bool:
        """True if the stated quantity is below the bound."""
        return self.lower > self.stated


@dataclass(frozen=True)
class PrivacyAudit:
    """All attacks of an audit; together their bounds hold with ``confidence``."""

    attacks: tuple[BudgetAttack, ...]
    confidence: float

    @property
    def refuted(self) -> tuple[BudgetAttack, ...]:
        """Attacks that refute the statement."""
        return tuple(attack for attack in self.attacks if attack.refutes)

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        attacks = [asdict(attack) | {"refutes": attack.refutes} for attack in self.attacks]
        return {"confidence": self.confidence, "refuted": bool(self.refuted), "attacks": attacks}


@dataclass(frozen=True)
class Event:
    """A fact at or above a threshold, or below it, and the table on which it was more frequent (0: with the canary)."""

    fact: int
    threshold: float
    above: bool
    more: int

    def count(self, facts: Array) -> int:
        """Runs in which it occurs, of facts (n_runs, n_facts)."""
        return int(((facts[:, self.fact] >= self.threshold) == self.above).sum())


@dataclass(frozen=True)
class StatedBound:
    """Statement of a bound, as in :class:`BudgetAttack`."""

    quantity: Quantity
    value: float
    delta: float

    def between(self, low: Array, high: Array) -> Array:
        """Lower bounds of it, from bounds of the two frequencies of events."""
        return (epsilon_between if self.quantity == "epsilon" else rho_between)(low, high, self.delta)

    def beside(self, name: str, lower: float, detail: str) -> BudgetAttack:
        return BudgetAttack(name, self.quantity, self.value, self.delta, lower, detail)

    def of_guesses(self, canaries: int, made: int, right: int, confidence: float) -> BudgetAttack:
        """Result of guesses about canaries of one run."""
        lower = epsilon_of_guesses(canaries, made, right, self.delta, confidence)
        return self.beside("one run", lower, f"{right} of {made} guesses right, {canaries} canaries")


def play(
    name: str, sides: tuple[Array, Array], stated: Sequence[StatedBound], chooses: StatedBound, confidence: float
) -> Iterator[BudgetAttack]:
    """Results of a game, from facts of runs with the canary and without it, (n_runs, n_facts).

    One bound chooses an event on the first halves of the runs; it is counted on the others.
    """
    middles = [len(side) // 2 for side in sides]
    event = _best((sides[0][: middles[0]], sides[1][: middles[1]]), chooses, confidence)
    left = [side[middle:] for side, middle in zip(sides, middles, strict=True)]
    hits, runs = [event.count(side) for side in left], [len(side) for side in left]
    one, other = event.more, 1 - event.more
    shares = shares_of_game((hits[one], hits[other]), (runs[one], runs[other]), confidence)
    detail = f"{hits[0]} of {runs[0]} with, {hits[1]} of {runs[1]} without the canary"
    yield from (bound.beside(name, float(bound.between(*shares)), detail) for bound in stated)


def _best(sides: tuple[Array, Array], bound: StatedBound, confidence: float) -> Event:
    """Event with the greatest lower bound, then the largest difference."""
    best: tuple[tuple[float, float], Event] | None = None
    runs = len(sides[0]), len(sides[1])
    for fact in range(sides[0].shape[1]):
        columns = [np.sort(side[:, fact]) for side in sides]
        thresholds = _thresholds(np.concatenate(columns))
        above = [n - np.searchsorted(column, thresholds, "left") for column, n in zip(columns, runs, strict=True)]
        for is_above in (True, False):
            hits = above if is_above else [n - counts for n, counts in zip(runs, above, strict=True)]
            for more in (0, 1):
                ordered, of = (hits[more], hits[1 - more]), (runs[more], runs[1 - more])
                found = bound.between(*shares_of_game(ordered, of, confidence))
                gaps = _gaps(ordered, of)
                at = int(np.lexsort((gaps, found))[-1])
                score = float(found[at]), float(gaps[at])
                if best is None or score > best[0]:
                    best = score, Event(fact, float(thresholds[at]), is_above, more)
    assert best is not None
    return best[1]


def _thresholds(values: Array) -> Array:
    known = np.unique(values)
    at = np.searchsorted(known, np.unique(np.quantile(values, _THRESHOLDS, method="higher")))
    return np.asarray((known[np.maximum(at - 1, 0)] + known[at]) / 2)


def _gaps(hits: tuple[Array, Array], runs: tuple[int, int]) -> Array:
    p, q = ((count + 0.5) / (n + 1) for count, n in zip(hits, runs, strict=True))
    return np.asarray((p - q) / np.sqrt(p * (1 - p) / runs[0] + q * (1 - q) / runs[1]))
