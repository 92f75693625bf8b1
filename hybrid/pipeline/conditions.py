"""Condition on drawn rows, or shares of values among them, and the training records that they are compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Mask
from hybrid.base.errors import ConfigError, Problem, refuse
from hybrid.base.rng import rng_for
from hybrid.base.sentence import sentence
from hybrid.constraints import DrawCondition, Redrawn
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.constraint_rules import least_persons
from hybrid.publication.table_facts import rounded
from hybrid.synthesize.options import BalanceOptions
from hybrid.table import Kind, Role, Schema, Table
from hybrid.table.holders import holders, n_distinct, row_holders
from hybrid.table.persons import constant_within, n_persons, person_groups

KEY, BALANCE = "synthesize.where", "synthesize.balance"
BALANCED = (Kind.CATEGORICAL, Kind.BOOLEAN, Kind.INTEGER)
"""Kinds of columns whose values can be given shares."""


@dataclass(frozen=True)
class ValueCondition(DrawCondition):
    """A condition, and one value of a column.

    The condition may be empty; ``value`` is a text.
    """

    column: str = ""
    value: str = ""

    def rows(self, table: Table) -> Mask:
        has: Mask = np.asarray(_texts(table.frame[self.column]) == self.value, dtype=bool)
        return has & super().rows(table) if self.text else has


@dataclass(frozen=True)
class Shares:
    """Shares of the values of a column among drawn rows."""

    column: str
    of: Mapping[str, float]
    """Share of each value that comes out, above 0; they sum to 1."""

    def counts(self, total: int) -> dict[str, int]:
        """Whole numbers that sum to ``total``, by the largest remainders."""
        exact = np.array([*self.of.values()]) * total
        counts = np.floor(exact + 1e-9).astype(int)
        counts[np.argsort(counts - exact, kind="stable")[: total - counts.sum()]] += 1
        return dict(zip(self.of, counts.tolist(), strict=True))

    def sample(self, table: Table) -> Mask:
        """Most rows, or persons with all rows, of a table that have these shares, drawn at random; shape (n,), bool.

        The same table gives the same rows.
        """
        groups = person_groups(table.persons)
        first = np.unique(groups, return_index=True)[1]
        place = pd.Index([*self.of]).get_indexer(pd.Index(_texts(table.frame[self.column])[first]))
        order = rng_for(0, "balance", len(table)).permutation(len(first))
        there = np.bincount(place[place >= 0], minlength=len(self.of))
        total = int(min(there / np.array([*self.of.values()])))
        taken = np.zeros(len(first), dtype=bool)
        for at, count in enumerate(self.counts(total).values()):
            taken[order[place[order] == at][:count]] = True
        kept: Mask = taken[np.unique(groups, return_inverse=True)[1]]
        return kept


@dataclass(frozen=True)
class Selection:
    """The condition of a configuration, and its training records that meet it; or shares of values among them."""

    condition: DrawCondition | None
    """What every drawn row, or person, meets; None: anything."""
    by_person: bool
    """Whether persons are drawn: one meets the condition if any of its rows does, and comes with all rows."""
    train: Table
    """The original training records that meet it."""
    step: int
    """Percent to which shares of draws are told: what ``min_count`` training persons are, at least 1."""
    shares: Shares | None = None
    """Shares of values; then :attr:`train` is a sample of the records with these shares."""
    n_units: int = 0
    """Records, or persons, of which :attr:`train` is such a sample."""

    def of(self, table: Table) -> Table:
        """The records, or persons with all records, that meet the condition."""
        return table.take(self.met_by(table))

    def met_by(self, table: Table) -> Mask:
        """Mask of the table's rows that :meth:`of` gives; shape (n,), bool."""
        met = np.ones(len(table), dtype=bool)
        if self.condition is not None:
            met = _met(self.condition, table, by_person=self.by_person)
        if self.shares is not None:
            met[np.flatnonzero(met)] = self.shares.sample(table.take(met))
        return met

    def parts(self, wanted: int) -> list[tuple[DrawCondition | None, int]]:
        """Conditions that drawn rows, or persons, meet, and how many are wanted of each."""
        if self.shares is None:
            return [(self.condition, wanted)]
        text = "" if self.condition is None else self.condition.text
        counts = self.shares.counts(wanted)
        return [(ValueCondition(text, self.shares.column, value), count) for value, count in counts.items() if count]

    def wanted(self, rows: int | str) -> int:
        """Rows, or persons, to draw: as many as meet the condition, in tens, or such that about ``rows`` come out."""
        units = n_persons(self.train) if self.by_person else len(self.train)
        if isinstance(rows, str):
            return max(rounded(units if self.shares is None else self.n_units), rounded(10))
        return max(round(rows * units / max(len(self.train), 1)), 1) if self.by_person else rows

    def rate(self, redrawn: Redrawn) -> str:
        """Share of the draws that were accepted, in words.

        In steps of :attr:`step` percent, which disclose nothing about few training persons.
        """
        share = 100 * redrawn.accepted / max(redrawn.drawn, 1)
        told = self.step * round(share / self.step)
        return sentence("share.about", n=told) if told else sentence("share.less", n=self.step)


