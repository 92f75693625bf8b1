"""Text of a guessed configuration, of one table or of linked ones, and its questions to who knows the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.base.sentence import sentence
from hybrid.base.yaml_document import flow
from hybrid.constraints.discover import Suggestion
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.pipeline.starter.column_names import has_phrase, vocabulary
from hybrid.pipeline.starter.columns import GuessedColumn
from hybrid.pipeline.starter.comments import remark, review, said
from hybrid.pipeline.starter.guessed_roles import MOST_CLASSES, repeats
from hybrid.publication.table_facts import few
from hybrid.synthesize.generators.cart import leaf_of_sampled
from hybrid.table import Kind, Role, Table
from hybrid.table.dependencies import functional_dependencies
from hybrid.table.read_options import ReadOptions


@dataclass(frozen=True)
class AskedTable:
    """A guessed table, to ask about."""

    table: Table
    columns: Sequence[GuessedColumn]
    file: Path | None = None
    """Its file; None without one."""
    prefix: str = ""
    """Before the names of its columns, such as ``visits.``."""


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
    determined = {
        determined
        for determining, determined in functional_dependencies(table, names, names)
        if _comes_first(determining, determined, names, table)
    }
    return [name for name in names if name not in determined]


def _comes_first(determining: str, determined: str, names: Sequence[str], table: Table) -> bool:
    equal = table.frame[determining].nunique(dropna=False) == table.frame[determined].nunique(dropna=False)
    return not equal or names.index(determining) < names.index(determined)


def possible_targets(table: Table, columns: Sequence[GuessedColumn], data: Path | None) -> list[str]:
    """Columns that might be predicted though their name does not say so.

    That is the one that is called as the file, and the first or the last one if it has few values; where neither has,
    the last one, of numbers that few others know. What another column tells (its square, a code of its categories) is
    computed, not predicted.
    """
    known = vocabulary()
    file = set() if data is None else set(known.split(data.stem))
    distinct = {one.column.name: table.frame[one.column.name].nunique() for one in columns}
    open_ = [
        one
        for one in columns
        if one.role.role in (Role.SENSITIVE, Role.INSENSITIVE)
        and not one.column.kind.type.has_date_format
        and not has_phrase(known.split(one.column.name), known.sampling_weights)
        and distinct[one.column.name] > 1
        and (one.column.kind is not Kind.CATEGORICAL or distinct[one.column.name] <= MOST_CLASSES)
    ]
    named = [one.column.name for one in open_ if set(known.split(one.column.name)) & file]
    learned = [one for one in columns if one.role.role.is_learned]
    ends = [one.column.name for one in open_ if one in (learned[0], learned[-1])]
    classes = [name for name in ends if distinct[name] <= MOST_CLASSES]
    last = [one.column.name for one in open_ if one is columns[-1]]
    possible = list(dict.fromkeys([*named, *(classes or last)]))
    told = {name for _, name in functional_dependencies(table, possible, [one.column.name for one in learned])}
    return [name for name in possible if name not in told]


NO_QUASI_IDENTIFIER = "no column looks like a quasi-identifier: without one nothing is anonymized"
UNLISTED = "a new column must be given a role before anything runs"
UNSIGNED = "nothing can be released until a person has decided the roles and signed: roles.decided_by"


def questions(tables: Sequence[AskedTable]) -> Iterator[str]:
    """Questions about guessed tables; no cell values."""

    def named(found: Callable[[AskedTable], Sequence[str]]) -> tuple[str, ...]:
        return tuple(f"{one.prefix}{column}" for one in tables for column in found(one))

    possible = named(lambda one: targets_of(one.columns)) or named(
        lambda one: possible_targets(one.table, one.columns, one.file)
    )
    perhaps = sentence("init.perhaps", columns=possible) if possible else "no column looks like it"
    yield sentence("init.predict", perhaps=perhaps)
    if secrets := named(lambda one: secrets_of(one.table, one.columns)):
        yield sentence("init.secrets", columns=secrets)
    else:
        yield "what do attackers want to learn? no column looks sensitive: give that role to those"
    if dates := named(lambda one: [column.column.name for column in one.columns if column.role.is_event]):
        yield sentence("init.dates", columns=dates)
    if echoes := named(lambda one: [column.column.name for column in one.columns if column.role.is_echo]):
        yield sentence("init.echoes", columns=echoes)


def undecided_note(names: Sequence[str]) -> Iterator[str]:
    """Note on columns whose role a person has to choose, where there are any."""
    if names:
        yield sentence("init.undecided", columns=tuple(names))


def household_notes(
    table: Table, columns: Sequence[GuessedColumn], person: str | None, section: str = "data"
) -> Iterator[str]:
    """Remarks on identifiers that repeat, and whose names have a word for those who live together.

    ``section``: where the option is.
    """
    known = vocabulary()
    for name in (one.column.name for one in columns if one.role.role is Role.IDENTIFIER):
        if known.households & set(known.split(name)) and name != person and repeats(table.frame[name]):
            yield sentence("init.household", column=name, key=f"{section}.household")


def refuse_existing(paths: Iterable[Path], force: bool) -> None:
    """Refuse to replace files."""
    exist = [] if force else [path for path in paths if path.exists()]
    if exist:
        *others, last = exist
        file = str(last)
        raise ConfigError(
            sentence("init.exist", file=file, n=len(others)) if others else sentence("init.exists", file=file),
            hint="edit it, choose another --out in a folder of its own, or replace all of them with --force",
        )


def head_lines(name: str) -> Iterator[str]:
    """First lines: next steps, version, name and seed."""
    yield remark("Guessed by `hybrid init`. Decide every line marked review, then run `hybrid check` on this file.")
    yield remark("`hybrid check --show` prints every option there is, with its default.")
    yield "version: 1"
    yield f"name: {flow(re.sub(r'[^A-Za-z0-9._-]+', '-', name).strip('-._') or 'run')}"
    yield remark("seed: 7                 makes every draw repeatable; leave it out for a real release")
    yield ""


def roles_lines() -> Iterator[str]:
    """The section ``roles``, for a person to sign."""
    yield remark("A release needs a person who has decided every role above (none may be undecided) and signs here;")
    yield remark("the certificate shows the name. Until then `hybrid run` works, for trying.")
    yield "# roles: {decided_by: NAME, date: YYYY-MM-DD}"


SUPPRESSION_LIMIT = 0.05
"""Share of records left out that is proposed."""
FEW = 25_000
"""Tables of fewer people are judged on folds, since a third of so few is too few to compare with, and nobody of them is
left out, since small groups would be missing."""
ALIKE, FEW_OF_ALIKE = 0.1, 100_000
"""Share of the people with the row of another one from which on so many are few: copies hide among rows that are equal
by nature, and more people are needed to see them."""


@dataclass(frozen=True)
class Extent:
    """Number of people that a table is about, and the share of them, 0 to 1, whose row another one has."""

    people: int
    alike: float = 0.0

    @property
    def is_small(self) -> bool:
        return self.people < (FEW_OF_ALIKE if self.alike >= ALIKE else FEW)


def labels_line(extent: Extent) -> str:
    """The line of the section ``anonymize`` that says what becomes of small classes."""
    if extent.is_small:
        how = remark("labels as fine as each record allows, and nobody is left out; or global")
        return f"recoding: local           {how}"
    return f"suppression_limit: {SUPPRESSION_LIMIT}   {review('share of records that may be left out to get there')}"


SIDES = {
    "records": (
        "records no generator sees; every attack is measured against them",
        "a record keeps its side from release to release",
    ),
    "persons": (
        "persons no generator sees; every attack is measured against them",
        "a person keeps its side from release to release",
    ),
}
"""Words for who is control, and for a stable split, by what is split."""


def split_lines(unit: str, extent: Extent) -> Iterator[str]:
    """The section ``split``; ``unit`` is what it splits: records, or persons."""
    apart, stable = SIDES[unit]
    yield ""
    yield "split:"
    if extent.is_small:
        crossed = remark("nobody is kept apart; 4 more tables, each without some people, are judged")
        yield f"  control: cross            {crossed}"
    else:
        yield f"  control: 0.3              {remark(apart)}"
    yield f"  stable: true              {remark(stable)}"


SHARE, SHARE_OF_FEW = 0.5, 0.35
"""Shares of the people who are sampled: of many, and of a small table (:class:`Extent`)."""


def drawing_lines(extent: Extent) -> Iterator[str]:
    """The sections ``sample`` and ``synthesize``.

    A generator shows who was in, unless chance decided it; its leaves are as large as those of all people would be.
    docs/evidence/foreign-tables.md has the figures.
    """
    share = SHARE_OF_FEW if extent.is_small else SHARE
    yield ""
    chance = remark("chance decides who is in; with 1, more of each is shown")
    yield f"sample: {{method: beta, beta: {share}}}   {chance}"
    yield ""
    leaf = leaf_of_sampled(extent.people)
    options = f"options: {{min_leaf: {leaf}}}"
    yield f"synthesize: {{generator: cart, rows: same, {options}}}   {remark('by all people, sampled or not')}"
    yield ""


def description_lines(columns: Sequence[GuessedColumn], descriptions: Mapping[str, str]) -> Iterator[str]:
    """Descriptions of columns in the section ``publish``: those of the source's file, or one to fill in."""
    yield "#   columns:"
    known = {one.column.name: descriptions[one.column.name] for one in columns if one.column.name in descriptions}
    yield from (f"#     {flow(name)}: {flow({'description': text})}" for name, text in known.items())
    if not known:
        yield f"#     {flow(columns[0].column.name)}: {{description: MEANING, unit: UNIT}}"


