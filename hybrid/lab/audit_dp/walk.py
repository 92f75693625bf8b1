"""Attacks on a whole walk, from the source to the synthetic table.

Game: many runs with a canary and without it. One run: hundreds of canaries, of which each is in the table with
probability 1/2, and guesses about which are, with abstention (Steinke, Nasr and Jagielski 2023, arXiv:2305.08846).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Mask, Numbers
from hybrid.base.errors import HybridError
from hybrid.base.progress import Progress
from hybrid.hierarchy.load import listed_values
from hybrid.lab.audit_dp.attack import BudgetAttack, StatedBound, first_distinct, n_equal, n_right, play
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.privacy_statements import stated_budget
from hybrid.pipeline.table_run import TableRun
from hybrid.privacy.accounting import rho_for
from hybrid.privacy.auditing import epsilon_of_guesses, guesses_p_value
from hybrid.privacy.domain import KnownColumn, PrivacyOptions, ValueGrid
from hybrid.privacy.plan import KEYS_SHARE, bounds_of
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.codings import numbers_of

_MOST = 16
"""Values of a column that canaries have, at most."""


@dataclass(frozen=True)
class Letters:
    """Values of one column that canaries have."""

    column: Column
    """Of the configuration's table."""
    values: pd.Series
    """1 or more, ascending where they have an order; shape (n,)."""

    def take(self, codes: Codes) -> pd.Series:
        """Values at these positions; -1 is the missing value."""
        return self.values.reindex(codes).reset_index(drop=True)

    def nearest(self, drawn: pd.Series) -> Codes:
        """Position of the value next to each drawn one; -1 for a category that is none of them, and missing."""
        if not self.column.kind.is_continuous:
            plain = drawn.astype(object).where(drawn.notna(), None)
            codes: Codes = pd.Index(self.values, dtype=object).get_indexer(pd.Index(plain, dtype=object))
            return codes
        known, wanted = numbers_of(self.values), numbers_of(drawn)
        found = np.searchsorted((known[:-1] + known[1:]) / 2, wanted, side="right")
        return np.where(np.isnan(wanted), -1, found)

    def lists(self, drawn: pd.Series, code: int) -> bool:
        """True if a value is among the categories of a drawn column."""
        if code < 0 or not isinstance(drawn.dtype, pd.CategoricalDtype):
            return False
        return str(self.values[code]) in drawn.dtype.categories


def declared_letters(schema: Schema, options: PrivacyOptions, listed: Mapping[str, Array]) -> tuple[Letters, ...]:
    """Values of each column of a private table: listed, between bounds, or made up where categories are searched."""
    return tuple(
        Letters(column, _declared(column, options.columns.get(column.name, KnownColumn()), listed)) for column in schema
    )


def listed_letters(schema: Schema, listed: Mapping[str, Array]) -> tuple[Letters, ...]:
    """Values of each column that hierarchy files list."""
    return tuple(Letters(column, _some(pd.Series(listed[column.name]), column.kind)) for column in schema)


def _declared(column: Column, known: KnownColumn, listed: Mapping[str, Array]) -> pd.Series:
    kind = column.kind
    if kind.is_continuous:
        bounds = bounds_of(column, known, listed)
        assert bounds is not None
        grid = ValueGrid.of(kind, bounds, known.decimals or 0)
        positions = np.unique(np.linspace(0, grid.last, _MOST).astype(np.int64))
        return grid.values(positions, np.zeros(len(positions), dtype=bool)).astype(DTYPES[kind])
    if kind is Kind.BOOLEAN:
        return pd.Series([False, True])
    if known.values is not None:
        return _some(pd.Series(known.values), kind)
    if column.name in listed:
        return _some(pd.Series(listed[column.name]), kind)
    return pd.Series([f"canary {at}" for at in range(_MOST)], dtype=object)


