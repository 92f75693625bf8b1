"""Description of a release: one object, from which every format is written, and the options of the section ``publish``.

It holds what the certificate says anyway, the shape of the released table, and the publisher's own words (section
``publish``). It holds no value of a record, no path, no seed and no name beyond those of the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from hybrid.base.manifest import MANIFEST, PACKAGE, hash_files
from hybrid.base.options import Options
from hybrid.base.sentence import sentence
from hybrid.publication.certificate import Acceptance
from hybrid.publication.finished_run import DETAILS, EVALUATION, REPORT, FinishedRun
from hybrid.publication.first_page import FirstPage
from hybrid.publication.nature import KEYWORD, is_synthetic, made, nature
from hybrid.publication.table_facts import stated_tables
from hybrid.publication.verdict import Check
from hybrid.table import Column, Kind, Schema
from hybrid.table.file_formats import FORMAT_WORDS, SPREADSHEET_SUFFIXES, is_csv

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/@:]+(:\d+)?(/[^\s@]*)?$")]
"""Address of the web, without a user name or a password."""


class PartyOptions(Options):
    """A person or an organization."""

    name: Text
    """As readers know it."""
    email: Annotated[str, StringConstraints(pattern=r"^[^\s@]+@[^\s@]+$")] | None = None
    """Address for questions; a function's rather than a person's."""
    url: Address | None = None
    """Home page."""


class ColumnDescription(Options):
    """Meaning of one column."""

    description: Text | None = None
    """What a value means, in plain words."""
    unit: Text | None = None
    """Unit of a number, such as kg or EUR."""


class PublishOptions(Options):
    """Texts for the readers of a release; public as they are written.

    What is set here does not change a release's rows.
    """

    title: Text | None = None
    """Title of the table; null: the configuration's name."""
    description: Text | None = None
    """What the table is about; null: a neutral sentence."""
    license: Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9.+-]+|https?://[^\s@]+)$")] | None = None
    """Licence of the released rows: an SPDX identifier (CC-BY-4.0, LicenseRef-own), or the address of the terms."""
    contact: PartyOptions | None = None
    """Who answers questions."""
    publisher: PartyOptions | None = None
    """Who publishes."""
    source: Text | None = None
    """The real records behind the table: who is in them, from where, and of which time."""
    uses: tuple[Text, ...] = ()
    """What the table is for."""
    not_for: tuple[Text, ...] = ()
    """What the table must not be used for, beside what follows from rules that are not met."""
    keywords: tuple[Text, ...] = ()
    """Words that catalogues search for."""
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] | None = None
    """Language of these texts (BCP 47), such as en or de-AT. Report, README, dossier and the verdict in the terminal
    are in it, too: there are English and German. null: that of the variable HYBRID_LANGUAGE, else English."""
    url: Address | None = None
    """Where readers find the folder of all releases; null: addresses are relative to the release's own folder."""
    columns: dict[str, ColumnDescription] = Field(default_factory=dict)
    """Meaning and unit of columns, by name."""
    provenance: bool = False
    """Whether the release holds its lineage as W3C PROV (`provenance.jsonld`)."""


@dataclass(frozen=True)
class DescribedColumn:
    """A column of a released table; no value of a record."""

    name: str
    """As in the file's header."""
    kind: Kind
    """Kind of its values."""
    missing: str = ""
    """Text that stands for a missing value in a CSV file."""
    padding: str = ""
    """White space before every value of a CSV file."""
    decimal_mark: str = "."
    date_format: str = "%Y-%m-%d"
    true: str = "True"
    false: str = "False"
    """How a CSV file writes numbers, dates (as :meth:`datetime.datetime.strptime`) and truth values."""
    description: str | None = None
    unit: str | None = None
    """From the section ``publish``."""

    @classmethod
    def of(cls, column: Column) -> DescribedColumn:
        form = column.format
        return cls(
            column.name,
            column.kind,
            form.missing,
            form.padding,
            form.decimal_mark,
            column.kind.type.read_format(form),
            form.true,
            form.false,
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any], said: ColumnDescription) -> DescribedColumn:
        """Read what :func:`stated_columns` wrote, with the publisher's words."""
        kind = Kind(content["kind"])
        return cls(**{**content, "kind": kind, "description": said.description, "unit": said.unit})

    @property
    def words(self) -> str:
        return self.kind.type.words + (f", in {self.unit}" if self.unit else "")


