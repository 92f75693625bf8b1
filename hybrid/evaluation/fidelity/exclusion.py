"""Groups of people who are missing from the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.base.words import told_apart
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import failure_ratio, simultaneous
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table import Role, Table
from hybrid.table.cells import PeopleGroups, in_column, people_groups
from hybrid.table.persons import n_persons

MOST_NAMED = 50
"""Groups in the details, at most: the surest shortfalls first."""


class Shortfall(NamedTuple):
    """1 - (share of the table) / (share of the training people) of a group: 1 if all are missing, below 0 for more."""

    column: str
    group: str
    people: int
    share: float
    """Share of the training people, 0..1."""
    share_there: float
    """Share of the table, 0..1."""
    value: float
    low: float
    high: float


def group_columns(context: Context) -> list[str]:
    """Columns of ``evaluate.groups``, else quasi-identifiers, sensitive ones and targets; all where there are none."""
    schema = context.schema
    if context.options.groups is not None:
        return list(context.options.groups)
    stated = {*schema.quasi_identifiers, *schema.sensitive, *context.targets}
    weights = schema.having(Role.WEIGHT)
    return [name for name in schema.names if (not stated or name in stated) and name not in weights]


def groups_of(context: Context) -> list[PeopleGroups]:
    """Groups of at least ``min_cell`` training people."""
    least = context.options.min_cell
    return context.once_for_all_stages(
        "people groups", lambda: list(people_groups(context.train, group_columns(context), least))
    )


def group_exclusion(context: Context) -> Outcome:
    """Largest shortfall of a group's share in the table, at most 1.

    1 - (share of the table) / (share of the training people) of the group whose interval has the highest low end.
    Groups are categories and intervals with round bounds of quasi-identifiers, sensitive columns and targets (or
    ``evaluate.groups``), each of at least ``min_cell`` training people; values that fewer people hold are one group.

    People are counted where the rows of a person are known in both tables, else rows. The interval takes both tables
    for samples (Donner and Zou 2012, from the Wilson bounds of both shares), as large as they have people, and holds
    for all groups together (Sidak). So a group is missing by its low end only where that is no chance of one draw. The
    reference is the largest shortfall of control.
    """
    groups = groups_of(context)
    if not groups:
        return NotComputable(sentence("metric.few.group", n=context.options.min_cell), "too_few")
    confidence = context.options.confidence
    found = shortfalls(groups, context.train, context.table, confidence)
    control = context.control
    reference = None
    if control is not None and len(control):
        reference = context.once_for_all_stages(
            "group_exclusion", lambda: shortfalls(groups, context.train, control, confidence)[0].value
        )
    worst = found[0]
    counted = "persons" if _linked(context.train, context.table) else "rows"
    details = {
        "worst": in_column(worst.column, worst.group),
        "said": shortfall_in_words(worst, "people" if counted == "persons" else counted),
        "groups": [one._asdict() for one in found[:MOST_NAMED]],
        "missing": sum(one.low > 0 for one in found),
        "columns": [one.column.name for one in groups],
        "interval": f"simultaneous over {len(found)}",
        "unit": counted,
    }
    n = n_persons(context.table)
    return Measure(worst.value, worst.low, worst.high, reference, n, details, together=len(found))


def shortfall_in_words(of: Shortfall, unit: str) -> str:
    """Share of a group in the table and in the training data; empty where the table has as much of it."""
    if of.value <= 0:
        return ""
    there, share = told_apart(100 * of.share_there, 100 * of.share, 1)
    return sentence("content.share", group=in_column(of.column, of.group), n=there, m=share, unit=unit)


def shortfalls(groups: Sequence[PeopleGroups], train: Table, table: Table, confidence: float) -> list[Shortfall]:
    """Shortfall of every group, the highest low end first; ``confidence`` is that of all intervals together."""
    level = simultaneous(confidence, sum(map(len, groups)))
    sizes = n_persons(train), n_persons(table)
    found = []
    for of in groups:
        sides = _shares(of, train, table)
        people = of.people(train)
        for at, label in enumerate(of.labels):
            share, there = float(sides[0][at]), float(sides[1][at])
            least, most = failure_ratio(((1 - there) * sizes[1], sizes[1]), ((1 - share) * sizes[0], sizes[0]), level)
            known = of.column.name, label, int(people[at]), share, there
            found.append(Shortfall(*known, 1 - there / share, 1 - most, 1 - least))
    return sorted(found, key=lambda one: (-one.low, -one.value, one.column, one.group))


def _linked(train: Table, table: Table) -> bool:
    return not (train.rows_are_persons or table.rows_are_persons)


def _shares(of: PeopleGroups, train: Table, table: Table) -> list[Array]:
    if _linked(train, table):
        return [of.people(side) / n_persons(side) for side in (train, table)]
    rows = [np.bincount(of.places(side) + 1, minlength=len(of) + 1)[1:] for side in (train, table)]
    return [counts / len(side) for counts, side in zip(rows, (train, table), strict=True)]


METRICS = (
    fidelity(
        group_exclusion,
        "How much smaller the share of a group of people is in this table than in the real one, at worst.",
        low=None,
    ),
)