def _some(values: pd.Series, kind: Kind) -> pd.Series:
    at = np.unique(np.linspace(0, len(values) - 1, _MOST).astype(np.int64))
    taken = values.iloc[at].reset_index(drop=True)
    if not kind.is_continuous:
        return taken.astype(object)
    return taken.astype(DTYPES[kind]).sort_values(ignore_index=True)


def as_frame(schema: Schema, letters: Sequence[Letters], codes: Codes, persons: Codes) -> pd.DataFrame:
    """Table of canaries in the columns of a source, whose identifiers name the person; codes (n_rows, n_letters)."""
    values = {one.column.name: one.take(column) for one, column in zip(letters, codes.T, strict=True)}
    for column in schema.having(Role.IDENTIFIER):
        number = schema[column].kind.is_number
        values[column] = pd.Series(persons) if number else "p" + pd.Series(persons).astype(str)
    return pd.DataFrame({name: values[name] for name in schema.names})


@dataclass(frozen=True)
class Stated:
    """A stated guarantee and its neighbouring tables."""

    epsilon: float
    delta: float
    rho: float | None = None
    """Budget in zero-concentrated differential privacy, which holds but for ``rho_delta``; None: there is none."""
    rho_delta: float = 0.0
    """Probability that the bound rho fails."""
    rows: int = 1
    """Rows of one person that are used, at most."""
    draws: int | None = None
    """Rows that a game draws; None: as configured, and their number is a fact."""
    protects_missing: bool = True
    """Whether it covers if a column has missing values."""

    @property
    def bounds(self) -> list[StatedBound]:
        """The statement in epsilon, and in rho if there is one."""
        rho = [] if self.rho is None else [StatedBound("rho", self.rho, self.rho_delta)]
        return [StatedBound("epsilon", self.epsilon, self.delta), *rho]


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
    """Two neighbouring tables."""

    name: str
    """How the canary differs from the others."""
    others: Codes
    """Positions of values; each row is another person; shape (n_others, n_columns)."""
    canary: Codes
    """Position of each value, -1 if missing; shape (n_columns,)."""
    rows: int


@dataclass(frozen=True)
class Walk:
    """The audited walk, from a table of canaries with the source's columns to what is released."""

    config: RunConfig
    schema: Schema
    letters: tuple[Letters, ...]
    stated: Stated

    def release(self, codes: Codes, persons: Codes, seed: int, rows: int | None = None) -> Table | None:
        """Released table of these records with so many rows (as configured); None where the run ends without."""
        changes: dict[str, Any] = {"split": self.config.split.model_copy(update={"control": 0.0})}
        if rows is not None:
            changes["synthesize"] = self.config.synthesize.model_copy(update={"rows": rows})
        config = self.config.model_copy(update=changes)
        try:
            frame = as_frame(self.schema, self.letters, codes, persons)
            return TableRun(config.with_frame(frame), seed, judge_power=False).synthetic
        except HybridError:
            return None


def attack_walk(
    walk: Walk, canaries: int, runs: int, confidence: float, rng: np.random.Generator, progress: Progress
) -> Iterator[BudgetAttack]:
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


def _game(walk: Walk, pair: Pair, runs: int, confidence: float, rng: np.random.Generator) -> Iterator[BudgetAttack]:
    n = len(pair.others)
    persons = np.arange(n)
    tables = (
        (np.concatenate([pair.others, np.repeat(pair.canary[None], pair.rows, axis=0)]), [*persons, *[n] * pair.rows]),
        (pair.others, persons),
    )
    facts = [
        np.array([_facts(walk, codes, np.array(of), pair.canary, int(rng.integers(2**31))) for _ in range(runs)])
        for codes, of in tables
    ]
    return play(pair.name, (facts[0], facts[1]), walk.stated.bounds, walk.stated.bounds[-1], confidence)