def stated_columns(schema: Schema) -> list[dict[str, Any]]:
    """Columns of a released table for a run's manifest (JSON types)."""
    left_out = ("description", "unit")
    return [
        {key: value for key, value in asdict(DescribedColumn.of(column)).items() if key not in left_out}
        for column in schema
    ]


SPDX = "https://spdx.org/licenses/"
OWN_LICENSE = "LicenseRef-"
MEDIA_TYPES = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".html": "text/html",
    ".json": "application/json",
}
MEANINGS = {
    REPORT: "report for people: the page to decide by",
    DETAILS: "report in detail: privacy, utility, fidelity, method",
    EVALUATION: "measured values of the evaluation",
    MANIFEST: "method of the run: options, versions, stages",
}

PRIVATE_MEANINGS = {
    REPORT: "report for people: guarantee, privacy budget, columns of the released table",
    EVALUATION: "no values: measurements against real records are not published",
    MANIFEST: "method of the run: options, versions, privacy budget",
}


@dataclass(frozen=True)
class ReleasedFile:
    """One file of a release."""

    name: str
    sha256: str
    bytes: int
    meaning: str

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES.get(Path(self.name).suffix, "application/octet-stream")


@dataclass(frozen=True)
class DescribedTable:
    """A released table."""

    name: str
    """The file's name without its suffix."""
    file: ReleasedFile
    """The file."""
    rows: int
    """Its rows."""
    columns: tuple[DescribedColumn, ...]
    """In the file's order."""
    separator: str = ","
    encoding: str = "utf-8"
    """Of a CSV file."""
    key: str | None = None
    """Column with a different value in every row, where the table is one of several linked ones and has one."""
    references: Mapping[str, str] = field(default_factory=dict)
    """Columns that hold the key of another table, and that table."""
    public: bool = False
    """Whether it is released as it was given."""

    @property
    def is_csv(self) -> bool:
        return is_csv(self.file.name)

    @property
    def has_own_words(self) -> bool:
        """True for CSV and workbooks, which have truth values and missing values in words of the source."""
        return self.is_csv or Path(self.file.name).suffix in SPREADSHEET_SUFFIXES

    @property
    def form(self) -> str:
        """Format of a file that is no CSV, in words."""
        return FORMAT_WORDS[Path(self.file.name).suffix]


@dataclass(frozen=True)
class Description:
    """Facts about a release, for its readers."""

    data_set: str
    release: str
    created: str
    """Name that all releases of the data set share; name of this one; when it was made (UTC, ISO 8601)."""
    said: PublishOptions
    """The publisher's own words."""
    tables: tuple[DescribedTable, ...]
    """The released table, or several linked ones."""
    others: tuple[ReleasedFile, ...]
    """The other files, certificate and descriptions excepted."""
    page: FirstPage
    """What was done, in plain words."""
    software: str
    """This program and its version."""
    private: bool = False
    """Whether nothing but what follows from a differentially private table is told."""
    synthetic: bool = True
    """Whether a generator drew the rows."""
    nature: str = ""
    """What a row is."""
    made: tuple[str, ...] = ()
    """How the rows were made."""
    unmet: tuple[Check, ...] = ()
    """Rules of the policy that are not met or could not be judged; none of a private table: its verdict is withheld."""
    acceptances: tuple[Acceptance, ...] = ()
    """Who accepted that, and why; none of a private table."""

    @property
    def title(self) -> str:
        return self.said.title or self.data_set

    @property
    def subject(self) -> str:
        """Subject of the table in the publisher's words, or a neutral sentence."""
        template = "description.synthetic" if self.synthetic else "description.anonymized"
        return self.said.description or sentence(template, n=len(self.tables), name=self.data_set)

    @property
    def text(self) -> str:
        """Subject of the table, and what its rows are."""
        return f"{self.subject} {self.nature}".rstrip()

    @property
    def keywords(self) -> tuple[str, ...]:
        """The publisher's keywords, after the one that marks synthetic tables."""
        return tuple(dict.fromkeys((*((KEYWORD,) if self.synthetic else ()), *self.said.keywords)))

    @property
    def date(self) -> str:
        return self.created[:10]

    @property
    def license_url(self) -> str | None:
        """Address of the licence; None where none is stated, and for an own licence without an address."""
        stated = self.said.license
        if stated is None or stated.startswith(OWN_LICENSE):
            return None
        return stated if "://" in stated else f"{SPDX}{stated}"

    @property
    def base(self) -> str | None:
        """Address of the release's folder; None where the publisher states none."""
        return None if self.said.url is None else f"{self.said.url.rstrip('/')}/{self.release}/"

    @property
    def publisher(self) -> PartyOptions | None:
        """Publisher, or else the contact."""
        return self.said.publisher or self.said.contact

    @property
    def columns(self) -> tuple[DescribedColumn, ...]:
        return tuple(column for table in self.tables for column in table.columns)

    def table(self, name: str) -> DescribedTable:
        return next(table for table in self.tables if table.name == name)

    @property
    def missing(self) -> tuple[str, ...]:
        """Entries that readers need and the publisher has not stated."""
        wanted = {"license": self.said.license, "contact": self.said.contact}
        return tuple(name for name, value in wanted.items() if value is None)

    @property
    def limits(self) -> tuple[str, ...]:
        """Sentences on what the release does not promise."""
        return self.page.not_attacked


