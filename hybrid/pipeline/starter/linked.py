"""From several tables to a guessed configuration of linked tables, and its files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.base.sentence import sentence
from hybrid.base.yaml_document import flow
from hybrid.constraints.discover import MOST_COLUMNS, Suggestion, discover
from hybrid.constraints.kinds.order import Le
from hybrid.hierarchy.load import HierarchySource
from hybrid.pipeline.starter.columns import (
    GuessedColumn,
    guess_columns,
    guess_hierarchy,
    hierarchy_paths,
    in_memory,
    named_as_read,
    order_column,
)
from hybrid.pipeline.starter.comments import remark, review
from hybrid.pipeline.starter.config_text import (
    NO_QUASI_IDENTIFIER,
    UNLISTED,
    UNSIGNED,
    AskedTable,
    Extent,
    column_lines,
    constraint_lines,
    constraints_note,
    drawing_lines,
    head_lines,
    household_notes,
    policy_lines,
    publish_lines,
    questions,
    reading_lines,
    roles_lines,
    split_lines,
    undecided_note,
)
from hybrid.pipeline.starter.guessed_roles import GuessedRole, further, role_by_name
from hybrid.pipeline.starter.reading import FoundTable, Place
from hybrid.pipeline.starter.references import Reference, ReferenceTree, find_key, find_references, find_tree
from hybrid.pipeline.starter.suggested_constraints import constraints_across, implied_orders, person_rows, with_sure
from hybrid.pipeline.starter.write import Guess, anonymize_lines
from hybrid.table import Kind, Role, Schema, Table
from hybrid.table.dependencies import unique_share
from hybrid.table.file_formats import is_csv
from hybrid.table.persons import with_persons


@dataclass(frozen=True)
class GuessedTable:
    """A table with persons, and its part of the configuration. Private."""

    name: str
    found: FoundTable
    key: str | None
    """None where no column is one."""
    parent: Reference | None
    """None for the person table."""
    lookups: dict[str, str]
    """Columns that refer to a public table, and that table."""
    columns: tuple[GuessedColumn, ...]
    """All but the key and the column that refers to the parent."""
    order: str | None
    """Date or time that orders the rows of one parent."""
    constraints: tuple[Suggestion, ...]
    """Constraints that no row breaks, or few, for review; also with columns of the person table."""

    def named(self, role: Role) -> list[str]:
        return [guessed.column.name for guessed in self.columns if guessed.role.role is role]


@dataclass(frozen=True)
class GuessedLinks(Guess):
    """A configuration of linked tables."""

    place: Place
    tree: ReferenceTree
    tables: tuple[GuessedTable, ...]
    """Tables with persons, parents before children."""
    keys: dict[str, str]
    """Keys of the public tables."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for review; no cell values."""
        person = self.tables[0]
        rows = len(person.found.table)
        notes: list[str] = [sentence("init.person_table", table=person.name, n=rows)]
        about = ((one.name, one.parent) for one in self.tables if one.parent is not None)
        notes += [sentence("of_table", table=name, found=reference_words(parent)) for name, parent in about]
        for one in self.tree.others:
            if one.parent in self.tree.public and one.unknown:
                refers = sentence("reference", column=one.column, key=f"{one.parent}.{one.key}")
                notes.append(sentence("init.unknown_keys", table=one.table, refers=refers, n=one.unknown))
        for name in self.tree.public:
            notes.append(sentence("init.public", table=name, n=len(self.place.tables[name].table)))
        notes += [sentence("init.left_out", table=name, person=person.name) for name in self.tree.left_out]
        known = person.named(Role.QUASI_IDENTIFIER)
        if known:
            share = f"{100 * unique_share(person.found.table, known):.1f}"
            notes.append(sentence("init.alone.table", n=share, table=person.name, columns=tuple(known)))
        if not any(one.named(Role.QUASI_IDENTIFIER) for one in self.tables):
            notes.append(NO_QUASI_IDENTIFIER)
        notes += household_notes(person.found.table, person.columns, person.key, f"tables.{person.name}")
        notes += questions([AskedTable(one.found.table, one.columns, None, f"{one.name}.") for one in self.tables])
        notes += undecided_note([f"{one.name}.{name}" for one in self.tables for name in one.named(Role.UNDECIDED)])
        wide = [one.name for one in self.tables if len(named_as_read(one.found.table, one.columns)) > MOST_COLUMNS]
        if wide:
            notes.append(sentence("init.no_constraints.in", tables=tuple(wide), n=MOST_COLUMNS))
        notes += constraints_note([constraint for one in self.tables for constraint in one.constraints])
        notes.append(UNSIGNED)
        return tuple(notes)

    @property
    def described(self) -> dict[str, HierarchySource]:
        """Hierarchies in memory, by the relative paths that the configuration names."""
        return {
            paths[column.column.name].as_posix(): in_memory(
                column.hierarchy, table.schema[column.column.name], table.frame[column.column.name]
            )
            for table, columns, paths in self._tables(Path())
            for column in columns
            if column.hierarchy is not None
        }

    def _tables(self, folder: Path) -> Iterator[tuple[Table, Sequence[GuessedColumn], dict[str, Path]]]:
        for one in self.tables:
            yield one.found.table, one.columns, _paths(one, folder)

    def _lines(self, folder: Path) -> Iterator[str]:
        yield from head_lines(self.place.name)
        yield review("each row of this table is one person; k, control and attacks count them")
        yield f"person: {self.tree.person}"
        yield ""
        yield "tables:"
        for one in self.tables:
            yield f"  {one.name}:"
            yield from (f"    {line}" for line in _table_lines(one, folder))
        for name in self.tree.public:
            yield f"  {name}:"
            yield from (f"    {line}" for line in _public_lines(self, name, folder))
        for name in self.tree.left_out:
            yield f"  {review(sentence('init.left_out', table=name, person=self.tree.person))}"
        yield ""
        yield from roles_lines()
        extent = Extent(len(self.tables[0].found.table))
        yield from split_lines("persons", extent)
        if any(one.named(Role.QUASI_IDENTIFIER) for one in self.tables):
            yield ""
            yield from anonymize_lines(extent)
        yield from drawing_lines(extent)
        yield from policy_lines()
        yield from publish_lines()


