"""Files of other programs, and their conversion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from hybrid.base.errors import DataError
from hybrid.table.files import File
from hybrid.table.schema import PARQUET_SUFFIXES

_HEAD = 64


@dataclass(frozen=True)
class OtherFormat:
    """A format that is not read, and how its files are converted.

    Parameters
    ----------
    name : str
        What such a file is.
    suffixes : tuple of str
        How their names end, in lower case.
    beginnings : tuple of bytes
        How their content begins.
    conversion : str
        Expression of Python that reads ``FILE`` and writes ``NEW``; empty if there is none.
    packages : str
        What it needs, for pip.
    """

    name: str
    suffixes: tuple[str, ...]
    beginnings: tuple[bytes, ...] = ()
    conversion: str = ""
    packages: str = "pandas pyarrow"

    def hint(self, file: str) -> str:
        """Remedy for one of these files."""
        if not self.conversion:
            return "unpack or export the table as CSV or Parquet, and name that file"
        new = f"{PurePath(file).stem}{'.csv' if 'to_csv' in self.conversion else '.parquet'}"
        line = self.conversion.replace("FILE", repr(file)).replace("NEW", repr(new))
        module = line.partition(".")[0]
        return f'convert it once, and name {new}: pip install {self.packages}; python -c "import {module}; {line}"'


FORMATS = (
    OtherFormat(
        "a spreadsheet",
        (".xlsx", ".xlsm", ".xlsb", ".xls"),
        (b"\xd0\xcf\x11\xe0",),
        "pandas.read_excel(FILE).to_csv(NEW, index=False)",
        "pandas openpyxl xlrd pyxlsb",
    ),
    OtherFormat(
        "a spreadsheet",
        (".ods",),
        (),
        "pandas.read_excel(FILE, engine='odf').to_csv(NEW, index=False)",
        "pandas odfpy",
    ),
    OtherFormat(
        "a file of Stata",
        (".dta",),
        (b"<stata_dta>",),
        "pandas.read_stata(FILE, convert_categoricals=False).to_parquet(NEW)",
    ),
    OtherFormat(
        "a file of SAS",
        (".sas7bdat",),
        (bytes(12) + b"\xc2\xea\x81\x60",),
        "pyreadstat.read_sas7bdat(FILE)[0].to_parquet(NEW)",
        "pyreadstat pyarrow",
    ),
    OtherFormat(
        "a transport file of SAS",
        (".xpt",),
        (b"HEADER RECORD*******LIB",),
        "pyreadstat.read_xport(FILE)[0].to_parquet(NEW)",
        "pyreadstat pyarrow",
    ),
    OtherFormat(
        "a file of SPSS",
        (".sav", ".zsav"),
        (b"$FL2", b"$FL3"),
        "pyreadstat.read_sav(FILE)[0].to_parquet(NEW)",
        "pyreadstat pyarrow",
    ),
    OtherFormat(
        "a file of R",
        (".rds", ".rdata", ".rda"),
        (b"RDX3", b"RDX2"),
        "pyreadr.read_r(FILE).popitem()[1].to_parquet(NEW)",
        "pyreadr pyarrow",
    ),
    OtherFormat(
        "a file of Arrow",
        (".arrow", ".feather"),
        (b"ARROW1",),
        "pandas.read_feather(FILE).to_parquet(NEW)",
    ),
    OtherFormat(
        "a file of JSON",
        (".json", ".jsonl", ".ndjson"),
        (),
        "pandas.read_json(FILE).to_csv(NEW, index=False)",
    ),
    OtherFormat("a zip archive or a spreadsheet", (".zip",), (b"PK\x03\x04",)),
    OtherFormat(
        "compressed (gzip, bzip2, xz or zstd)",
        (".gz", ".bz2", ".xz", ".zst"),
        (b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"),
    ),
    OtherFormat("an SQLite database, which data.sql reads", (".sqlite", ".sqlite3", ".db"), (b"SQLite format 3",)),
    OtherFormat("a DuckDB database, which data.sql reads", (".duckdb",), (bytes(8) + b"DUCK",)),
)
"""Formats by the ends of names and, for files of any name, by how they begin."""
_PARQUET = OtherFormat("Parquet without the ending .parquet", (), (b"PAR1",))


def refuse_other_format(file: File) -> None:
    """Refuse a file of another format, by its name or its beginning.

    Raises
    ------
    DataError
        It is none of CSV or Parquet; the hint has the command that converts it.
    """
    try:
        with file.open() as data:
            head = data.read(_HEAD)
    except OSError:
        return
    found = next((one for one in FORMATS if file.suffix in one.suffixes), None)
    if found is None and file.suffix not in PARQUET_SUFFIXES:
        found = next((one for one in (*FORMATS, _PARQUET) if head.startswith(one.beginnings)), None)
    if found is _PARQUET:
        raise DataError(f"{file}: this is {found.name}", hint="rename it, so that its name ends in .parquet")
    if found is not None:
        raise DataError(
            f"{file}: this is {found.name}, and CSV and Parquet are read", hint=found.hint(PurePath(file.path).name)
        )
