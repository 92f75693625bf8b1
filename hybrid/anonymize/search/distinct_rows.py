"""Distinct rows of a table, with their counts and sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.search.person_rows import Holdings, Members, PersonRows
from hybrid.base.arrays import Codes, Counts, Leaves, Mask, Numbers, Rows
from hybrid.base.errors import DataError
from hybrid.base.keys import group_sums, pack_small, ranks
from hybrid.hierarchy import Hierarchy
from hybrid.table.persons import person_groups


def add_up(code: Codes, counts: Counts | None = None) -> tuple[Codes, Counts]:
    """Distinct codes, ascending, and the sum of each one's counts (1 by default); both int64."""
    if not len(code):
        return code, np.zeros(0, dtype=np.int64)
    if counts is None:
        code = np.sort(code)
    else:
        order = np.argsort(code)
        code, counts = code[order], counts[order]
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
    ends = np.append(starts[1:], len(code))
    return code[starts], ends - starts if counts is None else np.add.reduceat(counts, starts)


@dataclass(frozen=True)
class DistinctRowCounts:
    """Distinct rows with their number of records."""

    columns: list[Codes]
    """Value numbers; shape (n,), int."""
    counts: Counts
    """Records of each row; shape (n,), int64."""

    def __len__(self) -> int:
        return len(self.counts)


def too_many(most: int, what: str) -> DataError:
    return DataError(
        f"more than {most:,} distinct combinations of {what}: more than memory has room for",
        hint="raise anonymize.memory_limit, make the columns coarser at the source (months instead of days), "
        "or give fewer of them a role or a privacy model",
    )


@dataclass(frozen=True)
class Sensitive:
    """One sensitive column: how often each value occurs in each distinct row."""

    rows: Rows
    values: Codes
    counts: Counts
    """Distinct row, value number and number of records of every combination that occurs; shape (n_pairs,), int64."""
    reference: Numbers
    """Relative frequency of each value in the whole table, where a row of a person weighs 1 / (rows of the person).
    Values are numbered in their own order, a missing one last: a missing value counts as a value; shape (n_values,),
    float64."""
    known: pd.Series
    """The values themselves. Private; length n."""

    @property
    def n_values(self) -> int:
        return len(self.reference)


@dataclass(frozen=True)
class DistinctRows:
    """The distinct quasi-identifying rows of a table."""

    hierarchies: tuple[Hierarchy, ...]
    """One per quasi-identifier; length n."""
    leaves: Leaves
    """Leaf of each distinct row in each hierarchy; int32 where a hierarchy has more than 65,536; shape (n_qi,
    n_distinct), uint16 or int32."""
    counts: Counts
    """Records per distinct row; 0 for rows that only the population has; shape (n_distinct,), int64."""
    row_of: Rows
    """Distinct row of each row that was collected: of each record, where these did not come with counts; shape
    (n_rows,), int64."""
    sensitive: Mapping[str, Sensitive]
    """The sensitive columns that privacy models look at."""
    population: Counts | None = None
    """People of the population table per distinct row; shape (n_distinct,), int64."""
    shared: PersonRows | None = None
    """Persons of each distinct row, where a person may have several records (:attr:`persons`)."""
    held: Mapping[str, Holdings] = field(default_factory=dict)
    """Sensitive values of each person; empty where each record is another person."""

    @cached_property
    def n_records(self) -> int:
        return int(self.counts.sum())

    @property
    def n_distinct(self) -> int:
        return len(self.counts)

    @property
    def rows_are_persons(self) -> bool:
        """True where each record is another person: then records are counted, which is quicker."""
        return self.shared is None

    @cached_property
    def persons(self) -> PersonRows:
        """Persons of each distinct row."""
        if self.shared is not None:
            return self.shared
        rows = np.repeat(np.arange(self.n_distinct), self.counts)
        return PersonRows.of(rows, np.arange(len(rows)), self.n_distinct)

    @property
    def n_persons(self) -> int:
        """Persons with a key."""
        return self.n_records if self.shared is None else self.shared.n_persons

    @property
    def names(self) -> list[str]:
        return [hierarchy.column for hierarchy in self.hierarchies]

    @cached_property
    def leaf_counts(self) -> list[Numbers]:
        """Records per leaf of each quasi-identifier; each of shape (n_leaves,), float64."""
        return [
            group_sums(leaves, self.counts, hierarchy.n_leaves)
            for leaves, hierarchy in zip(self.leaves, self.hierarchies, strict=True)
        ]

    @cached_property
    def leaf_starts(self) -> Codes:
        """Offset of each column's leaves, all columns concatenated; shape (n_qi + 1,)."""
        return np.cumsum([0, *(hierarchy.n_leaves for hierarchy in self.hierarchies)])

    @cached_property
    def occurring(self) -> list[Mask]:
        """Mask of the leaves per column that occur in table or population."""
        if self.population is None:
            return [counts > 0 for counts in self.leaf_counts]
        occurring = []
        for leaves, hierarchy in zip(self.leaves, self.hierarchies, strict=True):
            occurs = np.zeros(hierarchy.n_leaves, dtype=bool)
            occurs[leaves] = True
            occurring.append(occurs)
        return occurring


