"""People who were left out by suppression, by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Mask
from hybrid.table import Role, Schema, Table
from hybrid.table.cells import people_groups
from hybrid.table.persons import n_persons
from hybrid.table.schema import concat_rows

EVERYBODY = "everybody"
ALONE = "alone with their quasi-identifiers"
LEAST = 20
"""Fewest people of a group that is named; rarer values are one group."""


@dataclass(frozen=True)
class LeftOut:
    """Number of people in a group, and how many suppression left out.

    Left out is who has no record of the group in the anonymized table.
    """

    column: str
    """Empty for everybody, and for people whose quasi-identifiers nobody shares."""
    group: str
    people: int
    left_out: int


def counted(anonymized: AnonymizedTable) -> dict[str, Any]:
    """Content of a run's ``anonymization.json``, with exact counts by group.

    ``left_out`` lists :class:`LeftOut` where any record was suppressed. It is for the house alone: beside those of one
    more release, exact counts tell of single people. A release is written from
    :class:`~hybrid.anonymize.AnonymizationResult`, which has no such counts, and its report has rounded ones.
    """
    content = anonymized.result.to_json()
    if not len(anonymized.suppressed):
        return content
    found = left_out_by_group(anonymized, group_columns(anonymized.originals.schema), LEAST)
    return content | {"left_out": [asdict(one) for one in found]}


def group_columns(schema: Schema) -> list[str]:
    """Columns that groups are made by: quasi-identifiers, sensitive columns, targets."""
    return [column.name for column in schema if column.target or column.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)]


def left_out_by_group(anonymized: AnonymizedTable, names: Sequence[str], least: int) -> list[LeftOut]:
    """Count the people whom suppression left out.

    Parameters
    ----------
    anonymized : AnonymizedTable
        With the suppressed records.
    names : sequence of str
        Columns that groups are made by.
    least : int
        Fewest people of a group.

    Returns
    -------
    list of LeftOut
        Everybody first, then people whose quasi-identifiers no other person has, then groups by columns.
    """
    kept = anonymized.originals
    whole = _whole(kept, anonymized.suppressed)
    found = [LeftOut("", EVERYBODY, n_persons(whole), n_persons(whole) - n_persons(kept))]
    alone = _alone(whole, anonymized.quasi_identifiers)
    people = n_persons(whole.take(alone))
    if people >= least:
        there = n_persons(whole.take(alone & (np.arange(len(whole)) < len(kept))))
        found.append(LeftOut("", ALONE, people, people - there))
    for groups in people_groups(whole, names, least):
        counts = zip(groups.labels, groups.people(whole).tolist(), groups.people(kept).tolist(), strict=True)
        found += [LeftOut(groups.column.name, label, people, people - there) for label, people, there in counts]
    return found


def _whole(kept: Table, suppressed: Table) -> Table:
    """Kept records, then suppressed ones."""
    persons = None
    if kept.persons is not None and suppressed.persons is not None:
        persons = np.concatenate([kept.persons, suppressed.persons])
    return Table(concat_rows(kept.frame, suppressed.frame), kept.schema, persons)


def _alone(table: Table, names: list[str]) -> Mask:
    """Rows whose quasi-identifiers no other person has; shape (n,), bool."""
    classes = table.frame.groupby(names, dropna=False, observed=True, sort=False).ngroup().to_numpy()
    persons = np.arange(len(table)) if table.persons is None else table.persons
    pairs = np.unique(np.stack([classes, persons]), axis=1)
    alone: Mask = np.bincount(pairs[0])[classes] == 1
    return alone
