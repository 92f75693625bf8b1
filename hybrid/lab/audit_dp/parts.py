"""Games on the parts of a private table's account.

Each is compared with the rho that was paid for it.

The mechanisms are called as the walk calls them, on tables made for each: so often, or with so many cells of which each
is a game of its own, that noise with half of its deviation is noticed. Each game is played with the configured budget,
and with one so large that its noise is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Numbers
from hybrid.base.progress import Progress
from hybrid.lab.audit_dp.attack import BudgetAttack, StatedBound, play
from hybrid.lab.audit_dp.walk import Stated, Walk
from hybrid.privacy.accounting import rho_for, total, variance_for
from hybrid.privacy.domain import CategoryDomain, KnownColumn, NumberDomain, PrivacyOptions
from hybrid.privacy.plan import DEVIATIONS, DOMAINS_SHARE, FAN, KEYS_SHARE, EncodedTable, encode_table, threshold
from hybrid.synthesize.generators.noisy_marginals import NoisyCounts
from hybrid.table import Column, Kind, Role, Schema, Table

_LOUD = 50.0
"""Epsilon at which the noise is small enough to be seen well."""
_SHARE = 0.1
"""Share of rho that is spent on a game of marginals or choices, at most."""
_MARGINAL = 1 / 32
"""rho of a marginal, at most: the deviation of its noise is four times a person's rows, and whole numbers fine."""
_CHOICE = 1 / 8
"""rho of a choice, at most: with more, either side is hardly ever chosen."""
_PER_CALL = 25
"""Draws in place of which one call is made."""
_ROWS = 500
"""Rows beside the canary, in multiples of its own, where rows are counted."""
_KEYS = 400
"""Categories of a table in which they are searched for, at most."""
_CELLS = 200_000
"""Rows of such a table, about, at most."""
_LAST = 9999
_AT = 5000
"""Bounds of a number that intervals are searched for, and the canary's value."""


@dataclass(frozen=True)
class Played:
    """Facts of all plays on two neighbouring tables, and their price."""

    facts: tuple[Numbers, Numbers]
    """With the canary, and without it; shape (n_plays, n_facts)."""
    rho: float
    delta: float = 0.0


@dataclass(frozen=True)
class _Setting:
    """Budget and limits of a game, and how domains are found; None where the generator has listed ones."""

    stated: Stated
    options: PrivacyOptions | None
    draws: int
    rng: np.random.Generator

    @property
    def calls(self) -> int:
        """Plays of which each is a call of its own."""
        return self.draws // _PER_CALL

    @property
    def rows(self) -> int:
        return self.stated.rows

    def rho(self, most: float) -> float:
        """Budget of a game of marginals or choices."""
        return min(_SHARE * rho_for(self.stated.epsilon, self.stated.delta), most)

    def coded(self, values: pd.Series, persons: Codes, kind: Kind, known: KnownColumn) -> EncodedTable:
        """One column with its private domain."""
        assert self.options is not None
        table = Table(pd.DataFrame({"x": values}), Schema((Column("x", Role.INSENSITIVE, kind),)), persons)
        changes = {"epsilon": self.stated.epsilon, "columns": {"x": known}}
        return encode_table(table, self.options.model_copy(update=changes), {}, self.rows)


def attack_parts(
    walk: Walk, draws: int, confidence: float, rng: np.random.Generator, progress: Progress
) -> Iterator[BudgetAttack]:
    """Attack every part of an account, or the counts and choices of a generator with a budget of its own."""
    own = _Setting(walk.stated, walk.config.privacy, draws, rng)
    settings = [own]
    if own.stated.epsilon < _LOUD:
        settings.append(replace(own, stated=replace(own.stated, epsilon=_LOUD)))
    names = [name for name in PARTS if own.options is not None or name in OF_GENERATORS]
    games = [(name, setting) for name in names for setting in settings]
    error = (1 - confidence) / len(games)
    for at, (name, setting) in enumerate(games):
        progress("audit parts", at, len(games))
        played = PARTS[name](setting)
        paid = StatedBound("rho", played.rho, played.delta)
        yield from play(f"{name}, epsilon {setting.stated.epsilon:g}", played.facts, [paid], paid, 1 - error)


def number_of_rows(setting: _Setting) -> Played:
    """Noisy number of rows, with one person more or less."""
    r = setting.rows
    persons = np.repeat(np.arange(_ROWS + 1), r)
    values = pd.Series(np.zeros(len(persons), dtype=bool), dtype="boolean")

    def once(n: int) -> EncodedTable:
        return setting.coded(values[:n], persons[:n], Kind.BOOLEAN, KnownColumn())

    found = [[once(n) for _ in range(setting.calls)] for n in (len(values), len(values) - r)]
    with_, without = (np.array([[float(one.n_rows)] for one in side]) for side in found)
    return Played((with_, without), *total(found[0][0].parts))


