"""Guessed columns of a table: roles, kinds and a starter hierarchy for every quasi-identifier."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.base.atomic import write_text
from hybrid.base.sentence import sentence
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.files import rows_of, text_of_rows, text_of_spec
from hybrid.hierarchy.from_data import by_frequency, equal_width, prefixes, usual_periods
from hybrid.hierarchy.levels import distinct_values, texts_of
from hybrid.hierarchy.load import HierarchySource
from hybrid.hierarchy.public_lists import list_of
from hybrid.hierarchy.spec import PERIODS, GroupsSpec, HierarchySpec
from hybrid.pipeline.starter.comments import said
from hybrid.pipeline.starter.guessed_roles import GuessedRole, guess_roles
from hybrid.pipeline.starter.reading import is_place_code
from hybrid.table import Column, Kind, Role, Table
from hybrid.table.codings import numbers_of
from hybrid.table.persons import constant_within

_CODE = re.compile(r"[A-Z]?[0-9][0-9A-Z.-]*\Z")
_LONGEST_CODE = 12
_FEW = 3
_LEAST_STEPS = 50
"""Rows at least that follow another one of their person, so that a number that rises in all of them orders them."""


def guess_hierarchy(column: Column, values: pd.Series) -> HierarchySpec:
    """Hierarchy to start from: intervals, calendar periods, a public list, masks of codes, or frequent categories.

    There are at least two different values.
    """
    usual = column.kind.type.hierarchies[0]
    if usual == "intervals":
        return equal_width(values)
    if usual == "dates":
        return usual_periods(column, values)
    texts = texts_of(distinct_values(values, column), column)
    known = list_of(column.name, texts) if column.kind is Kind.CATEGORICAL else None
    if known is not None:
        return known
    codes = all(_CODE.match(text) and len(text) <= _LONGEST_CODE for text in texts)
    if column.kind is Kind.CATEGORICAL and len(texts) > _FEW and (codes or is_place_code(column.name)):
        return prefixes(column, values)
    if len(texts) <= _FEW:
        return GroupsSpec(levels=({text: (text,) for text in texts},))
    kept = tuple(n for n in (8, 3) if n < len(texts))
    return by_frequency(column, values, kept or (1,))


def is_list(spec: HierarchySpec) -> bool:
    """True for a hierarchy written as a list of values: a CSV file, for a person to regroup."""
    return isinstance(spec, GroupsSpec)


_ADVICE = {
    "intervals": "widths are guessed from the data; labels that people know (10-year groups, legal ages) read better",
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
        # Few whole numbers that are to be predicted are classes: 0 and 1, or 0.0 and 1.0, are yes and no.
        classes = guessed.target and found.kind.is_number and _all_whole(table.frame[found.name])
        column = replace(found, kind=Kind.CATEGORICAL) if classes else found
        is_quasi = guessed.role is Role.QUASI_IDENTIFIER
        hierarchy = guess_hierarchy(column, table.frame[column.name]) if is_quasi else None
        columns.append(GuessedColumn(column, guessed, hierarchy))
    return tuple(columns)


def _all_whole(values: pd.Series) -> bool:
    numbers = numbers_of(values.dropna())
    return bool((numbers == np.round(numbers)).all())


def named_as_read(table: Table, columns: Sequence[GuessedColumn]) -> list[str]:
    """Columns that constraints may name, with the kind they are read with.

    Undecided ones are among them: constraints may name them once they are decided.
    """
    return [
        guessed.column.name
        for guessed in columns
        if guessed.role.role not in (Role.IDENTIFIER, Role.EXCLUDED)
        and guessed.column.kind is table.schema[guessed.column.name].kind
    ]


def order_column(table: Table, columns: Sequence[GuessedColumn]) -> str | None:
    """Date or time that differs between the rows of a person, or else a whole number that rises from row to row.

    None without such a column. The first of those with fewest gaps: a date, a year, the number of a wave.

    The table has the persons of its rows, or those of the parent's rows in their place.
    """
    dated = [one for one in columns if one.column.kind.is_temporal]
    dates = [one.column.name for one in dated if one.role.role.is_learned or one.role.is_event]
    fixed = constant_within(table, dates)
    gaps = {name: int(table.frame[name].isna().sum()) for name in dates if name not in fixed}
    if gaps:
        return min(gaps, key=gaps.__getitem__)
    numbers = [one.column.name for one in columns if one.column.kind is Kind.INTEGER and one.role.role.is_learned]
    return _rising(table, numbers)


def _rising(table: Table, names: Sequence[str]) -> str | None:
    """The first number that is larger in each row of a person than in the row before."""
    order = np.argsort(table.persons, kind="stable")
    persons = table.persons[order]
    follows = (persons[1:] == persons[:-1]) & (persons[1:] >= 0)
    if np.count_nonzero(follows) < _LEAST_STEPS:
        return None
    rising = (name for name in names if (np.diff(numbers_of(table.frame[name])[order])[follows] > 0).all())
    return next(rising, None)


def hierarchy_paths(columns: Sequence[GuessedColumn], folder: Path) -> dict[str, Path]:
    """Files in ``folder`` for the hierarchies of columns.

    Their names are safe on every system, and different even where only case differs.
    """
    paths: dict[str, Path] = {}
    taken: set[str] = set()
    for guessed in columns:
        if guessed.hierarchy is not None:
            name = guessed.column.name
            paths[name] = hierarchy_path(name, guessed.hierarchy, folder, lambda path: path.stem.lower() in taken)
            taken.add(paths[name].stem.lower())
    return paths


def hierarchy_path(name: str, spec: HierarchySpec, folder: Path, is_taken: Callable[[Path], bool]) -> Path:
    """File in ``folder`` for the hierarchy of a column, whose name no other has."""
    stem = re.sub(r"[^\w.-]+", "_", name).strip("._") or "column"
    return free_path(folder / f"{stem}{'.csv' if is_list(spec) else '.yaml'}", is_taken)


def free_path(wanted: Path, is_taken: Callable[[Path], bool]) -> Path:
    """The path, with a number where it is taken."""
    path, number = wanted, 2
    while is_taken(path):
        path, number = wanted.with_stem(f"{wanted.stem}_{number}"), number + 1
    return path


def in_memory(spec: HierarchySpec, column: Column, values: pd.Series) -> HierarchySource:
    """A hierarchy as reading its file would give it."""
    return rows_of(build_hierarchy(spec, column, values)) if is_list(spec) else spec


def write_hierarchies(table: Table, columns: Sequence[GuessedColumn], paths: dict[str, Path]) -> None:
    """Write the hierarchies of columns to their files, with mode 0600: a list has values of single people."""
    for guessed in columns:
        if guessed.hierarchy is not None:
            name = guessed.column.name
            text = starter_text(guessed.hierarchy, guessed.column, table.frame[name])
            write_text(paths[name], text, private=True)


def starter_text(spec: HierarchySpec, column: Column, values: pd.Series) -> str:
    """Text of the file of a guessed hierarchy: a list of values as CSV, else its description as YAML."""
    if is_list(spec):
        return text_of_rows(rows_of(build_hierarchy(spec, column, values)))
    dates = spec.type == "dates"
    advice = sentence("init.periods", periods=", ".join(PERIODS)) if dates else _ADVICE[spec.type]
    return text_of_spec(spec, comment=f"review: {said(advice)}")
