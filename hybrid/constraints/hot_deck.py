"""Rows that break a rule get other values in the columns concerned, given the rest of the row.

Throwing such rows away would move the shares of what they have in common: of two columns drawn apart, of which one
determines the other, the frequent values agree most often and would grow. The new values come from rows that keep the
rules and are alike in what stays: a random hot deck within adjustment cells, which are collapsed until they hold a
donor (Andridge and Little, A Review of Hot Deck Imputation for Survey Non-response, 2010, section 3).

:class:`Form` is what a generator learns: the records that keep the rules or could be repaired, with the columns of some
rules in a form that cannot break them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Rows
from hybrid.base.errors import DataError
from hybrid.base.keys import pack_small
from hybrid.base.likeness import mutual_information
from hybrid.constraints.constraint import Rule, in_order
from hybrid.constraints.rules import Rules, is_free
from hybrid.table import Table
from hybrid.table.schema import in_one_dtype

BINS = 20
"""Quantiles of numbers and dates, within which rows are alike; and values of a column that associations count apart."""
MOST_OTHERS = 3
"""Columns in which a donor is alike at most, beside those that rules connect with the changed ones."""
DRAWS = 3
"""Donors that are tried in each cell."""
MOST_COMPARED = 5_000
"""Donors that associations are measured on at most."""


@dataclass(frozen=True)
class HotDeck:
    """Repair of rows that break a rule, by values of rows that do not."""

    rules: Rules
    """What must hold."""
    donors: Table
    """Rows that keep all rules."""
    fixed: Collection[str] = ()
    """Columns that stay as they are, such as those with one value per person."""

    @classmethod
    def by(cls, rules: Rules, table: Table, fixed: Collection[str] = ()) -> HotDeck:
        """Hot deck of those rows of a table that keep all rules."""
        return cls(rules.of_rows, table.take(~rules.of_rows.broken(table)), fixed)

    def __call__(self, table: Table, rng: np.random.Generator) -> Table:
        """The table with other values in rows that break a rule.

        As few columns change as possible: of those that the broken rules are about, first the one with most distinct
        values, such as a town, while the coarser ones, such as its region, stay. Rows that no donor repairs stay as
        they are.
        """
        masks = list(self.rules.masks(table))
        broken = np.array([mask for _, mask in masks]).T if masks else np.zeros((len(table), 0), dtype=bool)
        bad = np.flatnonzero(broken.any(axis=1))
        if not len(bad) or not len(self.donors):
            return table
        whole, ruled = table.take(bad), {name for rule in self.rules.rules for name in rule.columns}
        cells, rows = _Cells(self.donors, whole), whole.only([name for name in whole.schema.names if name in ruled])
        patterns, of_row = np.unique(broken[bad], axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            left = np.flatnonzero(of_row.reshape(-1) == number)
            rules = [rule for (rule, _), is_broken in zip(masks, pattern, strict=True) if is_broken]
            for changed in self._choices(rules):
                rows, left = self._drawn(rows, left, changed, cells, rng)
                if not len(left):
                    break
        return with_rows(table, bad, rows)

    def _choices(self, broken: Iterable[Rule]) -> Iterator[Sequence[str]]:
        """Columns that may change, fewest first; last all that rules connect with those of the broken rules."""
        names = self._drawn_columns(name for rule in broken for name in rule.columns)
        own, all_ = ([name for name in each if name not in self.fixed] for each in (names, self._connected(names)))
        yield from (own[at:] for at in reversed(range(len(own))))
        if len(all_) > len(own):
            yield all_

    def _drawn(
        self, rows: Table, left: Rows, changed: Sequence[str], cells: _Cells, rng: np.random.Generator
    ) -> tuple[Table, Rows]:
        """The rows with values of donors in some columns, and those of ``left`` that still break a rule."""
        near = [name for name in self._connected(changed) if name not in changed]
        settled = {name for rule in self.rules.rules for name in rule.settles}
        keys = [*near, *cells.associated(changed, {*near, *changed, *settled})]
        # The nearest donor repairs most rows. For the others all further ones are tried at once, the nearest first.
        for levels, draws in ([len(keys)], 1), (range(len(keys), -1, -1), DRAWS):
            if not len(left):
                break
            drawn = [cells.draw(keys[:used], np.tile(left, draws), rng) for used in levels]
            tried, chosen = (np.concatenate(each) for each in zip(*drawn, strict=True))
            values = {name: self.donors.frame[name].iloc[chosen].reset_index(drop=True) for name in changed}
            part = rows.take(tried)
            part = self.rules.settle(Table(part.frame.assign(**values), part.schema, part.named_persons))
            good = np.flatnonzero(~self.rules.broken(part))
            repaired, first = np.unique(tried[good], return_index=True)
            rows = with_rows(rows, repaired, part.take(good[first]))
            left = np.setdiff1d(left, repaired)
        return rows, left

    def _connected(self, names: Iterable[str]) -> list[str]:
        """Columns that chains of rules connect with these, with them, coarse ones first."""
        found = set(names)
        groups = [set(self._drawn_columns(rule.columns)) for rule in self.rules.rules]
        while more := {name for group in groups if group & found for name in group} - found:
            found |= more
        return self._coarse_first(found)

    def _drawn_columns(self, names: Iterable[str]) -> list[str]:
        """Columns that a row is drawn in, coarse ones first: in place of a computed one those it is computed from."""
        return self._coarse_first(self.rules.drawn_columns(names))

    def _coarse_first(self, names: Iterable[str]) -> list[str]:
        order = self.donors.schema.names
        there = [name for name in names if name in self._levels]
        return sorted(there, key=lambda name: (self._levels[name], order.index(name)))

    @cached_property
    def _levels(self) -> dict[str, int]:
        return {name: int(self.donors.frame[name].nunique()) for name in self.donors.schema.names}


class _Cells:
    """Donors that are alike with rows in some columns."""

    def __init__(self, donors: Table, rows: Table) -> None:
        self.donors, self.rows = donors, rows
        self._coded: dict[str, tuple[Codes, int]] = {}

    def draw(self, keys: Sequence[str], rows: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
        n = len(self.donors)
        cell, bound = pack_small((self._codes(name) for name in keys), n + len(self.rows))
        ends = np.cumsum(np.bincount(cell[:n], minlength=bound))
        own = cell[n:][rows]
        start = np.where(own > 0, ends[own - 1], 0)
        size = ends[own] - start
        place = start + (rng.random(len(rows)) * size).astype(np.int64)
        some = size > 0
        return rows[some], np.argsort(cell[:n], kind="stable")[place[some]]

    def associated(self, changed: Sequence[str], known: Collection[str]) -> list[str]:
        """Other columns, those most associated with the changed ones first."""
        identifiers = self.donors.schema.identifiers
        others = [name for name in self.donors.schema.names if name not in known and name not in identifiers]
        some = np.linspace(0, len(self.donors) - 1, min(len(self.donors), MOST_COMPARED)).astype(np.int64)
        wanted = [self._frequent(name)[some] for name in changed]
        found = {name: sum(_information(self._frequent(name)[some], one) for one in wanted) for name in others}
        return [name for name in sorted(found, key=lambda name: -found[name]) if found[name] > 0][:MOST_OTHERS]

    def _codes(self, name: str) -> tuple[Codes, int]:
        """Number of each donor's and each row's value, and how many there are; of numbers and dates their quantile."""
        if name not in self._coded:
            self._coded[name] = self._compute(name)
        return self._coded[name]

    def _compute(self, name: str) -> tuple[Codes, int]:
        column = self.donors.schema[name]
        if not column.kind.is_continuous or self.donors.frame[name].nunique() <= BINS:
            both = pd.concat(in_one_dtype(self.donors.frame[name], self.rows.frame[name]), ignore_index=True)
            codes, distinct = pd.factorize(both, use_na_sentinel=True)
            return codes.astype(np.int64) + 1, len(distinct) + 1
        known, other = (in_order(each, column) for each in (self.donors, self.rows))
        cuts = np.unique(np.nanquantile(known, np.linspace(0, 1, BINS + 1)[1:-1], method="nearest"))
        values = np.concatenate([known, other])
        return np.where(np.isnan(values), 0, np.searchsorted(cuts, values, side="right") + 1), len(cuts) + 2

    def _frequent(self, name: str) -> Codes:
        codes, size = self._codes(name)
        counts = np.bincount(codes[: len(self.donors)], minlength=size)
        number = np.zeros(size, dtype=np.int64)
        first = np.argsort(-counts, kind="stable")[:BINS]
        number[first] = np.arange(len(first))
        return np.asarray(number[codes[: len(self.donors)]])


def _information(first: Codes, second: Codes) -> float:
    """Mutual information of two columns of up to :data:`BINS` values, in nats, less what chance gives (Miller 1955)."""
    parameters = (len(np.unique(first)) - 1) * (len(np.unique(second)) - 1)
    return mutual_information(first, second, BINS, BINS) - parameters / (2 * max(len(first), 1))


def with_rows(table: Table, rows: Rows, other: Table) -> Table:
    """The table with the values of another table in some rows; new categories are added at the end."""
    if not len(rows):
        return table
    columns = dict(table.frame.items())
    for name in other.schema.names:
        values, new = in_one_dtype(columns[name], other.frame[name])
        columns[name] = values.copy()
        columns[name].iloc[rows] = new.array
    return Table(pd.DataFrame(columns), table.schema, table.named_persons)


@dataclass(frozen=True)
class Form:
    """Form in which a generator learns records that keep rules."""

    learned: Table
    """The records that keep all rules, as they are."""
    steps: tuple[Rule, ...]
    """Rules held by the form, in the order in which drawn records are decoded."""

    @classmethod
    def of(
        cls,
        rules: Rules,
        records: Table,
        static: Collection[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Form:
        """The form of the records that keep the rules, or can be repaired; the rest is not learned from.

        ``static`` are columns with one value per person, where persons are learned: those and the column that orders a
        person's rows stay what they are. Without ``rng``, which draws the values that repair, no record is repaired.
        """
        if not rules:
            return cls(records, ())
        settled = rules.settle(records)
        held = Rules((*rules.rules, *(one for one in rules.merged if is_free(one, settled, static)))).of_rows
        if rng is not None:
            settled = rules.settle(HotDeck.by(held, settled, fixed_columns(settled, static))(settled, rng))
        learned = settled.take(~held.broken(settled))
        if len(records) and not len(learned):
            raise DataError(
                f"no record keeps all constraints: {'; '.join(rule.constraint.sentence for rule in rules.rules)}",
                hint="`hybrid check` lists how many rows of the source break each of them",
            )
        return cls(learned, rules.forms(learned, static))

    @property
    def replaced(self) -> frozenset[str]:
        return frozenset(name for rule in self.steps for name in rule.replaces)

    @property
    def encoded(self) -> Table:
        return self.written(self.learned)

    def written(self, records: Table) -> Table:
        """Records with the columns of the learned ones, in the form in which those are learned."""
        table = records
        for rule in self.steps:
            table = rule.encode(table, records)
        return table

    def decode(self, drawn: Table) -> Table:
        for rule in self.steps:
            drawn = rule.decode(drawn, self.learned)
        return drawn


def fixed_columns(table: Table, static: Collection[str] | None) -> frozenset[str]:
    """Columns that cannot change row by row: those with one value per person, and the one that orders its rows."""
    order = table.schema.order
    return frozenset() if static is None else frozenset([*static, *([] if order is None else [order])])