def describe(
    run: FinishedRun,
    folder: Path,
    *,
    release: str,
    created: str,
    page: FirstPage,
    unmet: tuple[Check, ...] = (),
    acceptances: tuple[Acceptance, ...] = (),
) -> Description:
    """Describe the release of a run.

    ``folder`` has its files, certificate and descriptions excepted; ``created`` is UTC in ISO 8601; ``unmet`` are the
    rules that are not met or could not be judged, and ``acceptances`` who accepted that.
    """
    config = run.manifest["config"]
    said = PublishOptions.model_validate(config.get("publish") or {})
    files = {
        name: ReleasedFile(name, about["sha256"], about["bytes"], _meaning(name, run))
        for name, about in hash_files(folder).items()
    }
    tables = tuple(_tables(run, files, said.columns))
    version = (run.manifest.get("packages") or {}).get(PACKAGE, "")
    return Description(
        data_set=run.data_set,
        release=release,
        created=created,
        said=said,
        tables=tables,
        others=tuple(file for name, file in files.items() if name not in run.tables),
        page=page,
        software=f"{PACKAGE} {version}".strip(),
        private=run.is_dp,
        synthetic=is_synthetic(config),
        nature=nature(config),
        made=tuple(_made(run)),
        unmet=() if run.is_dp else unmet,
        acceptances=() if run.is_dp else acceptances,
    )


def _made(run: FinishedRun) -> Iterator[str]:
    if run.anonymization is None and not run.is_dp:
        yield "Nothing was anonymized."
    yield from made(run.manifest["config"], run.anonymization)


def _meaning(name: str, run: FinishedRun) -> str:
    meanings = PRIVATE_MEANINGS if run.is_dp else MEANINGS
    if name in meanings:
        return meanings[name]
    stated = stated_tables(run.manifest)
    pages = {table.report: sentence("description.report", table=table.name) for table in stated}
    public = {table.file: "a public table, as it was given" for table in stated if table.public}
    return (pages | public).get(name, "the released table" if not stated else "a released table")


def _tables(
    run: FinishedRun, files: Mapping[str, ReleasedFile], said: Mapping[str, ColumnDescription]
) -> Iterator[DescribedTable]:
    for table in stated_tables(run.manifest):
        columns, form = _columns(table.columns, said), (table.separator, table.encoding)
        about = DescribedTable(table.name, files[table.file], table.rows, columns, *form)
        yield replace(about, key=table.key, references=table.references, public=table.public)
    if not run.manifest.get("tables"):
        (name,), data = run.tables, run.manifest["config"].get("data") or {}
        columns = _columns(run.manifest["columns"], said)
        form = data.get("separator", ","), data.get("encoding", "utf-8")
        yield DescribedTable(Path(name).stem, files[name], run.manifest["table"]["rows"], columns, *form)


def _columns(stated: Sequence[Mapping[str, Any]], said: Mapping[str, ColumnDescription]) -> tuple[DescribedColumn, ...]:
    return tuple(DescribedColumn.from_json(column, said.get(column["name"], ColumnDescription())) for column in stated)
