"""From a data file or a DataFrame to a guessed configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hybrid.base.sentence import sentence
from hybrid.constraints.discover import MOST_COLUMNS, discover
from hybrid.pipeline.starter.columns import guess_columns, named_as_read
from hybrid.pipeline.starter.config_text import (
    NO_QUASI_IDENTIFIER,
    UNSIGNED,
    AskedTable,
    constraints_note,
    household_notes,
    questions,
    undecided_note,
)
from hybrid.pipeline.starter.guessed_roles import GuessedRole, person_key, repeats
from hybrid.pipeline.starter.person_numbers import people_again, rows_are_numbered, second_people
from hybrid.pipeline.starter.reading import guess_frame_reading, guess_reading
from hybrid.pipeline.starter.suggested_constraints import with_sure
from hybrid.pipeline.starter.write import GuessedConfig, guess_rules
from hybrid.table import Role, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.dependencies import unique_share
from hybrid.table.file_formats import READ_ONLY_SUFFIXES, STATISTICS_SUFFIXES
from hybrid.table.files import File
from hybrid.table.kinds.moments import ambiguous_dates
from hybrid.table.persons import with_persons
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ALL_ACCEPTED
from hybrid.table.statistics_files import Codebook, read_codebook
from hybrid.table.text import as_text
from hybrid.table.typed_table import Frame, read_frame

MANY_COMBINATIONS = 8
"""Quasi-identifiers beyond which somebody should think again."""


def guess_config(path: Path, sheet: str | None = None) -> GuessedConfig:
    """Guess a configuration from a table: the reading of the file, roles, kinds and hierarchies of the columns.

    ``sheet`` is that of a workbook; the first if not given. Nothing is written; :attr:`GuessedConfig.notes` says what
    to think about first.
    """
    options = guess_reading(path, sheet)
    guessed = _guessed(path, options, read_table(path, options.model_copy(update={"accept": ALL_ACCEPTED})))
    suffix = path.suffix.lower()
    if suffix not in STATISTICS_SUFFIXES:
        return guessed
    book = read_codebook(File.local(path), options.encoding)
    notes = [sentence("init.labelled", column=name) for name in _labelled_numbers(guessed.table, book)]
    if suffix in READ_ONLY_SUFFIXES:
        notes.append(sentence("init.read_only", suffix=suffix))
    return replace(guessed, descriptions=book.descriptions, notes=(*guessed.notes, *notes))


def _labelled_numbers(table: Table, book: Codebook) -> list[str]:
    numbers = [one.name for one in table.schema if one.kind.is_number]
    return [name for name in numbers if table.frame[name].isin(list(book.labels.get(name, ()))).any()]


def guess_frame(frame: Frame) -> GuessedConfig:
    """Guess a configuration from a table in memory; as :func:`guess_config`.

    The table is in no file, so each run is given it again.
    """
    options = guess_frame_reading(frame)
    return _guessed(None, options, read_frame(frame, options))


def _repeating(table: Table, roles: dict[str, GuessedRole]) -> Sequence[str]:
    """Identifiers that repeat, or else traits that recur together."""
    own = [name for name, guessed in roles.items() if guessed.role is Role.IDENTIFIER]
    if rows_are_numbered(table, own):
        return ()
    shared = [name for name in own if repeats(table.frame[name]) and table.frame[name].nunique() > 1]
    return shared or people_again(table)


def _guessed(path: Path | None, options: DataOptions, table: Table) -> GuessedConfig:
    columns = guess_columns(table)
    roles = {guessed.column.name: guessed.role for guessed in columns}
    names = [name for name, guessed in roles.items() if guessed.role is Role.QUASI_IDENTIFIER]
    person = person_key(table, roles)
    people = with_persons(table, [] if person is None else [person])
    notes: list[str] = [sentence("init.size", rows=len(table), columns=len(table.schema), quasi=len(names))]
    if names:
        share = f"{100 * unique_share(people, names):.1f}"
        notes.append(sentence("init.alone", n=share, columns=tuple(names)))
    else:
        notes.append(NO_QUASI_IDENTIFIER)
    if len(names) > MANY_COMBINATIONS:
        notes.append(sentence("init.many", n=len(names)))
    undecided = [name for name, guessed in roles.items() if guessed.role is Role.UNDECIDED and not guessed.is_event]
    notes += undecided_note(undecided)
    if person is not None:
        most = int(table.frame[person].value_counts().max())
        notes.append(sentence("init.repeats", column=person, n=most))
        if second := second_people(table, person):
            notes.append(sentence("init.second", columns=tuple(second)))
    elif shared := _repeating(table, roles):
        notes.append(sentence("init.whose", columns=tuple(shared), n=len(shared)))
    notes += household_notes(table, columns, person)
    notes += questions([AskedTable(table, columns, path)])
    rules = guess_rules(with_persons(table, [] if person is None else [person]), columns)
    against = {one.model["attribute"]: one.against for one in rules if one.against}
    notes += [sentence("init.no_rule", column=name, reason=reason) for name, reason in against.items()]
    notes.append(UNSIGNED)
    for column in table.schema:
        if column.kind.is_temporal and column.format.arrow_type is None:
            texts = as_text(table.frame[column.name].dropna().drop_duplicates(), column).str.strip()
            if len(texts) and ambiguous_dates(list(texts), column.format.date_format):
                notes.append(sentence("init.swapped", column=column.name))
    named = named_as_read(table, columns)
    constraints = with_sure(table, columns, discover(people.only(named)))
    if len(named) > MOST_COLUMNS:
        notes.append(sentence("init.no_constraints", n=MOST_COLUMNS))
    notes += constraints_note(constraints)
    return GuessedConfig(path, options, table, columns, tuple(notes), person, tuple(constraints), rules)