def guess_links(place: Place) -> GuessedLinks:
    """Guess keys, references and roles of tables that belong together.

    Nothing is written.
    """
    tables = {name: found.table for name, found in place.tables.items()}
    references = find_references(tables, place.declared)
    tree = find_tree(tables, references)
    person, *others = (_guess_table(name, place, tree, references) for name in tree.private)
    people = _nameable(person)
    others = [_with_persons(one, people, person.name, tables, tree) for one in others]
    between = [one.constraint.le for table in others for one in table.constraints if isinstance(one.constraint, Le)]
    implied = tuple(implied_orders(people, person.name, between, person.constraints))
    guessed = (replace(person, constraints=(*person.constraints, *implied)), *others)
    keys = {one.parent: one.key for one in references if one.parent in tree.public}
    return GuessedLinks(place, tree, guessed, keys)


def reference_words(one: Reference) -> str:
    """Sentence about a reference, for review; no cell values."""
    if one.through is not None:
        pairs = one.through
        chosen = sentence("reference.owner", value=pairs.prefer) if pairs.prefer else "the first one owns it"
        shared = sentence("reference.several", n=pairs.shared, pairs=pairs.table, chosen=chosen)
        return further(sentence("reference.through", parent=one.parent, pairs=pairs.table), shared)
    found = "declared by the database" if one.declared else "names are alike" if one.likeness else "values are alike"
    return further(
        sentence("reference", column=one.column, key=f"{one.parent}.{one.key}"),
        found,
        sentence("reference.unknown", n=one.unknown) if one.unknown else "",
        sentence("reference.missing", n=one.missing) if one.missing else "",
        sentence("reference.most", n=one.most),
        sentence("reference.childless", n=one.childless, parent=one.parent) if one.childless else "",
    )


def _guess_table(name: str, place: Place, tree: ReferenceTree, references: Sequence[Reference]) -> GuessedTable:
    found, parent = place.tables[name], tree.parents.get(name)
    key = find_key(name, found.table, references, place.declared)
    if (
        parent is not None
        and not parent.through
        and key == parent.column
        and not any(one.parent == name for one in tree.parents.values())
    ):
        key = None
    links = {key} if parent is None else {key, parent.column}
    lookups, further = tree.lookups(name), {one.column: one for one in tree.further_references(name)}
    columns = []
    table = _with_categories(found.table, lookups)
    for guessed in guess_columns(table):
        own = guessed.column.name
        if own in links:
            continue
        if own in further:
            columns.append(_further_reference(guessed, further[own], owner=(name, own) in _owner_columns(tree)))
            continue
        known = _lookup(guessed, table.frame[own], lookups[own]) if own in lookups else guessed
        columns.append(known if parent is None else _of_event(known))
    owned = table if parent is None else with_persons(table, [parent.column])
    order = None if parent is None else order_column(owned, columns)
    return GuessedTable(
        name, replace(found, table=table), key, parent, lookups, tuple(columns), order, _constraints(owned, columns)
    )


def _with_categories(table: Table, names: Iterable[str]) -> Table:
    frame, wanted = table.frame.copy(), set(names)
    for name in wanted:
        frame[name] = frame[name].map(str, na_action="ignore").astype("category")
    columns = (replace(one, kind=Kind.CATEGORICAL) if one.name in wanted else one for one in table.schema)
    return Table(frame, Schema(tuple(columns)))