def _facts(walk: Walk, codes: Codes, persons: Codes, canary: Codes, seed: int) -> Numbers:
    """Rows and copies released, and per column: rows like the canary, unlike the first person, and a known category."""
    made = walk.release(codes, persons, seed, walk.stated.draws)
    if made is None:
        return np.full(2 + 3 * len(walk.letters), -1.0)
    columns = [made.frame[one.column.name] for one in walk.letters]
    near = np.stack([one.nearest(drawn) for one, drawn in zip(walk.letters, columns, strict=True)])
    equal = near == canary[:, None]
    unlike = (near != codes[0][:, None]).sum(axis=1)
    known = [one.lists(drawn, int(code)) for one, drawn, code in zip(walk.letters, columns, canary, strict=True)]
    return np.array([len(made), equal.all(axis=0).sum(), *equal.sum(axis=1), *unlike, *known], dtype=np.float64)


def _one_run(walk: Walk, canaries: int, confidence: float, rng: np.random.Generator) -> BudgetAttack:
    """Guess which canaries were in the table of one run; runs before it decide scores, and how many are guessed."""
    drawn = _random(walk, 20 * canaries, rng)
    each = drawn[first_distinct(drawn, canaries)]
    pilots = [_played(walk, each, rng) for _ in range(_PILOTS)]
    weights = _fitted(pilots)

    def side(share: float) -> int:
        return max(int(len(each) * share), 1)

    def evidence(share: float) -> tuple[float, float]:
        right = sum(n_right(present, facts @ weights, side(share)) for present, facts in pilots)
        known = len(each) * len(pilots), 2 * side(share) * len(pilots), right
        lower = epsilon_of_guesses(*known, walk.stated.delta, confidence)
        return lower, -guesses_p_value(*known, 0.0, walk.stated.delta)

    present, facts = _played(walk, each, rng)
    guessed = side(max(_GUESSED, key=evidence))
    right = n_right(present, facts @ weights, guessed)
    return walk.stated.bounds[0].of_guesses(len(each), 2 * guessed, right, confidence)


def _random(walk: Walk, n: int, rng: np.random.Generator) -> Codes:
    return np.stack([rng.integers(len(one.values), size=n) for one in walk.letters], axis=1)


def _played(walk: Walk, each: Codes, rng: np.random.Generator) -> tuple[Mask, Numbers]:
    """One run: who was in, and how much more often than others explain each canary's values, and pairs, came out."""
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
        n_equal(drawn[:, some], each[:, some]) / _ROWS_PER_PERSON - n_equal(others[:, some], each[:, some])
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


_PUBLIC_DRAWS = 400
"""Rows that a game draws where the number of records counts as public."""


def walk_of(pipeline: TableRun) -> Walk:
    """The walk of a configuration that states differential privacy, without anonymization."""
    options = pipeline.config.privacy
    return _of_generator(pipeline) if options is None else _of_mode(pipeline, options)


def _of_mode(pipeline: TableRun, options: PrivacyOptions) -> Walk:
    config, schema = pipeline.config, pipeline.table.schema
    learned = schema.without_identifiers()
    listed = listed_values(learned, config.hierarchy_sources)
    searched = any(
        column.kind is Kind.CATEGORICAL
        and column.name not in listed
        and (column.name not in options.columns or options.columns[column.name].values is None)
        for column in learned
    )
    delta = KEYS_SHARE * options.delta if searched else 0.0
    stated = Stated(
        options.epsilon,
        options.delta,
        rho_for(options.epsilon, options.delta - delta),
        delta,
        config.data.max_rows or 1,
    )
    return Walk(config, schema, declared_letters(learned, options, listed), stated)


def _of_generator(pipeline: TableRun) -> Walk:
    """The walk of a generator with its own budget: public are the number of records and which columns have gaps."""
    config, schema = pipeline.config, pipeline.table.schema
    learned = schema.without_identifiers()
    budget = stated_budget(config)
    assert budget is not None
    epsilon, delta = budget
    stated = Stated(epsilon, delta, rho_for(epsilon, delta), draws=_PUBLIC_DRAWS, protects_missing=False)
    return Walk(config, schema, listed_letters(learned, listed_values(learned, config.hierarchy_sources)), stated)
