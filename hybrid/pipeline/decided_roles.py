"""Section ``roles`` of a configuration, with the person who decided the columns' roles, and its checks."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

from pydantic import StringConstraints

from hybrid.base.errors import ConfigError, Problem
from hybrid.base.options import Options
from hybrid.pipeline.starter.column_names import denotes_staff
from hybrid.pipeline.starter.guessed_roles import evidence_of, repeats
from hybrid.pipeline.starter.person_numbers import people_again, person_numbers, rows_are_numbered, second_people
from hybrid.publication.column_roles import DecidedRoles
from hybrid.table import Role, Table

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

CHOICES = "identifier, quasi_identifier, sensitive, insensitive or weight; or excluded, which leaves the column out"


class RolesOptions(Options):
    """Person and date of the decision about the columns' roles.

    A release needs it.
    """

    decided_by: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    """Name of the person who has read every line under data.columns. The certificate shows it."""
    date: datetime.date
    """Day of the decision."""


def refuse_undecided(config: RunConfig) -> None:
    """Refuse a release while a person has not decided the role of every column of every table.

    One problem names the missing section ``roles`` and all undecided columns.
    """
    undecided = undecided_in_tables(config)
    missing = [] if config.roles is not None else ["roles.decided_by is not set"]
    if undecided:
        missing.append(f"undecided columns: {', '.join(undecided)}")
    if missing:
        raise ConfigError(
            Problem(
                f"a release needs roles that a person has decided: {'; '.join(missing)}",
                f"give each of them a role ({CHOICES}), then add roles: {{decided_by: NAME, date: YYYY-MM-DD}}",
            )
        )


def undecided_in_tables(config: RunConfig) -> list[str]:
    """Undecided columns of all tables about people; those of linked tables have the names of their tables."""
    views = config.views.items()
    return [
        f"{name}.{column}" if name else column for name, view in views for column in view.data.having(Role.UNDECIDED)
    ]


def refuse_without_person(config: RunConfig, table: Table) -> None:
    """Refuse a release of a table whose rows may share a person."""
    names = without_person(config, table)
    if names:
        raise ConfigError(person_problem(names))


def person_problem(names: tuple[str, ...]) -> Problem:
    """Problem of identifiers that repeat without ``data.person``."""
    listed = ", ".join(repr(name) for name in names)
    return Problem(
        f"identifiers repeat and data.person is not set: {listed}; k would count rows, so that one person "
        "fills a class alone, and rows of one person would be in training and in control",
        "set data.person to the identifier that names the person of a row, or to none if each row is another person; "
        "several identifiers may do so together",
    )


def without_person(config: RunConfig, table: Table) -> tuple[str, ...]:
    """Repeating identifiers without a decision about persons.

    Those of households are no persons, nor are those of staff where each row has a number of its own person. If numbers
    repeat, only these are named. Names and addresses count only where no other identifier repeats: different people
    share them. A column of any other role counts if each of its values goes with the sex, birth or name of one person.
    Without any of them, names, births and sexes that recur together count.
    """
    if config.data.person is not None:
        return ()
    own = [name for name in table.schema.identifiers if name not in config.data.household_columns]
    found = {name: evidence_of(table.schema[name], table.frame[name]) for name in own}
    repeating = [name for name in found if repeats(table.frame[name])]
    if rows_are_numbered(table, own):
        repeating = [name for name in repeating if not denotes_staff(name)]
    shared = [name for name in repeating if (evidence := found[name]) and evidence.identity in ("name", "address")]
    others = [name for name in table.schema.names if name not in (*own, *config.data.household_columns)]
    numbers = [name for name in repeating if name not in shared] + list(person_numbers(table, others))
    return tuple(numbers or ([] if len(found) > len(shared) else shared) or people_again(table))


def decided_roles(config: RunConfig, table: Table, below: Collection[str] = ()) -> DecidedRoles:
    """Decision about the roles, for the verdict and the certificate.

    ``below`` are generalized columns of a table below the person table.
    """
    generalized = set(table.schema.quasi_identifiers) if config.anonymize is not None else set(below)
    noisy = config.privacy is not None  # every column is drawn from noisy counts
    kept = [column for column in table.schema.without_identifiers() if column.name not in generalized]
    evidence = {column.name: evidence_of(column, table.frame[column.name]) for column in kept}
    masked = {name: evidence_of(table.schema[name], table.frame[name]) for name in sorted(config.unlabelled)}
    return DecidedRoles(
        decided_by=None if config.roles is None else config.roles.decided_by,
        date=None if config.roles is None else config.roles.date.isoformat(),
        undecided=config.data.having(Role.UNDECIDED),
        excluded=config.data.having(Role.EXCLUDED),
        as_they_are=() if noisy else tuple(evidence),
        suspected=tuple(name for name, found in (evidence | masked).items() if found is not None and found.strong),
        repeating=without_person(config, table),
        person=config.data.person_columns,
        second=second_persons(config, table),
    )


def second_persons(config: RunConfig, table: Table) -> tuple[str, ...]:
    """Columns that number a second person of each row.

    Only where one column names the first; in a linked table another table's column may.
    """
    columns = config.data.person_columns
    return second_people(table, columns[0]) if len(columns) == 1 and columns[0] in table.schema else ()
