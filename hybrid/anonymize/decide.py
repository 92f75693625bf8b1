"""Decision of the search from counted combinations, wherever the records are.

The records stay in a file or in a warehouse: the search needs their distinct rows and counts alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.anonymize_table import recode
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search.distinct_rows import DistinctRowCounts, collect_distinct_rows, value_numbers
from hybrid.anonymize.search.person_rows import Members
from hybrid.anonymize.search.problem import Recoding, SearchProblem, build_rules, encode, refuse_contradictions
from hybrid.anonymize.verify_classes import SourcePersons
from hybrid.base.arrays import Array, Codes, Leaves
from hybrid.base.errors import DataError, HierarchyError, Problem
from hybrid.base.progress import Progress
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import HierarchySource, load_hierarchy
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_options import ColumnOptions
from hybrid.table.value_numbers import ValueNumbers


@dataclass(frozen=True)
class AnonymizationRequest:
    """Request to anonymize records that stay where they are."""

    source: str
    """What messages call the table."""
    columns: tuple[str, ...]
    """All columns of the table, in order; none of one whose columns are still to be looked up."""
    data: DataOptions
    hierarchies: Mapping[str, HierarchySource]
    """The file, or the description, of each quasi-identifier's hierarchy."""
    options: AnonymizeOptions
    """What to do; engine exact."""
    population: Table | None = None
    """Of k-map."""

    def role(self, name: str) -> Role:
        return self.data.columns.get(name, ColumnOptions()).role

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers, in the table's order."""
        return [name for name in self.columns if self.role(name) is Role.QUASI_IDENTIFIER]

    @property
    def attributes(self) -> list[str]:
        """Columns that the privacy models look at."""
        stay = [name for name in self.columns if self.role(name) in (Role.SENSITIVE, Role.INSENSITIVE)]
        return [name for name in self.options.attributes if name in stay]


@dataclass(frozen=True)
class CountedRows:
    """Distinct rows of the quasi-identifiers and the columns that the models look at, with records and persons."""

    numbers: list[ValueNumbers]
    """Values of each of these columns."""
    found: DistinctRowCounts
    """The distinct rows as value numbers, with their records."""
    members: Members | None
    """Persons of each distinct row; None: each record is another person."""


@dataclass(frozen=True)
class Decision:
    """Decision of the search, with the inputs of later passes."""

    schema: Schema
    task: SearchProblem
    recoding: Recoding
    """What was asked for and what was decided."""
    leaf_of: list[Leaves]
    """Hierarchy leaf of each value number of a quasi-identifier; shape (n_values,), int."""
    value_of: list[Codes]
    """For each attribute, the position in ``task.records.sensitive[attribute].known`` of each value number; shape
    (n_values,), int."""


def decide(asked: AnonymizationRequest, counted: CountedRows, progress: Progress) -> Decision:
    """Choose the node of every distinct row.

    Raises as :func:`hybrid.anonymize.anonymize`.
    """
    typed = _typed(asked, counted)
    schema = Schema(
        tuple(
            typed[name][0] if name in typed else Column(name, asked.role(name), Kind.CATEGORICAL)
            for name in asked.columns
        )
    ).without_identifiers()
    hierarchies = _load(asked, counted, typed)
    refuse_contradictions(schema, hierarchies, asked.options, asked.population)
    names = asked.names
    used = [hierarchies[name] for name in names]
    leaf_of = [_lookup(typed[name][1].index, hierarchies[name].encode(typed[name][1])) for name in names]
    rows, counts = counted.found.columns, counted.found.counts
    if not len(counts):
        raise DataError("there are no records to anonymize", hint="check the input file and the split")
    leaves = np.stack([lookup[column] for lookup, column in zip(leaf_of, rows, strict=False)], axis=1)
    values = dict(zip(asked.attributes, rows[len(used) :], strict=True))
    sensitive = {name: _values(typed[name][1], column) for name, column in values.items()}
    people = None if asked.population is None else encode(asked.population, used)
    records = collect_distinct_rows(leaves, used, sensitive, people, counts, counted.members)
    elsewhere = Table(pd.DataFrame(index=pd.RangeIndex(records.n_records)), Schema(()))
    rules = build_rules(asked.options, hierarchies, records)
    prepared = SearchProblem(elsewhere, hierarchies, asked.options, leaves, records, rules, asked.population)
    value_of = [_lookup(column, value_numbers(sensitive[name])[0]) for name, column in values.items()]
    return Decision(schema, prepared, recode(prepared, progress), leaf_of, value_of)


def source_persons(asked: AnonymizationRequest, counted: CountedRows, decided: Decision) -> SourcePersons | None:
    """Persons of the source, for the verification; None where each record is another person."""
    if counted.members is None:
        return None
    rows = counted.found.columns[len(asked.names) :]
    columns = zip(asked.attributes, decided.value_of, rows, strict=True)
    return SourcePersons(counted.members, {name: value_of[numbers] for name, value_of, numbers in columns})


def _typed(asked: AnonymizationRequest, counted: CountedRows) -> dict[str, tuple[Column, pd.Series]]:
    typed: dict[str, tuple[Column, pd.Series]] = {}
    problems: list[Problem] = []
    for numbers in counted.numbers:
        try:
            typed[numbers.name] = numbers.typed(asked.source, asked.data)
        except DataError as error:
            problems.extend(error.problems)
    if problems:
        raise DataError(problems)
    return typed


def _load(
    asked: AnonymizationRequest, counted: CountedRows, typed: Mapping[str, tuple[Column, pd.Series]]
) -> dict[str, Hierarchy]:
    sensitive = [name for name in asked.attributes if asked.role(name) is Role.SENSITIVE]
    wanted = [name for name in (*asked.names, *sensitive) if name in asked.hierarchies]
    counts = {numbers.name: numbers.counts[numbers.counts > 0] for numbers in counted.numbers}
    loaded: dict[str, Hierarchy] = {}
    problems: list[Problem] = []
    for name in wanted:
        try:
            loaded[name] = load_hierarchy(asked.hierarchies[name], *typed[name], counts[name])
        except HierarchyError as error:
            problems.extend(error.problems)
    if problems:
        raise HierarchyError(problems)
    return loaded


def _values(by_number: pd.Series, numbers: Codes) -> pd.Series:
    return by_number.take(np.searchsorted(by_number.index, numbers)).reset_index(drop=True)


def _lookup(numbers: Codes | pd.Index, results: Array) -> Array:
    """An array that holds the result of each number at its place."""
    lookup = np.full(int(np.max(numbers)) + 1, -1, dtype=results.dtype)
    lookup[numbers] = results
    return lookup