def refuse_misfit(config: RunConfig, schema: Schema) -> None:
    """Refuse a condition, or shares of values, that the columns of a table cannot have."""
    problems = []
    if config.synthesize.where is not None:
        found = DrawCondition(config.synthesize.where).problems(schema)
        problems = [Problem(f"{KEY}: {one.message}", one.hint) for one in found]
    if config.synthesize.balance is not None:
        problems += _unbalanced(config.synthesize.balance.column, schema)
    refuse(problems)


def _unbalanced(name: str, schema: Schema) -> Iterator[Problem]:
    key, hint = f"{BALANCE}.column", "name a category, a truth value or a whole number"
    if name not in schema:
        yield Problem(f"{key}: no such column: {name}", f"one of: {', '.join(schema.names)}")
    elif schema[name].role is Role.IDENTIFIER:
        yield Problem(f"{key}: {name} is an identifier", hint)
    elif schema[name].kind not in BALANCED:
        yield Problem(f"{key}: {name} is of the kind {schema[name].kind}", hint)


def selection(config: RunConfig, train: Table, *, by_person: bool, decided: bool) -> Selection | None:
    """The selection of a configuration; None without a condition.

    ``train`` are the original training records. With ``decided`` they are a sample of a table on which the condition
    was tried, as in attacks with training.

    Refused where fewer training persons than ``protect.min_count`` meet the condition, or fewer do not: it would single
    them out. How many is not said. The same of a value that is given a share, or of all values but one.
    """
    chosen = _conditional(config, train, by_person=by_person, decided=decided)
    return _balanced(config, train, chosen, by_person=by_person, decided=decided)


def _conditional(config: RunConfig, train: Table, *, by_person: bool, decided: bool) -> Selection | None:
    text = config.synthesize.where
    if text is None:
        return None
    condition, least = DrawCondition(text), least_persons(config)
    people = row_holders(train)
    met = condition.rows(train)
    holders, everybody = n_distinct(people[met]), n_distinct(people)
    others = everybody - holders
    if not decided and min(holders, others) < least:
        few = "meet" if holders < least else "do not meet"
        unit = "records" if train.rows_are_persons else "persons"
        hint = "widen the condition" if holders < least else "leave the condition out: nearly all meet it"
        raise ConfigError(f"{KEY}: fewer than {least} training {unit} {few} the condition", hint=hint, values=text)
    chosen = train.take(_met(condition, train, by_person=by_person))
    return Selection(condition, by_person, chosen, _step(train, least))


def _step(train: Table, least: int) -> int:
    """Percent that so many training persons are, at least 1."""
    return max(ceil(100 * least / max(rounded(n_distinct(row_holders(train))), 1)), 1)


def _balanced(
    config: RunConfig, train: Table, chosen: Selection | None, *, by_person: bool, decided: bool
) -> Selection | None:
    options = config.synthesize.balance
    if options is None:
        return chosen
    least, among = (1 if decided else least_persons(config)), train if chosen is None else chosen.train
    if by_person and options.column not in constant_within(train, [options.column]) and n_persons(train) < len(train):
        raise ConfigError(
            f"{BALANCE}.column: {options.column} differs between the rows of a person, and persons are drawn",
            hint="name a column with one value per person",
        )
    held = _people_of_values(among, options.column)
    shares = Shares(options.column, _targets(options, held, least))
    before = chosen or Selection(None, by_person, train, _step(train, least))
    units = n_persons(among) if by_person else len(among)
    found = replace(before, shares=shares, n_units=units)
    return replace(found, train=among.take(shares.sample(among)))


def _people_of_values(table: Table, column: str) -> dict[str, int]:
    """Training people who have each value of a column."""
    codes: Codes
    codes, distinct = pd.factorize(_texts(table.frame[column]), sort=True, use_na_sentinel=True)
    counts = holders(codes, len(distinct), row_holders(table))
    return {str(value): int(count) for value, count in zip(distinct, counts, strict=True) if value != ""}


def _targets(options: BalanceOptions, held: Mapping[str, int], least: int) -> dict[str, float]:
    """Share of each value that comes out: of those that at least ``least`` training people have."""
    kept = {value: count for value, count in held.items() if count >= least}
    named = options.shares or {}
    rare = [value for value in named if value not in kept]
    if rare:
        raise ConfigError(
            f"{BALANCE}.shares: {len(rare)} of {len(named)} values are of fewer than {least} training people",
            hint="leave them out",
            values=", ".join(rare),
        )
    if len(kept) < 2:
        raise ConfigError(
            f"{BALANCE}.column: fewer than two values of {options.column} are of {least} training people or more",
            hint="leave balance out",
        )
    if options.shares is None:
        return dict.fromkeys(kept, 1 / len(kept))
    left = 1 - sum(named.values())
    # Counts of the others in tens, as all counts of people that come out.
    others = {value: max(rounded(count), 1) for value, count in kept.items() if value not in named}
    if left > 1e-9 and not others:
        raise ConfigError(f"{BALANCE}.shares: together they are less than 1", hint="name shares that are 1 together")
    rest = {value: left * count / sum(others.values()) for value, count in others.items() if left > 1e-9}
    return {value: share for value, share in {**named, **rest}.items() if share > 0}


def _texts(values: pd.Series) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    found = values.astype(object)
    texts: np.ndarray[tuple[int], np.dtype[np.object_]] = np.where(values.isna(), "", found.astype(str)).astype(object)
    return texts


def _met(condition: DrawCondition, table: Table, *, by_person: bool) -> Mask:
    return condition.whole(table) if by_person else condition.rows(table)
