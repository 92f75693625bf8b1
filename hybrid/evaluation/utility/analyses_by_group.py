"""Estimates of analyses within groups of people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybrid.estimates import Formula
from hybrid.evaluation.context import Context
from hybrid.evaluation.fidelity.exclusion import MOST_NAMED, groups_of
from hybrid.evaluation.utility.compared_estimates import ComparedEstimate, Comparison, People, compared, conclusions
from hybrid.table.cells import PeopleGroups


@dataclass(frozen=True)
class GroupAgreement:
    """Agreement of the estimates of one group, from the table, with those from real people of the group."""

    column: str
    group: str
    """The column, and its values."""
    estimates: int
    """Estimates that were compared."""
    overlap: float
    """Mean overlap of their intervals, 0..1."""
    reference: float | None
    """That of people kept apart; None without them, or where fewer than ``min_cell`` of them are of the group."""
    conclusions: int
    kept: int
    """Coefficients, and those about which both lead to the same conclusion."""
    worst: ComparedEstimate
    """The estimate that differs most."""


def agreement_of_groups(context: Context, formulas: Sequence[Formula]) -> list[GroupAgreement]:
    """Agreement of each group, the lowest overlap first; of the released table alone, of at most 50 groups.

    Groups are those of ``group_exclusion``, with at least ``min_cell`` training people in the group and outside of it,
    so that no group of few people follows from others. Within a group its own column is no predictor.
    """
    if context.stage != "synthetic":
        return []
    found = [one for groups in groups_of(context) for one in _of_column(context, groups, formulas)]
    return sorted(found, key=lambda one: (one.overlap, one.column, one.group))[:MOST_NAMED]


def _of_column(context: Context, groups: PeopleGroups, formulas: Sequence[Formula]) -> Iterator[GroupAgreement]:
    asked = (formula.without(groups.column.name) for formula in formulas)
    within = list({formula.text: formula for formula in asked if formula is not None}.values())
    least, people = context.options.min_cell, groups.people(context.train)
    tables = [context.train, context.table, *([] if context.control is None else [context.control])]
    places = [(table.frame, groups.places(table)) for table in tables]
    for at, label in enumerate(groups.labels):
        if len(context.train) - people[at] < least:
            continue
        real, drawn, *apart = (People(frame, place == at) for frame, place in places)
        control = apart[0] if apart and len(apart[0].rows) >= least else None
        found = compared(context, within, real, drawn, control)
        if found.estimates:
            yield _agreement(groups.column.name, label, found)


def _agreement(column: str, group: str, found: Comparison) -> GroupAgreement:
    concluded, apart = conclusions(found.estimates), found.overlap_apart
    return GroupAgreement(
        column,
        group,
        len(found.estimates),
        round(found.overlap, 3),
        None if apart is None else round(apart, 3),
        len(concluded),
        sum(concluded),
        found.worst,
    )
