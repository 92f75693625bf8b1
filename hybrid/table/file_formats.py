"""Formats of data files by the ends of their names: which are read, and as what a table comes out again."""

from __future__ import annotations

from pathlib import PurePath

from pyarrow.fs import FileType

from hybrid.table.files import File

PARQUET_SUFFIXES = (".parquet", ".pq")
CSV_SUFFIXES = (".csv", ".tsv", ".asc", ".data")
"""Usual ends of the names of CSV files; a file of any other unknown end is read as CSV, too."""
STATISTICS_SUFFIXES = (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")
"""Files of Stata, SPSS and SAS, which pyreadstat reads."""
SPREADSHEET_SUFFIXES = (".xlsx",)
"""Workbooks, which openpyxl reads."""
TYPED_SUFFIXES = (*PARQUET_SUFFIXES, *STATISTICS_SUFFIXES)
"""Files that know the types of their columns."""
OFFICE_SUFFIXES = (*STATISTICS_SUFFIXES, *SPREADSHEET_SUFFIXES)
"""Files that the extra ``formats`` reads."""
FORMAT_WORDS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".dta": "a file of Stata 14 or later",
    ".sav": "a file of SPSS",
    ".zsav": "a compressed file of SPSS",
    ".xpt": "a transport file of SAS",
    ".xlsx": "a workbook of Excel",
}
"""What a released file is that is no CSV, for its readers."""
READ_ONLY_SUFFIXES = (".por", ".sas7bdat")
"""Files that are read and not written: no library writes the one with its labels, and none the other."""


def is_csv(name: str) -> bool:
    """True for a file of a name that is read and written as CSV: all that end in none of the other suffixes."""
    return PurePath(name).suffix.lower() not in (*TYPED_SUFFIXES, *SPREADSHEET_SUFFIXES)


def output_suffix(file: File | None, wanted: str) -> str:
    """Suffix, with its point, of the file of a released table that was read from a file, or from none.

    ``wanted`` is ``output.format``: same, csv or parquet. The same as a file that is not written is Parquet.
    """
    if wanted != "same":
        return f".{wanted}"
    if file is None or file.suffix in (*PARQUET_SUFFIXES, *READ_ONLY_SUFFIXES) or _is_folder(file):
        return ".parquet"
    return ".csv" if is_csv(file.path) else file.suffix


def _is_folder(file: File) -> bool:
    """True for a folder, which is one of Parquet files."""
    return not file.suffix and file.info().type is FileType.Directory