def policy_lines() -> Iterator[str]:
    """The key ``policy``."""
    yield f"policy: default             {review('`hybrid policies` lists the others')}"
    yield ""


def publish_lines() -> Iterator[str]:
    """The section ``publish``, for a person to fill in."""
    yield remark("For the readers of a release (README.md, croissant.json, datapackage.json, dcat.jsonld):")
    yield "# publish:"
    yield "#   title: TITLE"
    yield f"#   description: {said('What the table is about.')}"
    yield f"#   source: {said('Whom the real records are about, from where, and of which time.')}"
    yield f"#   uses: [{said('What the table is for.')}]"
    yield f"#   license: CC-BY-4.0      {remark('an SPDX identifier, or the address of the terms')}"
    yield "#   contact: {name: NAME, email: name@example.org}"


def constraint_lines(suggestions: Sequence[Suggestion]) -> Iterator[str]:
    """The section ``constraints``: what is sure, and the rest commented out."""
    sure, asked = ([one for one in suggestions if one.sure is wanted] for wanted in (True, False))
    if sure:
        yield "constraints:"
        yield f"  {review('places that lie in one another, and dates in their order; every released row keeps them')}"
        yield from (f"  - {_with_remark(one)}" for one in sure)
    if asked:
        yield review("no row of the file breaks these, or as few as said. Remove the # of those that every released")
        yield remark("row must keep, once their columns have a role:")
        if not sure:
            yield "# constraints:"
        yield from (f"#   - {_with_remark(one)}" for one in asked)


