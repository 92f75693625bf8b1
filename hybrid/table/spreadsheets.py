"""Workbooks of Excel: one sheet is read as texts, like a CSV file, and written with numbers, dates and booleans."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from hybrid.base.errors import DataError, HybridError, OutputError, needs_extra
from hybrid.table.file_problems import header_problem, suspicious_cells
from hybrid.table.files import File
from hybrid.table.read_options import ALL_ACCEPTED, ReadOptions
from hybrid.table.schema import Column, Table
from hybrid.table.text import encode_texts
from hybrid.table.typed_table import column_problems

_MOST_ROWS = 2**20
"""Of a sheet, with the names of the columns."""
_FIRST_DAY = datetime(1900, 3, 1)
"""Day from which Excel and the calendar agree."""
_DATE, _MOMENT = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"
_CLOCK = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")
_CELLS = tuple(one for one in ALL_ACCEPTED if one != "total_lines")
"""What only separators and quotes of a CSV file make suspicious."""


def sheet_names(file: File) -> list[str]:
    """Names of the sheets of a workbook, in their order."""
    with _workbook(file) as book:
        return [str(name) for name in book.sheet_names]


def read_spreadsheet(file: File, options: ReadOptions) -> pa.Table:
    """Read the sheet that the options name, or the first, as texts.

    The first row that is not empty has the names of the columns; of formulas their last results are read. Dates are
    written as 2024-12-31, numbers with the decimal mark of the options.
    """
    with _workbook(file) as book, _readable(file):
        if options.sheet is not None and options.sheet not in book.sheet_names:
            names = ", ".join(map(repr, book.sheet_names))
            raise DataError(f"{file}: there is no sheet {options.sheet!r}", hint=f"set data.sheet to one of: {names}")
        cells = book.parse(options.sheet or 0, header=None, dtype=object, na_filter=False)
    filled = cells.map(lambda value: value not in ("", None) and value == value)
    cells = cells.loc[filled.any(axis=1), filled.any(axis=0)]
    if not len(cells):
        raise DataError(f"{file}: the sheet is empty", hint="set data.sheet to one with names of columns and rows")
    header = [_texts([name], options.decimal)[0].strip() for name in cells.iloc[0]]
    columns = [_texts(values.iloc[1:], options.decimal) for _, values in cells.items()]
    raw = pa.table([pa.array(values, pa.string()) for values in columns], names=[str(at) for at in range(len(header))])
    problems = column_problems(str(file), header, options)
    if not problems and not options.columns.keys() >= set(header):
        problems = [one for one in [header_problem(file, raw, header)] if one is not None]
    accepted = options.model_copy(update={"accept": (*options.accept, *_CELLS)})
    problems = problems or list(suspicious_cells(file, raw, header, accepted))
    if problems:
        raise DataError(problems)
    return raw.rename_columns(header)


def _workbook(file: File) -> pd.ExcelFile:
    _openpyxl(str(file))
    with file.open() as data:
        content = io.BytesIO(data.read())
    with _readable(file):
        return pd.ExcelFile(content, engine="openpyxl")


@contextmanager
def _readable(file: File) -> Iterator[None]:
    """Report errors of openpyxl, whose own text may quote a cell; warnings are of decorations that are not read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (HybridError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - a broken part of a workbook raises any
        raise DataError(
            f"{file}: the file could not be read as a workbook", hint="save it again as .xlsx, without a password"
        ) from None


def _openpyxl(file: str) -> Any:
    with needs_extra("formats", f"{file}: workbooks of Excel need the package openpyxl"):
        import openpyxl
    return openpyxl


def _texts(values: Iterable[Any], mark: str) -> list[str]:
    """Cells of a column as texts; moments are dates where none has a time."""
    known = [_to_second(value) if isinstance(value, datetime) else value for value in values]
    moments = [value for value in known if isinstance(value, datetime)]
    form = _DATE if all(value.time() == time() for value in moments) else _MOMENT
    return [_text(value, mark, form) for value in known]


def _to_second(value: datetime) -> datetime:
    """A moment without the fractions that Excel's numbers leave."""
    return (value + timedelta(milliseconds=500)).replace(microsecond=0)


def _text(value: Any, mark: str, form: str) -> str:
    if isinstance(value, float):
        if value != value:
            return ""
        return str(int(value)) if value.is_integer() else repr(value).replace(".", mark)
    if isinstance(value, datetime):
        return value.strftime(form)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def write_spreadsheet(table: Table, path: Path, sheet: str | None, *, synthetic: bool) -> None:
    """Write a table as the only sheet of a workbook (Sheet1 without a name); the same table gives the same bytes.

    Where its rows are synthetic, the properties of the workbook say so.
    """
    library = _openpyxl(path.name)
    if len(table) >= _MOST_ROWS:
        raise OutputError(
            f"a sheet of Excel has {_MOST_ROWS:,} rows, and the table has {len(table):,}",
            hint="output: {format: parquet} or {format: csv}",
        )
    book = library.Workbook(write_only=True)
    page = book.create_sheet(sheet or "Sheet1")
    if synthetic:
        book.properties.description = "synthetic"
    columns = [_cells(table.frame[column.name], column) for column in table.schema]
    try:
        page.append([_shown(page, name) for name in table.schema.names])
        for row in zip(*columns, strict=True):
            page.append([_shown(page, value) for value in row])
    except library.utils.exceptions.IllegalCharacterError:
        raise OutputError(
            "a text has characters that a workbook cannot hold", hint="output: {format: parquet} or {format: csv}"
        ) from None
    content = io.BytesIO()
    book.save(content)
    _without_clock(content, path)


def _cells(values: pd.Series, column: Column) -> list[Any]:
    codes, texts = encode_texts(values, column)
    cells = [column.kind.type.cell(text.strip(), column.format) for text in texts[:-1]]
    if any(isinstance(cell, date) and cell.timetuple() < _FIRST_DAY.timetuple() for cell in cells):
        cells = [text.strip() for text in texts[:-1]]
    cells.append(texts[-1] or None)
    return [cells[code] for code in codes]


def _shown(page: Any, value: Any) -> Any:
    """A cell; a text that begins like a formula or an error is one nevertheless."""
    if not isinstance(value, str) or value[:1] not in ("=", "#"):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(page, value)
    cell.data_type = "s"
    return cell


def _without_clock(content: io.BytesIO, path: Path) -> None:
    with zipfile.ZipFile(content) as made, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in made.namelist():
            part = _CLOCK.sub(rb"\g<1>1980-01-01T00:00:00Z", made.read(name)) if "core.xml" in name else made.read(name)
            about = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            about.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(about, part)
