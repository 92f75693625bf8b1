"""Questions to the person who knows the table.

They are about targets, secrets, and dates that others know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid.pipeline.starter.column_names import vocabulary
from hybrid.pipeline.starter.columns import GuessedColumn
from hybrid.pipeline.starter.roles import MOST_CLASSES
from hybrid.table import Kind, Role, Table
from hybrid.table.dependencies import functional_dependencies


@dataclass(frozen=True)
class AskedTable:
    """A guessed table, to ask about.

    Parameters
    ----------
    table : Table
    columns : sequence of GuessedColumn
    file : Path or None
        Its file; None without one.
    prefix : str
        Before the names of its columns, such as ``visits.``.
    """

    table: Table
    columns: Sequence[GuessedColumn]
    file: Path | None = None
    prefix: str = ""


def targets_of(columns: Sequence[GuessedColumn]) -> list[str]:
    """Columns whose name says that a model predicts them."""
    return [one.column.name for one in columns if one.role.target]


def secrets_of(table: Table, columns: Sequence[GuessedColumn]) -> list[str]:
    """Sensitive columns, without constants and without those that an earlier one determines."""
    names = [
        one.column.name
        for one in columns
        if one.role.role is Role.SENSITIVE and table.frame[one.column.name].nunique() > 1
    ]
    told = {
        told
        for teller, told in functional_dependencies(table, names, names)
        if _comes_first(teller, told, names, table)
    }
    return [name for name in names if name not in told]


def _comes_first(teller: str, told: str, names: Sequence[str], table: Table) -> bool:
    """False for the first of two columns that determine each other."""
    equal = table.frame[teller].nunique(dropna=False) == table.frame[told].nunique(dropna=False)
    return not equal or names.index(teller) < names.index(told)


def possible_targets(table: Table, columns: Sequence[GuessedColumn], data: Path | None) -> list[str]:
    """Columns that might be predicted though their name does not say so.

    The one that is called as the file, and the last one, of few values or numbers that few others know.
    """
    known = vocabulary()
    file = set() if data is None else set(known.split(data.stem))
    open_ = [
        one
        for one in columns
        if one.role.role in (Role.SENSITIVE, Role.INSENSITIVE)
        and not one.column.kind.is_temporal
        and table.frame[one.column.name].nunique() > 1
        and (one.column.kind is not Kind.CATEGORICAL or table.frame[one.column.name].nunique() <= MOST_CLASSES)
    ]
    named = [one.column.name for one in open_ if set(known.split(one.column.name)) & file]
    last = [one.column.name for one in open_ if one is columns[-1]]
    return list(dict.fromkeys([*named, *last]))


def questions(tables: Sequence[AskedTable]) -> Iterator[str]:
    """Questions about guessed tables; no cell values."""

    def named(found: Callable[[AskedTable], Sequence[str]]) -> str:
        return ", ".join(f"{one.prefix}{column}" for one in tables for column in found(one))

    possible = named(lambda one: targets_of(one.columns)) or named(
        lambda one: possible_targets(one.table, one.columns, one.file)
    )
    perhaps = f"perhaps {' or '.join(possible.split(', '))}" if possible else "no column looks like it"
    yield (
        f"what will users predict? {perhaps}: write target: true beside it; without one no metric shows whether models "
        "learn the same from the release"
    )
    if secrets := named(lambda one: secrets_of(one.table, one.columns)):
        yield f"what do attackers want to learn? perhaps {secrets}, sensitive by name: choose under evaluate.secrets"
    else:
        yield "what do attackers want to learn? no column looks sensitive: give that role to those"
    if dates := named(lambda one: [column.column.name for column in one.columns if column.role.is_event]):
        yield (
            f"do others know {dates} of a person? then quasi_identifier (generalized, and counted by k), "
            "else insensitive; until you say, these dates are undecided and left out"
        )
