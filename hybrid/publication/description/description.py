"""Description of a release: one object, from which every format is written.

It holds what the certificate says anyway, the shape of the released table, and the publisher's own words (section
``publish``). It holds no value of a record, no path, no seed and no name beyond those of the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybrid.base.manifest import MANIFEST, PACKAGE, hash_files
from hybrid.publication.certificate import Acceptance
from hybrid.publication.description.columns import DescribedColumn
from hybrid.publication.description.options import ColumnDescription, PartyOptions, PublishOptions
from hybrid.publication.finished_run import EVALUATION, REPORT, FinishedRun
from hybrid.publication.first_page import FirstPage
from hybrid.publication.nature import KEYWORD, is_synthetic, nature
from hybrid.publication.stated_tables import stated_tables
from hybrid.publication.verdict import Check
from hybrid.table.schema import PARQUET_SUFFIXES

SPDX = "https://spdx.org/licenses/"
OWN_LICENSE = "LicenseRef-"
MEDIA_TYPES = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".html": "text/html",
    ".json": "application/json",
}
MEANINGS = {
    REPORT: "report for people: verdict, privacy, utility, fidelity",
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
        """Media type (IANA)."""
        return MEDIA_TYPES.get(Path(self.name).suffix, "application/octet-stream")


@dataclass(frozen=True)
class DescribedTable:
    """A released table.

    Parameters
    ----------
    name : str
        The file's name without its suffix.
    file : ReleasedFile
        The file.
    rows : int
        Its rows.
    columns : tuple of DescribedColumn
        In the file's order.
    separator, encoding : str
        Of a CSV file.
    key : str or None
        Column with a different value in every row, where the table is one of several linked ones and has one.
    references : mapping of str to str
        Columns that hold the key of another table, and that table.
    """

    name: str
    file: ReleasedFile
    rows: int
    columns: tuple[DescribedColumn, ...]
    separator: str = ","
    encoding: str = "utf-8"
    key: str | None = None
    references: Mapping[str, str] = field(default_factory=dict)
    public: bool = False
    """Whether it is released as it was given."""

    @property
    def is_csv(self) -> bool:
        """True if the table is a CSV file."""
        return Path(self.file.name).suffix not in PARQUET_SUFFIXES


@dataclass(frozen=True)
class Description:
    """Facts about a release, for its readers.

    Parameters
    ----------
    data_set, release, created : str
        Name that all releases of the data set share; name of this one; when it was made (UTC, ISO 8601).
    said : PublishOptions
        The publisher's own words.
    tables : tuple of DescribedTable
        The released table, or several linked ones.
    others : tuple of ReleasedFile
        The other files, certificate and descriptions excepted.
    page : FirstPage
        What was done, in plain words.
    software : str
        This program and its version.
    """

    data_set: str
    release: str
    created: str
    said: PublishOptions
    tables: tuple[DescribedTable, ...]
    others: tuple[ReleasedFile, ...]
    page: FirstPage
    software: str
    private: bool = False
    """Whether nothing but what follows from a differentially private table is told."""
    synthetic: bool = True
    """Whether a generator drew the rows."""
    nature: str = ""
    """What a row is."""
    unmet: tuple[Check, ...] = ()
    """Rules of the policy that are not met or could not be judged; none of a private table: its verdict is withheld."""
    acceptances: tuple[Acceptance, ...] = ()
    """Who accepted that, and why; none of a private table."""

    @property
    def title(self) -> str:
        """Title of the table."""
        return self.said.title or self.data_set

    @property
    def text(self) -> str:
        """Subject of the table, and what its rows are."""
        tables = "table" if len(self.tables) == 1 else "tables"
        kind = f"Synthetic {tables}" if self.synthetic else tables.capitalize()
        neutral = f"{kind} {self.data_set}, released under a policy that protects people."
        return f"{self.said.description or neutral} {self.nature}".rstrip()

    @property
    def keywords(self) -> tuple[str, ...]:
        """The publisher's keywords, after the one that marks synthetic tables."""
        return tuple(dict.fromkeys((*((KEYWORD,) if self.synthetic else ()), *self.said.keywords)))

    @property
    def date(self) -> str:
        """Day of the release (ISO 8601)."""
        return self.created[:10]

    @property
    def license_url(self) -> str | None:
        """Address of the licence.

        None where no licence is stated, and for an own licence without an address.
        """
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
        """Columns of all tables."""
        return tuple(column for table in self.tables for column in table.columns)

    def table(self, name: str) -> DescribedTable:
        """The table with this name."""
        return next(table for table in self.tables if table.name == name)

    @property
    def missing(self) -> tuple[str, ...]:
        """Entries that readers need and the publisher has not stated."""
        wanted = {"license": self.said.license, "contact": self.said.contact}
        return tuple(name for name, value in wanted.items() if value is None)

    @property
    def limits(self) -> tuple[str, ...]:
        """Sentences on what the release does not promise."""
        return ("No conclusion about a single person may be drawn from a row.", *self.page.not_attacked)


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
    """Describe a release.

    Parameters
    ----------
    run : FinishedRun
        What is published.
    folder : Path
        The files of the release, certificate and descriptions excepted.
    release, created : str
        Name of the release; when it was made (UTC, ISO 8601).
    page : FirstPage
        What was done, in plain words.
    unmet : tuple of Check
        Rules that are not met or could not be judged.
    acceptances : tuple of Acceptance
        Who accepted that.
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
        unmet=() if run.is_dp else unmet,
        acceptances=() if run.is_dp else acceptances,
    )


def _meaning(name: str, run: FinishedRun) -> str:
    """Content of a file in plain words."""
    meanings = PRIVATE_MEANINGS if run.is_dp else MEANINGS
    if name in meanings:
        return meanings[name]
    stated = stated_tables(run.manifest)
    pages = {table.report: f"report about the table {table.name}" for table in stated}
    public = {table.file: "a public table, as it was given" for table in stated if table.public}
    return (pages | public).get(name, "the released table" if not stated else "a released table")


def _tables(
    run: FinishedRun, files: Mapping[str, ReleasedFile], said: Mapping[str, ColumnDescription]
) -> Iterator[DescribedTable]:
    """The released table, or all linked ones."""
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
