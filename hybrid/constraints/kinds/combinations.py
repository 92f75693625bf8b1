"""Combinations: values of several columns that occur together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations as pairwise
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.base.errors import Problem
from hybrid.base.keys import group_rows, pack_small
from hybrid.base.words import named
from hybrid.constraints.constraint import Constraint, Rule, no_row
from hybrid.table import Column, ColumnFormat, Kind, Schema, Table
from hybrid.table.dependencies import functional_dependencies, small_share
from hybrid.table.holders import holders, row_holders
from hybrid.table.persons import first_rows

LEAST_EXPECTED = 20
"""Records expected in a combination that none has, so that the columns are suggested: by chance, once in 5e8."""
MOST_LEVELS = 1000
"""Values of a column at most, so that it is suggested."""
MOST_RARE, FEW = 0.01, 5
"""Share of records, at most, whose combination fewer than so many people have, so that columns that exclude each other
are suggested: each of these records would get another combination, and large groups would grow by them."""
MOST_LOST = 0.01
"""Share of records at most with a combination of all columns that too few people have, so that constraints which share
columns are held by one category: these records would get another combination."""
LEAST_OF_EACH = 200
"""Records per combination at least, on average, so that constraints that share columns are held by one category: what
depends on a region is not learned from the few records of each of its towns."""
MOST_PAIRS = 10
"""Pairs that are suggested for want of frequent combinations, at most."""


class Combinations(Constraint):
    """Fixed combinations: only those that enough training persons hold come out.

    A missing value is one of the values that can be combined. The name of a group of rare values (``Other``, ``100**``)
    goes with any value, and the other columns must keep the rule without it.
    """

    learns = "values"

    combinations: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two columns or more, such as a city and its postcode."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:
        """Columns that determine each other, or exclude each other.

        The latter are categories with frequent values that never occur together, and few rare combinations.
        """
        names = [column.name for column in table.schema if _is_countable(column, table.frame[column.name])]
        shuffled = table.take(rng.permutation(len(table)))
        determined: list[tuple[str, str]] = []
        for teller, told in functional_dependencies(table, names, names):
            mixed = Table(table.frame.assign(**{told: shuffled.frame[told]}), table.schema)
            if (told, teller) not in determined and not functional_dependencies(mixed, [told], [teller]):
                determined.append((teller, told))
        yield from (cls(combinations=pair) for pair in determined)
        groups = [name for name in names if not table.schema[name].kind.is_continuous]
        empty = {
            pair: _empty(table, *pair)
            for pair in pairwise(groups, 2)
            if not {pair, pair[::-1]} & set(determined) and small_share(table, pair, FEW) <= MOST_RARE
        }
        ordered = sorted((pair for pair, records in empty.items() if records), key=lambda pair: -empty[pair])
        yield from (cls(combinations=pair) for pair in ordered[:MOST_PAIRS])

    def holds(self, table: Table) -> bool:
        first, second = self.combinations
        told = functional_dependencies(table, [second], [first]) or functional_dependencies(table, [first], [second])
        return bool(told) or bool(_empty(table, first, second))

    @property
    def sentence(self) -> str:
        return f"{named(self.columns)} have a combination of values that the source has often enough"

    def breach(self, least: int) -> Problem:
        return Problem(
            f"rows of the source have a combination of {named(self.columns)} that fewer than {least} people have",
            f"none of these comes out: the group of a rare value or a combination that at least {least} people have "
            "takes its place, or the row is left out",
        )

    def broken(self, table: Table) -> Mask:
        """No row: allowed combinations are known to the fitted rule alone."""
        return no_row(table)

    def fit(self, table: Table, least: int) -> Rule:
        return self._joint(table, least, {})

    def _joint(self, table: Table, least: int, known: dict[tuple[str, ...], _Joint]) -> _Joint:
        """The fitted rule; ``known`` has those of other columns, since many rules have parts in common."""
        if self.columns not in known:
            known[self.columns] = self._fitted(table, least, known)
        return known[self.columns]

    def _fitted(self, table: Table, least: int, known: dict[tuple[str, ...], _Joint]) -> _Joint:
        values = tuple(_Values.of(table.frame[name]) for name in self.columns)
        codes = _codes(values, self.columns, table)
        distinct, group = np.unique(codes, axis=0, return_inverse=True)
        held = holders(group.reshape(-1), len(distinct), row_holders(table))
        texts = [name for name in self.columns if not table.schema[name].kind.is_continuous]
        parts = {
            name: Combinations(combinations=tuple(other for other in self.columns if other != name))._joint(
                table, least, known
            )
            for name in (texts if len(self.columns) > 2 else ())
        }
        return _Joint(self, values, distinct[held >= least], parts)

    @classmethod
    def together(cls, constraints: Sequence[Combinations], table: Table, least: int) -> Iterator[Rule]:
        """Combinations of all columns of constraints that share some.

        Only where nearly every record that keeps each of them has a combination of all that enough people have, and
        there are many records of each.
        """
        known: dict[tuple[str, ...], _Joint] = {}
        groups = [(one, one._joint(table, least, known)) for one in constraints]
        merging = True
        while merging:
            merging = False
            for (one, first), (other, second) in pairwise(groups, 2):
                names = tuple(dict.fromkeys((*one.columns, *other.columns)))
                if len(names) == len(one.columns) + len(other.columns):
                    continue
                both = cls(combinations=names)
                joint = both._joint(table, least, known)
                lost = joint.broken(table) & ~(first.broken(table) | second.broken(table))
                if lost.sum() <= MOST_LOST * len(table) and len(joint.allowed) * LEAST_OF_EACH <= len(table):
                    left = [group for group in groups if group[0] not in (one, other)]
                    groups, merging = [*left, (both, joint)], True
                    break
        yield from (rule for one, rule in groups if one not in constraints)


def _is_countable(column: Column, values: pd.Series) -> bool:
    few = bool(values.nunique() <= MOST_LEVELS)
    return few and (not column.kind.is_continuous or column.kind is Kind.INTEGER)


def _empty(table: Table, first: str, second: str) -> float:
    """Records expected, for independent columns, in combinations that none has.

    Of combinations with at least :data:`LEAST_EXPECTED`; one record of each person counts.
    """
    rows = first_rows(table)
    (one, n_one), (other, n_other) = (
        (codes, len(levels) + 1)
        for codes, levels in (pd.factorize(rows.frame[name], use_na_sentinel=True) for name in (first, second))
    )
    observed = np.bincount((one + 1) * n_other + other + 1, minlength=n_one * n_other).reshape(n_one, n_other)
    expected = observed.sum(axis=1, keepdims=True) * observed.sum(axis=0) / max(observed.sum(), 1)
    return float(expected[(observed == 0) & (expected >= LEAST_EXPECTED)].sum())


@dataclass(frozen=True)
class _Values:
    """Distinct values of a column, in order: those of categories as texts."""

    distinct: pd.Index

    @classmethod
    def of(cls, values: pd.Series) -> _Values:
        return cls(pd.Index(_plain(values.dropna().drop_duplicates())).sort_values())

    def codes(self, values: pd.Series) -> Codes:
        """Number of each value: that of distinct ones for missing, -1 for values that are not among them."""
        numbers, found = pd.factorize(values, use_na_sentinel=True)
        known = self.distinct.get_indexer(pd.Index(_plain(pd.Series(found)))) if len(found) else np.empty(0, np.int64)
        codes: Codes = np.append(known, len(self.distinct))[numbers]
        return codes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Joint(Rule):
    """Combinations held by learning them as one category.

    ``allowed`` (n_combinations, n_columns): codes of the combinations that may come out; ``parts``: of three columns or
    more, the rule without each that may have groups; ``groups``: names of groups of each column's rare values.
    """

    values: tuple[_Values, ...]
    allowed: Array
    parts: Mapping[str, _Joint] = field(default_factory=dict)
    groups: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def replaces(self) -> tuple[str, ...]:
        return self.constraint.columns

    def accepting(self, groups: Mapping[str, Collection[str]]) -> _Joint:
        own = {name: groups[name] for name in self.constraint.columns if name in groups}
        if not own:
            return self
        return replace(self, groups=own, parts={name: part.accepting(groups) for name, part in self.parts.items()})

    def broken(self, table: Table) -> Mask:
        found = self._at(table) < 0
        for name, known in zip(self.constraint.columns, self.values, strict=True):
            names = pd.Index(list(self.groups.get(name, ()))).difference(known.distinct)
            rows = np.flatnonzero(found & table.frame[name].isin(names).to_numpy())
            if len(rows):
                found[rows] = self.parts[name].broken(table.take(rows)) if self.parts else False
        return found

    def _with_groups(self, table: Table) -> _Joint:
        """The rule whose combinations are those of the table's groups, too, after its own."""
        groups = table.take((self._at(table) < 0) & ~self.broken(table))
        if not len(groups):
            return self
        names, own, values = self.constraint.columns, self.allowed.copy(), list[_Values]()
        for at, (known, name) in enumerate(zip(self.values, names, strict=True)):
            own[own[:, at] == len(known.distinct), at] = -1
            new = _Values.of(groups.frame[name]).distinct.difference(known.distinct)
            values.append(_Values(known.distinct.append(new)))
            own[own[:, at] < 0, at] = len(values[at].distinct)
        more = np.unique(_codes(values, names, groups), axis=0)
        return replace(self, values=tuple(values), allowed=np.concatenate([own, more]))

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002 - rare ones, too
        """Give records with a rare combination an allowed one.

        It is one of those that agree with the record in most columns, drawn as often as records hold it.
        """
        rows = np.flatnonzero(self.broken(table))
        if not len(rows) or not len(self.allowed):
            return table
        wide, n_own = self._with_groups(table), len(self.allowed)
        at = wide._at(table)
        frequency = np.bincount(at[(at >= 0) & (at < n_own)], minlength=n_own) + 1.0
        names, uniform = self.constraint.columns, rng.random(len(rows))
        drawn = np.empty(len(rows), dtype=np.int64)
        rare, of_row = np.unique(_codes(wide.values, names, table.take(rows)), axis=0, return_inverse=True)
        for number, combination in enumerate(rare):
            agreeing = (wide.allowed[:n_own] == combination).sum(axis=1)
            ends = np.cumsum(np.where(agreeing == agreeing.max(), frequency, 0.0))
            mine = of_row.reshape(-1) == number
            drawn[mine] = np.searchsorted(ends, uniform[mine] * ends[-1], side="right")
        frame = table.frame.copy()
        for position, (name, known) in enumerate(zip(names, wide.values, strict=True)):
            codes = known.codes(frame[name])
            codes[rows] = wide.allowed[drawn, position]
            frame[name] = _column(known, codes, frame[name])
        return Table(frame, table.schema, table.named_persons)

    def encodes(self, table: Table) -> bool:  # noqa: ARG002 - any records can be
        return len(self.allowed) > 0

    def coarseness(self, table: Table) -> float:  # noqa: ARG002 - known from the training records
        """Number of combinations: what depends on a coarse column is not learned from many fine categories."""
        return float(len(self.allowed))

    def encode(self, table: Table, original: Table) -> Table:
        first, *others = (name for name in table.schema.names if name in self.replaces)
        at = self._with_groups(original)._at(original)
        states, codes = np.unique(at, return_inverse=True)
        joint = pd.Series(pd.Categorical.from_codes(codes.reshape(-1), categories=[str(state) for state in states]))
        schema = Schema(
            tuple(
                self._joint(column, table.schema) if column.name == first else column
                for column in table.schema
                if column.name not in others
            )
        )
        return Table(table.frame.drop(columns=others).assign(**{first: joint}), schema, table.named_persons)

    def decode(self, table: Table, like: Table) -> Table:
        first = next(name for name in like.schema.names if name in self.replaces)
        at = table.frame[first].astype(str).astype(np.int64).to_numpy() if len(table) else np.empty(0, np.int64)
        wide = self._with_groups(like)
        columns = {
            name: _column(known, wide.allowed[at, position], like.frame[name])
            for position, (name, known) in enumerate(zip(self.constraint.columns, wide.values, strict=True))
        }
        left = {name: table.frame[name] for name in table.schema.names if name != first}
        names = [name for name in like.schema.names if name in columns or name in left]
        schema = Schema(tuple(like.schema[name] if name in columns else table.schema[name] for name in names))
        return Table(pd.DataFrame({name: (columns | left)[name] for name in names}), schema, table.named_persons)

    def _joint(self, column: Column, schema: Schema) -> Column:
        target = any(schema[name].target for name in self.replaces)
        return replace(column, kind=Kind.CATEGORICAL, format=ColumnFormat(), target=target)

    def _at(self, table: Table) -> Codes:
        """Position of each row's combination among the allowed ones, -1 for all others."""
        codes = _codes(self.values, self.constraint.columns, table)
        both = np.concatenate([self.allowed, codes])
        sizes = [len(known.distinct) + 2 for known in self.values]
        parts = ((both[:, at] + 1, size) for at, size in enumerate(sizes))
        groups = group_rows(*pack_small(parts, len(both)))[0]
        position = np.full(int(groups.max(initial=-1)) + 1, -1)
        position[groups[: len(self.allowed)]] = np.arange(len(self.allowed))
        return np.asarray(position[groups[len(self.allowed) :]])


def _codes(values: Sequence[_Values], names: Sequence[str], table: Table) -> Codes:
    return np.column_stack([known.codes(table.frame[name]) for known, name in zip(values, names, strict=True)])


def _column(known: _Values, codes: Codes, like: pd.Series) -> pd.Series:
    distinct = pd.Series([*known.distinct, None], dtype=object)
    values = distinct.take(codes).reset_index(drop=True)
    return values.astype(like.dtype)


def _plain(values: pd.Series) -> pd.Series:
    """Values that compare across tables: categories as objects, nullable numbers as plain ones."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(object)
    return pd.Series(values.to_numpy(dtype=object)) if str(values.dtype) == "boolean" else pd.Series(values.to_numpy())