def _lookup(guessed: GuessedColumn, values: pd.Series, table: str) -> GuessedColumn:
    """A column that refers to a public table: its name alone says what it is, since its values are public."""
    column = replace(guessed.column, kind=Kind.CATEGORICAL)
    reason = further(sentence("role.lookup", table=table), "if outsiders know it: quasi_identifier")
    usual = GuessedRole(Role.INSENSITIVE, False, reason)
    role = role_by_name(column, int(values.nunique())) or usual
    hierarchy = guess_hierarchy(column, values) if role.role is Role.QUASI_IDENTIFIER else None
    return GuessedColumn(column, role, hierarchy)


def _of_event(guessed: GuessedColumn) -> GuessedColumn:
    """A column below the person table, which is generalized only if a person decides so."""
    if guessed.role.role is not Role.QUASI_IDENTIFIER and not guessed.role.is_event:
        return guessed
    reason = further(guessed.role.reason, "quasi_identifier generalizes it, insensitive lets the attacks judge it")
    return GuessedColumn(guessed.column, GuessedRole(Role.INSENSITIVE, False, reason), None)


def _owner_columns(tree: ReferenceTree) -> set[tuple[str, str]]:
    return {(one.through.table, one.through.owner) for one in tree.parents.values() if one.through is not None}


def _further_reference(guessed: GuessedColumn, to: Reference, *, owner: bool) -> GuessedColumn:
    leads = (
        "the release holds one owner of each row, and others at random"
        if owner
        else "the release holds fresh numbers that lead nowhere"
    )
    reason = further(sentence("role.refers", key=f"{to.parent}.{to.key}"), leads)
    return GuessedColumn(guessed.column, GuessedRole(Role.IDENTIFIER, False, reason), None)


def _nameable(guessed: GuessedTable) -> Table:
    table = guessed.found.table
    names = named_as_read(table, guessed.columns)
    return table.only(names if len(names) <= MOST_COLUMNS else [])


def _with_persons(
    guessed: GuessedTable, people: Table, person: str, tables: Mapping[str, Table], tree: ReferenceTree
) -> GuessedTable:
    rows = person_rows(guessed.name, tables, tree.parents)
    found = constraints_across(_nameable(guessed), person, people, rows)
    pairs = [set(one.constraint.columns) for one in guessed.constraints if one.constraint.key == "combinations"]
    new, told = [], set[str]()
    for one in found:
        own = [name for name in one.constraint.columns if not name.startswith(f"{person}.")]
        if one.constraint.key == "combinations":
            # A code and its text rule out the same, and so do a title and a sex: one of them says it.
            if told.intersection(own) or any({*own, other} in pairs for other in told):
                continue
            told.update(own)
        new.append(one)
    return replace(guessed, constraints=(*guessed.constraints, *new))


def _constraints(table: Table, columns: Sequence[GuessedColumn]) -> tuple[Suggestion, ...]:
    return tuple(with_sure(table, columns, discover(table.only(named_as_read(table, columns)))))


def _paths(one: GuessedTable, folder: Path) -> dict[str, Path]:
    return hierarchy_paths(one.columns, folder / "hierarchies" / one.name)


def _table_lines(one: GuessedTable, folder: Path) -> Iterator[str]:
    yield from _source_lines(one.found, folder)
    if one.key is not None:
        yield f"key: {flow(one.key)}   {review('different in every row, never missing')}"
    if one.parent is not None:
        yield review(reference_words(one.parent))
        if not one.parent.whole:
            yield remark("Rows without a parent are refused; orphans: drop leaves them out.")
        parent: dict[str, Any] = {"table": one.parent.parent, "column": one.parent.column}
        if (pairs := one.parent.through) is not None:
            through = {"table": pairs.table, "column": pairs.column, "owner": pairs.owner}
            parent["through"] = through | ({} if pairs.prefer is None else {"prefer": pairs.prefer})
        yield f"parent: {flow(parent)}"
    if one.order is not None:
        yield f"order: {flow(one.order)}   {review('the rows of one parent are ordered by it')}"
    if one.lookups:
        yield f"references: {flow(one.lookups)}   {review('columns with keys of public tables')}"
    yield f"unlisted: error   {remark(UNLISTED)}"
    if one.columns:
        yield "columns:"
        written = {name: path.relative_to(folder).as_posix() for name, path in _paths(one, folder).items()}
        yield from (f"  {line}" for line in column_lines(one.columns, written))
    yield from constraint_lines(one.constraints)


def _public_lines(guessed: GuessedLinks, name: str, folder: Path) -> Iterator[str]:
    found = guessed.place.tables[name]
    yield review(sentence("init.public.why", n=len(found.table)))
    yield remark("If it is not public, remove it here and under references.")
    yield from _source_lines(found, folder)
    yield f"key: {flow(guessed.keys[name])}"
    yield "public: true"


def _source_lines(found: FoundTable, folder: Path) -> Iterator[str]:
    if isinstance(found.place, Path):
        yield f"path: {flow(os.path.relpath(found.place, folder))}"
        yield from reading_lines(found.options, is_csv=is_csv(found.place.name))
    else:
        yield f"sql: {flow(found.place.model_dump(exclude_none=True))}"
        yield from reading_lines(found.options, is_csv=False)