def merged_rows(records: DistinctRows, row_of: Rows, first: Rows) -> DistinctRows:
    """The same records, each another person: each row joins ``row_of`` it, which keeps the leaves of ``first``."""
    n = len(first)
    secrets = {}
    for name, one in records.sensitive.items():
        joined = Histogram.of(row_of[one.rows], one.values, one.counts, n, one.reference)
        secrets[name] = replace(one, rows=joined.classes, values=joined.values, counts=joined.counts.astype(np.int64))
    population = records.population
    return replace(
        records,
        leaves=np.ascontiguousarray(records.leaves[:, first]),
        counts=group_sums(row_of, records.counts, n).astype(np.int64),
        row_of=row_of[records.row_of],
        sensitive=secrets,
        population=None if population is None else group_sums(row_of, population, n).astype(np.int64),
    )


def collect_distinct_rows(
    leaves: Leaves,
    hierarchies: Sequence[Hierarchy],
    sensitive: Mapping[str, pd.Series],
    population: Counts | None = None,
    counts: Counts | None = None,
    members: Members | None = None,
    parts: Codes | None = None,
) -> DistinctRows:
    """Take the distinct rows of a table, from the leaves of its rows and of a population, shape (n, n_qi).

    ``counts`` are the records that each row represents, 1 if not given. Each record is another person without
    ``members``. Rows of different ``parts`` (0 or 1) are different; the population is in part 1.
    """
    n = len(leaves)
    everyone = leaves if population is None else np.concatenate([leaves, population])
    columns = [(everyone[:, at], hierarchy.n_leaves) for at, hierarchy in enumerate(hierarchies)]
    if parts is not None:
        columns.append((np.append(parts, np.ones(len(everyone) - n, dtype=np.int64)), 2))
    code, size = pack_small(columns, len(everyone))
    first, row_of, n_distinct = _distinct(code, size)
    people = None if members is None else _People.of(members, row_of, n_distinct)
    secrets = {name: _sensitive(row_of[:n], values, counts, people) for name, values in sensitive.items()}
    return DistinctRows(
        hierarchies=tuple(hierarchies),
        leaves=np.ascontiguousarray(everyone[first].T, dtype=_leaf_type(hierarchies)),
        counts=_summed(row_of[:n], counts, n_distinct),
        row_of=row_of[:n],
        sensitive={name: found for name, (found, _) in secrets.items()},
        population=None if population is None else np.bincount(row_of[n:], minlength=n_distinct),
        shared=None if people is None else people.rows(),
        held={name: held for name, (_, held) in secrets.items() if held is not None},
    )


def _leaf_type(hierarchies: Sequence[Hierarchy]) -> npt.DTypeLike:
    """Type of leaf numbers: uint16 takes half the memory of int32, which counts with millions of rows."""
    return np.uint16 if max((one.n_leaves for one in hierarchies), default=0) <= 1 << 16 else np.int32


@dataclass(frozen=True)
class _People:
    """Persons of the distinct rows."""

    members: Members
    """By distinct rows."""
    collected: Rows
    """Collected row of each entry; shape (n,), int64."""
    groups: Codes
    """Number of each entry's person, those without a key last; shape (n,), int64."""
    n_rows: int
    n_known: int
    """Distinct rows, persons with a key."""

    @classmethod
    def of(cls, members: Members, row_of: Rows, n_rows: int) -> _People:
        """Persons of collected rows, each of which is one of ``n_rows`` distinct ones."""
        groups = person_groups(members.persons)
        by_row = replace(members, rows=row_of[members.rows])
        return cls(by_row, members.rows, groups, n_rows, int(groups[members.persons >= 0].max(initial=-1)) + 1)

    def rows(self) -> PersonRows:
        known = np.where(self.members.persons < 0, -1, self.groups)
        return PersonRows.of(self.members.rows, known, self.n_rows)


def _distinct(code: Codes, size: int) -> tuple[Rows, Codes, int]:
    """One row per code, each row's code number, number of codes; codes are in ascending order."""
    if size > 4 * len(code):
        code, size = ranks(code)
    some_row = np.full(size, -1, dtype=np.int64)
    some_row[code[::-1]] = np.arange(len(code))[::-1]
    present = some_row >= 0
    number = np.cumsum(present) - 1
    return some_row[present], number[code], int(number[-1]) + 1 if size else 0


def _summed(groups: Codes, counts: Counts | None, n_groups: int) -> Counts:
    return np.bincount(groups, counts, n_groups).astype(np.int64, copy=False)


def _sensitive(
    row_of: Rows, values: pd.Series, counts: Counts | None, people: _People | None
) -> tuple[Sensitive, Holdings | None]:
    """Values of one sensitive column per row, and per row and person where records share persons."""
    numbers, known = value_numbers(values)
    n_values, held = max(len(known), 1), None
    pairs, records = add_up(row_of * n_values + numbers, counts)
    if people is not None:
        shape = people.n_rows, people.n_known, n_values
        held = Holdings.of(people.members, people.groups, numbers[people.collected], shape)
    occurs = _summed(numbers, counts, len(known)) if held is None else held.overall()
    column = Sensitive(
        rows=pairs // n_values,
        values=pairs % n_values,
        counts=records,
        reference=occurs / max(occurs.sum(), 1),
        known=known,
    )
    return column, held


def value_numbers(values: pd.Series) -> tuple[Codes, pd.Series]:
    """Number of each value among the distinct ones in order, missing last, and these in the dtype of the column."""
    codes, distinct = pd.factorize(values, sort=True, use_na_sentinel=True)
    numbers = np.asarray(codes, dtype=np.int64)
    known = pd.Series(distinct)
    if (numbers < 0).any():
        numbers = np.where(numbers < 0, len(known), numbers)
        known = known.reindex(range(len(known) + 1))
    return numbers, known