def _with_remark(suggestion: Suggestion) -> str:
    text = suggestion.constraint.text
    if suggestion.broken:
        return f"{text}   {remark(sentence('init.broken', n=few(suggestion.broken)))}"
    if isinstance(suggestion.constraint, Combinations):
        return f"{text}   {remark('combinations that few people have do not come out: see `hybrid check`')}"
    return text


def constraints_note(suggestions: Sequence[Suggestion]) -> Iterator[str]:
    """Note on the suggested constraints, where there are any."""
    sure, asked = ([one for one in suggestions if one.sure is wanted] for wanted in (True, False))
    yield from (sentence("init.belong", columns=tuple(one.constraint.columns)) for one in sure)
    if asked and (nearly := sum(one.broken > 0 for one in asked)):
        yield sentence("init.rules.nearly", n=len(asked), nearly=nearly)
    elif asked:
        yield sentence("init.rules", n=len(asked))


def reading_lines(options: ReadOptions, *, is_csv: bool) -> Iterator[str]:
    """Lines about the reading of a table, not indented."""
    if is_csv:
        yield f"separator: {flow(options.separator)}            # review"
        if options.decimal != ".":
            yield f"decimal: {flow(options.decimal)}              # review"
        if options.encoding != "utf-8":
            yield f"encoding: {options.encoding}          # review"
    if options.sheet is not None:
        yield f"sheet: {flow(options.sheet)}            {review('there are others')}"
    missing = review('texts that mean "missing"')
    yield f"missing: {flow(list(options.missing))}   {missing}"


def column_lines(columns: Sequence[GuessedColumn], hierarchies: dict[str, str]) -> Iterator[str]:
    """Two lines per column, not indented: reason to review; role and kind.

    ``hierarchies`` has the path of each hierarchy as the configuration writes it.
    """
    for guessed in columns:
        column = guessed.column
        what: dict[str, Any] = {"role": str(guessed.role.role), "kind": str(column.kind)}
        if column.kind.type.has_date_format and column.format.arrow_type is None:
            what["format"] = column.kind.type.read_format(column.format)
        if column.name in hierarchies:
            what["hierarchy"] = hierarchies[column.name]
        yield review(guessed.role.reason)
        yield f"{flow(column.name)}: {flow(what)}"
