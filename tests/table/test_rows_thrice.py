"""A row is a person where no column names one: written three times under its person's number, it is no more people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.models.measure import fewest_persons
from hybrid.anonymize.result import left_out_by_group
from hybrid.anonymize.risk import household_risk
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.spec import GroupsSpec
from hybrid.protect import ProtectOptions, protect
from hybrid.sample.draw import group_shares
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.cells import column_cells, people_groups
from hybrid.table.dependencies import no_secrets
from hybrid.table.holders import people_bounds, row_holders, sharing, value_holders
from hybrid.table.persons import n_persons
from hybrid.transition.disclosure import _seeds

SCHEMA = Schema(
    (
        Column("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("job", Role.SENSITIVE, Kind.CATEGORICAL),
        Column("age", Role.INSENSITIVE, Kind.INTEGER),
    )
)
TOWNS = GroupsSpec(levels=({"north": ("Kiel", "Jena"), "south": ("Ulm", "Bonn")},))


def _table(rows: list[tuple[str, str, int, int]], *, persons: bool, households: bool) -> Table:
    towns, jobs, ages, whose = zip(*rows, strict=True)
    frame = pd.DataFrame({"town": pd.Categorical(towns), "job": pd.Categorical(jobs), "age": pd.array(ages, "Int64")})
    codes = np.array(whose)
    return Table(frame, SCHEMA, codes if persons else None, codes // 2 if households else None)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Rows that are persons, rows of persons with several, and either with households."""
    row = st.tuples(st.sampled_from(TOWNS_OF), st.sampled_from("xyz"), st.integers(20, 26), st.integers(0, 9))
    rows = draw(st.lists(row, min_size=8, max_size=40))
    return _table(rows, persons=draw(st.booleans()), households=draw(st.booleans()))


TOWNS_OF = ("Kiel", "Jena", "Ulm", "Bonn")


def _thrice(table: Table) -> Table:
    rows = np.repeat(np.arange(len(table)), 3)
    return replace(table.take(rows), named_persons=table.persons[rows])


def _bounds(table: Table) -> Any:
    codes, distinct = pd.factorize(table.frame["age"], sort=True)
    found = people_bounds(codes, 2, row_holders(table))
    return None if found is None else [distinct[at] for at in found]


def _cells(table: Table) -> Any:
    found = [column_cells(table, name, 3) for name in table.schema.names]
    return [one and (one.labels, one.hidden) for one in found]


def _groups(table: Table) -> Any:
    return [(one.labels, one.people(table).tolist()) for one in people_groups(table, table.schema.names, 3)]


def _households(table: Table) -> Any:
    found = household_risk(pd.factorize(table.frame["town"])[0], table.persons, table.households)
    return np.sort(found.risk).round(12).tolist(), np.sort(found.worst_class).tolist()


def _protection(table: Table) -> Any:
    found = protect(table, ProtectOptions(min_count=3), np.random.default_rng(0), decided=True).result
    return [(one.column, one.values, one.rare) for one in found.columns]


def _anonymized(table: Table) -> Any:
    towns: dict[str, Hierarchy] = {"town": build_hierarchy(TOWNS, SCHEMA["town"], table.frame["town"])}
    found = anonymize(table, towns, AnonymizeOptions(k=2, suppression_limit=1.0))
    result, seeds = found.result, _seeds(found, [])
    groups = left_out_by_group(found, ["job"], 2)
    return result.levels, result.smallest, result.people, result.lost_people, seeds.least, seeds.median, groups


COUNTS: tuple[Callable[[Table], Any], ...] = (
    n_persons,
    lambda table: [value_holders(table, name).to_dict() for name in table.schema.names],
    lambda table: sorted(set(zip(table.frame["town"], sharing(table, ["town"]).tolist(), strict=True))),
    lambda table: fewest_persons(table, ["town"], table.persons),
    lambda table: [(one.group, one.people) for one in group_shares(table, None, ["town", "job"])],
    lambda table: no_secrets(table, ["job"], ["town"]),
    _bounds,
    _cells,
    _groups,
    _households,
    _protection,
    _anonymized,
)


@pytest.mark.parametrize("count", COUNTS)
@given(table=tables())
@settings(max_examples=25, deadline=None)
def test_rows_written_three_times_change_no_count_of_people(count: Callable[[Table], Any], table: Table) -> None:
    assert count(_thrice(table)) == count(table)
