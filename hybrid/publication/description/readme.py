"""``README.md`` of a release, for people."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid.base.language import ENGLISH, Language, in_language
from hybrid.base.ownership import CERTIFICATE
from hybrid.base.sentence import sentence, sentences
from hybrid.publication.description.description import DescribedColumn, DescribedTable, Description, PartyOptions
from hybrid.publication.description.statement import Statement, accepted_words
from hybrid.publication.plain_markdown import code, plain
from hybrid.table import Kind


def readme(about: Description, language: Language = ENGLISH) -> str:
    """Markdown about a release: columns, what was done, limits, licence, contact, files.

    In a ``language`` as a whole; in English, and says so, where its catalogue lacks a sentence.
    """

    def draw(chosen: Language, note: str) -> str:
        return "\n".join((*_Page(about, chosen).lines(note),)) + "\n"

    return in_language(language, draw)


class _Page:
    def __init__(self, about: Description, language: Language) -> None:
        self.about, self.language = about, language
        self.say, self.own = language.say, language.own

    def said(self, text: str) -> str:
        return plain(self.say(text))

    def lines(self, note: str) -> Iterator[str]:
        about, say = self.about, self.say
        yield from (f"# {plain(about.title)}", "", self._subject(), "")
        yield from (note, "") if note else ()
        if len(about.tables) == 1:
            (table,) = about.tables
            counts = {"rows": table.rows, "columns": len(table.columns)}
            yield say(sentence("readme.release", release=about.release, day=about.date, **counts))
        else:
            yield say(sentence("readme.release.tables", release=about.release, day=about.date, n=len(about.tables)))
        statement = Statement.of(about)
        yield from self._stated(statement)
        yield from self._unmet(statement)
        for table in about.tables:
            alone = len(about.tables) == 1
            head = "Columns" if alone else sentence("readme.table", name=table.name, rows=table.rows)
            yield from self._columns(say(head), table)
        page = about.page
        yield from ("", f"## {say('What was done')}", "")
        done = (*page.table, *page.protection, *page.decided)
        yield from (f"- {self.said(sentence)}" for sentence in done)
        yield from ("", f"## {say('Limits')}", "")
        yield from (f"- {self.said(sentence)}" for sentence in about.limits)
        yield from ("", f"## {say('Licence and contact')}", "")
        yield from self._terms()
        heads = f"| {say('file')} | {say('content')} | {say('bytes')} | SHA-256 |"
        yield from ("", f"## {say('Files')}", "", heads, "|---|---|---|---|")
        for file in (*(table.file for table in about.tables), *about.others):
            size = self.language.number(f"{file.bytes:,}")
            yield f"| {file.name} | {say(file.meaning)} | {size} | `{file.sha256}` |"
        yield ""
        stated = "readme.certificate.private" if about.private else "readme.certificate"
        yield say(sentence(stated, file=CERTIFICATE))
        yield say(sentence("readme.software", software=about.software))

    def _subject(self) -> str:
        """Subject of the table in the publisher's words, or this program's, and what a row is."""
        words, nature = self.about.subject, self.about.nature
        return plain(f"{self.own(words)} {self.say(nature)}".rstrip())

    def _stated(self, statement: Statement) -> Iterator[str]:
        """First screen: what the table is, how and from what it was made, and what it is for."""
        yield from ("", f"## {self.say('What this is')}", "")
        # The publisher's own words stay in the language in which they were given.
        marks = {
            "Differential privacy": map(self.say, self.about.page.promise),
            f"Made on {statement.made_on}": map(self.say, statement.made),
            "Real records behind it": (self.own(statement.source),),
            "For": ("; ".join(map(self.own, statement.uses)),),
            "Limits of use": map(self.own, statement.limits_of_use),
            "Verdict" if not self.about.private else "Decision": (self.say(statement.decision),),
        }
        for mark, texts in marks.items():
            if text := " ".join(texts):
                yield f"- **{self.say(mark)}**: {plain(text)}"

    def _unmet(self, statement: Statement) -> Iterator[str]:
        if statement.rules:
            yield from ("", f"## {self.say('Rules that are not met')}", "")
            for one in statement.rules:
                yield f"- **{plain(self.own(one['rule']))}** ({self.say(one['status'])}): {self.said(one['found'])}"
        if statement.accepted:
            yield from ("", f"## {self.say('Who accepted the table all the same')}", "")
            yield from (f"- {self.said(accepted_words(one))}" for one in statement.accepted)

    def _columns(self, title: str, table: DescribedTable) -> Iterator[str]:
        yield from ("", f"## {title}", "")
        heads = (self.say(head) for head in ("column", "type", "meaning", "missing values"))
        yield from (f"| {' | '.join(heads)} |", "|---|---|---|---|")
        yield from (self._row(table, column) for column in table.columns)
        form = (
            sentence("readme.csv", mark=f"`{table.separator}`", encoding=table.encoding)
            if table.is_csv
            else sentence("readme.form", form=table.form)
        )
        yield from ("", self.say(form))
        links = (sentence("readme.key", column=code(one), table=other) for one, other in table.references.items())
        if linked := sentences(*links, between="further"):
            yield from ("", f"{self.say(linked)}.")

    def _row(self, table: DescribedTable, column: DescribedColumn) -> str:
        kind = column.words
        if table.is_csv and column.kind.type.has_date_format:
            kind += f", written {column.date_format}"
        if table.has_own_words and column.kind is Kind.BOOLEAN:
            kind += f", written {column.true} and {column.false}"
        missing = code(column.missing) if column.missing else self.say("empty")
        cells = map(plain, (column.name, self.say(kind), column.description or self.say("not stated")))
        return f"| {' | '.join((*cells, missing if table.has_own_words else 'null'))} |"

    def _terms(self) -> Iterator[str]:
        said, url = self.about.said, self.about.license_url
        if said.license is None:
            yield f"- {self.say('Licence: not stated. Ask the publisher before you use or pass on the table.')}"
        else:
            address = "" if url in (None, said.license) else f" ({url})"
            yield f"- {self.say('Licence')}: {plain(said.license)}{address}"
        yield f"- {self.say('Publisher')}: {self._party(self.about.publisher)}"
        yield f"- {self.say('Contact')}: {self._party(said.contact)}"

    def _party(self, party: PartyOptions | None) -> str:
        if party is None:
            return self.say("not stated.")
        return ", ".join(plain(text) for text in (party.name, party.email, party.url) if text is not None)
