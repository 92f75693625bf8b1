"""``README.md`` of a release, for people."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid.base.ownership import CERTIFICATE
from hybrid.publication.description.description import DescribedColumn, DescribedTable, Description, PartyOptions
from hybrid.publication.description.statement import Statement, accepted_words
from hybrid.publication.plain_markdown import code, plain
from hybrid.table import Kind


def readme(about: Description) -> str:
    """Markdown about a release: columns, what was done, limits, licence, contact, files."""
    return "\n".join(_lines(about)) + "\n"


def _lines(about: Description) -> Iterator[str]:
    yield from (f"# {plain(about.title)}", "", plain(about.text), "")
    if len(about.tables) == 1:
        (table,) = about.tables
        yield f"Release {about.release} of {about.date}: {table.rows:,} rows, {len(table.columns)} columns."
    else:
        yield f"Release {about.release} of {about.date}: {len(about.tables)} tables that are linked by their keys."
    statement = Statement.of(about)
    yield from _stated(about, statement)
    yield from _unmet(statement)
    for table in about.tables:
        alone = len(about.tables) == 1
        yield from _columns("Columns" if alone else f"Table {table.name}: {table.rows:,} rows", table)
    page = about.page
    yield from ("", "## What was done", "")
    done = (*page.table, *page.protection, *page.decided)
    yield from (f"- {plain(sentence)}" for sentence in done)
    yield from ("", "## Limits", "")
    yield from (f"- {plain(sentence)}" for sentence in about.limits)
    yield from ("", "## Licence and contact", "")
    yield from _terms(about)
    yield from ("", "## Files", "", "| file | content | bytes | SHA-256 |", "|---|---|---|---|")
    for file in (*(table.file for table in about.tables), *about.others):
        yield f"| {file.name} | {file.meaning} | {file.bytes:,} | `{file.sha256}` |"
    yield ""
    stated = "guarantee, its account" if about.private else "guarantees, the verdict"
    yield f"The {stated} and the SHA-256 of every file, this one included, are in {CERTIFICATE}."
    yield f"Made with {about.software}; `hybrid verify` checks the folder offline."


def _stated(about: Description, statement: Statement) -> Iterator[str]:
    """First screen: what the table is, how and from what it was made, and what it is for."""
    yield from ("", "## What this is", "")
    marks = {
        "Differential privacy": about.page.promise,
        f"Made on {statement.made_on}": statement.made,
        "Real records behind it": (statement.source,),
        "For": statement.uses,
        "Limits of use": statement.limits_of_use,
        "Verdict" if not about.private else "Decision": (statement.decision,),
    }
    for mark, sentences in marks.items():
        if sentences:
            yield f"- **{mark}**: {plain(' '.join(sentences))}"


def _unmet(statement: Statement) -> Iterator[str]:
    if statement.rules:
        yield from ("", "## Rules that are not met", "")
        yield from (f"- **{plain(one['rule'])}** ({one['status']}): {plain(one['found'])}" for one in statement.rules)
    if statement.accepted:
        yield from ("", "## Who accepted the table all the same", "")
        yield from (f"- {plain(accepted_words(one))}" for one in statement.accepted)


def _columns(title: str, table: DescribedTable) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from ("| column | type | meaning | missing values |", "|---|---|---|---|")
    yield from (_row(table, column) for column in table.columns)
    csv = f"CSV: columns separated by `{table.separator}`, encoding {table.encoding}"
    form = csv if table.is_csv else table.form
    yield from ("", f"The file is {form}.")
    links = [f"{code(column)} is a key of {other}" for column, other in table.references.items()]
    if links:
        yield from ("", f"{'; '.join(links)}.")


def _row(table: DescribedTable, column: DescribedColumn) -> str:
    kind = column.words
    if table.is_csv and column.kind.type.has_date_format:
        kind += f", written {column.date_format}"
    if table.has_own_words and column.kind is Kind.BOOLEAN:
        kind += f", written {column.true} and {column.false}"
    missing = code(column.missing) if column.missing else "empty"
    cells = map(plain, (column.name, kind, column.description or "not stated"))
    return f"| {' | '.join((*cells, missing if table.has_own_words else 'null'))} |"


def _terms(about: Description) -> Iterator[str]:
    stated, url = about.said.license, about.license_url
    if stated is None:
        yield "- Licence: not stated. Ask the publisher before you use or pass on the table."
    else:
        yield f"- Licence: {plain(stated)}" + ("" if url in (None, stated) else f" ({url})")
    yield f"- Publisher: {_party(about.said.publisher)}"
    yield f"- Contact: {_party(about.said.contact)}"


def _party(party: PartyOptions | None) -> str:
    if party is None:
        return "not stated."
    return ", ".join(plain(text) for text in (party.name, party.email, party.url) if text is not None)