def found_categories(setting: _Setting) -> Played:
    """Categories near the threshold, one for each row of a person."""
    r, delta = setting.rows, KEYS_SHARE * setting.stated.delta
    rho = DOMAINS_SHARE * rho_for(setting.stated.epsilon, setting.stated.delta - delta)
    size = max(threshold(variance_for(rho, r), r, delta), 1)
    n_canaries = max(min(_KEYS, _CELLS // size) // r, 1)
    keys = np.repeat(np.arange(n_canaries * r), size)
    sides: tuple[list[float], list[float]] = [], []
    spent = (0.0, 0.0)
    while min(map(len, sides)) < max(setting.calls // 2, 10):
        present = setting.rng.random(n_canaries) < 0.5
        own = np.flatnonzero(np.repeat(present, r))
        found, spent = _found(
            setting, np.concatenate([keys, own]), np.concatenate([np.arange(len(keys)), -1 - own // r])
        )
        for is_in, count in zip(present.tolist(), found.reshape(n_canaries, r).sum(axis=1).tolist(), strict=True):
            sides[0 if is_in else 1].append(count)
    return Played((_column(sides[0]), _column(sides[1])), *spent)


def categories_of_one(setting: _Setting) -> Played:
    """Categories that one person alone has, as many as rows."""
    r = setting.rows
    keys = np.arange(max(_KEYS // r, 1) * r)
    counts: list[float] = []
    spent = (0.0, 0.0)
    while len(counts) < max(setting.calls, 20):
        found, spent = _found(setting, keys, keys // r)
        counts += found.reshape(-1, r).sum(axis=1).tolist()
    return Played((_column(counts), np.zeros((len(counts), 1))), *spent)


def _found(setting: _Setting, keys: Array, persons: Array) -> tuple[Array, tuple[float, float]]:
    _, whose = np.unique(persons, return_inverse=True)
    values = pd.Series(keys.astype(str), dtype="category")
    coded = setting.coded(values, whose, Kind.CATEGORICAL, KnownColumn())
    domain = coded.domains[0]
    assert isinstance(domain, CategoryDomain)
    mask = np.isin(np.arange(keys.max() + 1).astype(str), np.array(domain.states, dtype=str))
    return mask, total(part for part in coded.parts if part.name.startswith("categories"))


def found_intervals(setting: _Setting) -> Played:
    """Intervals of a number with a canary at a frequent value."""
    r, bounds = setting.rows, KnownColumn(bounds=(0, _LAST))
    sides: list[Numbers] = []
    spent = (0.0, 0.0)
    shared = _shared(setting)
    for n_canaries in (1, 0):
        at = np.repeat([0, _AT, _LAST], [2 * shared, shared + n_canaries * r, shared])
        values, persons = pd.Series(at).astype("Int64"), np.arange(len(at))
        facts = []
        for _ in range(max(setting.calls // 4, 10)):
            coded = setting.coded(values, persons, Kind.INTEGER, bounds)
            domain = coded.domains[0]
            assert isinstance(domain, NumberDomain)
            holding = int(np.searchsorted(domain.lows, _AT, side="right")) - 1
            facts.append([float(len(domain.lows)), float(domain.highs[holding] - domain.lows[holding])])
            spent = total(coded.parts)
        sides.append(np.array(facts))
    return Played((sides[0], sides[1]), *spent)


def _shared(setting: _Setting) -> int:
    """Rows of a value that may be an interval of its own."""
    rho = DOMAINS_SHARE * rho_for(setting.stated.epsilon, setting.stated.delta)
    levels = math.ceil(math.log(_LAST + 1, FAN))
    return math.ceil(DEVIATIONS * math.sqrt(variance_for(rho / levels, setting.rows**2)))


def marginals_of_one(setting: _Setting) -> Played:
    """Noisy counts of one column; each state is a game."""
    return _marginals(setting, (0,), [2 * setting.draws])


def marginals_of_two(setting: _Setting) -> Played:
    """Noisy counts of two columns; each cell is a game."""
    side = math.isqrt(2 * setting.draws) + 1
    return _marginals(setting, (0, 1), [side, side])


def _marginals(setting: _Setting, columns: tuple[int, ...], sizes: list[int]) -> Played:
    n_cells = math.prod(sizes)
    present = setting.rng.random(n_cells) < 0.5
    rows = np.repeat(np.flatnonzero(present), setting.rows)
    rho = setting.rho(_MARGINAL)
    counter = NoisyCounts(list(np.unravel_index(rows, sizes)), sizes, rho, setting.rows)
    counts = counter.measure(columns, rho).counts.reshape(-1, 1)
    return Played((counts[present], counts[~present]), _spent(counter))


def choice_of_pairs(setting: _Setting) -> Played:
    """Choice between two pairs; the canary favours one, disfavours the other."""
    r, sizes, rho = setting.rows, (2, 2, 2), setting.rho(_CHOICE)
    sides: list[Numbers] = []
    spent = 0.0
    for n_canaries in (1, 0):
        rows = [np.ones(n_canaries * r, dtype=np.int64) for _ in sizes]
        favoured, other = np.zeros((2, 2)), np.zeros((2, 2))
        other[1, 1] = 3.0 * r
        candidates = [((0, 1), favoured, 0.0), ((0, 2), other, 3.0 * r)]
        chosen = []
        for _ in range(setting.calls):
            counter = NoisyCounts(rows, sizes, rho, r)
            chosen.append(float(counter.worst(candidates, rho)))
            spent = _spent(counter)
        sides.append(_column(chosen))
    return Played((sides[0], sides[1]), spent)


def _spent(counter: NoisyCounts) -> float:
    return math.fsum(counter.spent.values())


def _column(values: list[float]) -> Numbers:
    return np.array(values, dtype=np.float64)[:, None]


PARTS: dict[str, Callable[[_Setting], Played]] = {
    "number of rows": number_of_rows,
    "found categories": found_categories,
    "categories of one person": categories_of_one,
    "found intervals": found_intervals,
    "marginals of one column": marginals_of_one,
    "marginals of two columns": marginals_of_two,
    "choice of pairs": choice_of_pairs,
}
"""Every part of an account by its name."""
OF_GENERATORS = ("marginals of one column", "marginals of two columns", "choice of pairs")
"""Parts of a generator's own account."""
