"""``README.md`` of a release, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybrid.base.ownership import CERTIFICATE
from hybrid.publication.certificate import Acceptance
from hybrid.publication.description.description import DescribedColumn, DescribedTable, Description, PartyOptions, unfit
from hybrid.table import Kind


def readme(about: Description) -> str:
    """Markdown about a release: columns, what was done, limits, licence, contact, files."""
    return "\n".join(_lines(about)) + "\n"


def _lines(about: Description) -> Iterator[str]:
    yield from (f"# {_plain(about.title)}", "", _plain(about.text), "")
    if len(about.tables) == 1:
        (table,) = about.tables
        yield f"Release {about.release} of {about.date}: {table.rows:,} rows, {len(table.columns)} columns."
        yield from _columns("Columns", table)
    else:
        yield f"Release {about.release} of {about.date}: {len(about.tables)} tables that are linked by their keys."
        for table in about.tables:
            yield from _columns(f"Table {table.name}: {table.rows:,} rows", table)
    page = about.page
    yield from ("", "## What was done", "")
    done = (*page.promise, *page.table, *page.protection, *page.decided)
    yield from (f"- {_plain(sentence)}" for sentence in done)
    yield from ("", "## Limits", "", _plain(page.answer), "")
    yield from (f"- {_plain(sentence)}" for sentence in (*unfit(about.unmet), *about.limits))
    yield from _unmet(about)
    yield from ("", "## Licence and contact", "")
    yield from _terms(about)
    yield from ("", "## Files", "", "| file | content | bytes | SHA-256 |", "|---|---|---|---|")
    for file in (*(table.file for table in about.tables), *about.others):
        yield f"| {file.name} | {file.meaning} | {file.bytes:,} | `{file.sha256}` |"
    yield ""
    stated = "guarantee, its account" if about.private else "guarantees, the verdict"
    yield f"The {stated} and the SHA-256 of every file, this one included, are in {CERTIFICATE}."
    yield f"Made with {about.software}; `hybrid verify` checks the folder offline."


def _unmet(about: Description) -> Iterator[str]:
    if about.unmet:
        yield from ("", "## Rules that are not met", "")
        yield from (f"- **{_plain(check.rule)}** ({check.status}): {_plain(check.message)}" for check in about.unmet)
    if about.acceptances:
        yield from ("", "## Who accepted the table all the same", "")
        yield from (_accepted(acceptance) for acceptance in about.acceptances)


def _accepted(acceptance: Acceptance) -> str:
    day = f" on {acceptance.at[:10]}" if acceptance.at else ""
    proof = f" ({acceptance.proof})" if acceptance.proof else ""
    return f"- {_plain(f'{acceptance.by}{day}{proof}')}. Reason: {_plain(acceptance.reason)}"


def _columns(title: str, table: DescribedTable) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from ("| column | type | meaning | missing values |", "|---|---|---|---|")
    yield from (_row(table, column) for column in table.columns)
    csv = f"CSV: columns separated by `{table.separator}`, encoding {table.encoding}"
    form = csv if table.is_csv else table.form
    yield from ("", f"The file is {form}.")
    links = [f"`{_plain(column)}` is a key of {other}" for column, other in table.references.items()]
    if links:
        yield from ("", f"{'; '.join(links)}.")


def _row(table: DescribedTable, column: DescribedColumn) -> str:
    kind = column.words
    if table.is_csv and column.kind.type.has_date_format:
        kind += f", written {column.date_format}"
    if table.has_own_words and column.kind is Kind.BOOLEAN:
        kind += f", written {column.true} and {column.false}"
    missing = f"`{column.missing}`" if column.missing else "empty"
    cells = (column.name, kind, column.description or "not stated", missing if table.has_own_words else "null")
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _terms(about: Description) -> Iterator[str]:
    stated, url = about.said.license, about.license_url
    if stated is None:
        yield "- Licence: not stated. Ask the publisher before you use or pass on the table."
    else:
        yield f"- Licence: {_plain(stated)}" + ("" if url in (None, stated) else f" ({url})")
    yield f"- Publisher: {_party(about.said.publisher)}"
    yield f"- Contact: {_party(about.said.contact)}"


def _party(party: PartyOptions | None) -> str:
    if party is None:
        return "not stated."
    return ", ".join(_plain(text) for text in (party.name, party.email, party.url) if text is not None)


def _plain(text: str) -> str:
    return re.sub(r"([\\|<>\[\]])", r"\\\1", " ".join(text.split()))
