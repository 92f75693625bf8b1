"""Guessed columns of a table: roles, kinds and hierarchies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from hybrid.base.atomic import write_text
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.files import rows_of, text_of_rows, text_of_spec
from hybrid.hierarchy.load import HierarchySource
from hybrid.hierarchy.spec import HierarchySpec
from hybrid.pipeline.starter.hierarchies import guess_hierarchy, is_list
from hybrid.pipeline.starter.roles import GuessedRole, guess_roles
from hybrid.table import Column, Kind, Role, Table
from hybrid.table.persons import constant_within

_ADVICE = {
    "intervals": "widths are guessed from the data; labels that people know (10-year groups, legal ages) read better",
    "dates": "periods from fine to coarse: day, month, quarter, year, decade",
    "list": "a public list of this program; write a list of your own as type: tree, or as a CSV file",
    "mask": "keep: how many leading characters each level shows",
}


@dataclass(frozen=True)
class GuessedColumn:
    """A column, its role and, for a quasi-identifier, its hierarchy."""

    column: Column
    role: GuessedRole
    hierarchy: HierarchySpec | None


def guess_columns(table: Table) -> tuple[GuessedColumn, ...]:
    """Guess the role of every column, and the hierarchies of quasi-identifiers."""
    roles = guess_roles(table)
    columns = []
    for found in table.schema:
        guessed = roles[found.name]
        # Few whole numbers that are to be predicted are classes: 0 and 1 are yes and no.
        classes = guessed.target and found.kind is Kind.INTEGER
        column = replace(found, kind=Kind.CATEGORICAL) if classes else found
        is_quasi = guessed.role is Role.QUASI_IDENTIFIER
        hierarchy = guess_hierarchy(column, table.frame[column.name]) if is_quasi else None
        columns.append(GuessedColumn(column, guessed, hierarchy))
    return tuple(columns)


def named_as_read(table: Table, columns: Sequence[GuessedColumn]) -> list[str]:
    """Columns that constraints may name, with the kind they are read with.

    Undecided ones are among them: they may once they are decided.
    """
    return [
        guessed.column.name
        for guessed in columns
        if guessed.role.role not in (Role.IDENTIFIER, Role.EXCLUDED)
        and guessed.column.kind is table.schema[guessed.column.name].kind
    ]


def order_column(table: Table, columns: Sequence[GuessedColumn]) -> str | None:
    """Date or time that differs between the rows of a person.

    The first of those with fewest gaps; None without such a column.

    Parameters
    ----------
    table : Table
        With the persons of its rows, or those of the parent's rows in their place.
    columns : sequence of GuessedColumn
        Of the table.
    """
    dated = [one for one in columns if one.column.kind.is_temporal]
    dates = [one.column.name for one in dated if one.role.role.is_learned or one.role.is_event]
    fixed = constant_within(table, dates)
    gaps = {name: int(table.frame[name].isna().sum()) for name in dates if name not in fixed}
    return min(gaps, key=gaps.__getitem__, default=None)


def hierarchy_paths(columns: Sequence[GuessedColumn], folder: Path) -> dict[str, Path]:
    """Files in ``folder`` for the hierarchies of columns.

    Their names are safe on every system, and different even where only case differs.
    """
    paths: dict[str, Path] = {}
    taken: set[str] = set()
    for guessed in columns:
        if guessed.hierarchy is None:
            continue
        stem = re.sub(r"[^\w.-]+", "_", guessed.column.name).strip("._") or "column"
        number = 1
        while (name := stem if number == 1 else f"{stem}_{number}").lower() in taken:
            number += 1
        taken.add(name.lower())
        suffix = ".csv" if is_list(guessed.hierarchy) else ".yaml"
        paths[guessed.column.name] = folder / f"{name}{suffix}"
    return paths


def in_memory(spec: HierarchySpec, column: Column, values: pd.Series) -> HierarchySource:
    """A hierarchy as reading its file would give it."""
    return rows_of(build_hierarchy(spec, column, values)) if is_list(spec) else spec


def write_hierarchies(table: Table, columns: Sequence[GuessedColumn], paths: dict[str, Path]) -> None:
    """Write the hierarchies of columns to their files.

    With mode 0600, since a list has values of single people.
    """
    for guessed in columns:
        if guessed.hierarchy is not None:
            name = guessed.column.name
            text = starter_text(guessed.hierarchy, guessed.column, table.frame[name])
            write_text(paths[name], text, private=True)


def starter_text(spec: HierarchySpec, column: Column, values: pd.Series) -> str:
    """Text of the file of a guessed hierarchy.

    A list of values as CSV, else its description as YAML.
    """
    if is_list(spec):
        return text_of_rows(rows_of(build_hierarchy(spec, column, values)))
    return text_of_spec(spec, comment=f"review: {_ADVICE[spec.type]}")
