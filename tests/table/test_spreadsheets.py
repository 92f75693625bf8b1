"""Workbooks of Excel: sheets, cells of all kinds, and the same again after writing."""

from __future__ import annotations

import builtins
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from hybrid.base.errors import DataError, MissingExtraError, OutputError
from hybrid.pipeline.starter import guess_config
from hybrid.table import Kind, spreadsheets
from hybrid.table.data_options import DataOptions
from hybrid.table.files import File
from hybrid.table.read_file import read_table
from hybrid.table.text import as_text
from hybrid.table.write import layout_of, write_table

OPTIONS = DataOptions(path="any", missing=("", "n/a"))
ROWS: list[list[Any]] = [
    ["age", "cost", "born", "seen", "at", "paid", "smokes", "town", "note"],
    [41, 1.5, datetime(1990, 1, 2), datetime(2020, 1, 2, 3, 4, 5), time(14, 30), True, "yes", "Ulm", "=1+1"],
    ["n/a", 2, datetime(1980, 3, 4), datetime(2021, 1, 1), None, False, "no", "Köln", "#x"],
    [63, 0.1, None, None, time(1, 2, 3), None, "yes", None, "-"],
]


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for at, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                cell = page.cell(at, column, value)
                if str(value)[:1] in "=#":
                    cell.data_type = "s"
    book.save(path)
    return path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return workbook(tmp_path / "people.xlsx", people=ROWS, notes=[["note"], ["ask Ann"]])


def test_cells_are_read_as_what_they_are(people: Path) -> None:
    table = read_table(people, OPTIONS)
    assert {one.name: one.kind for one in table.schema} == {
        "age": Kind.INTEGER,
        "cost": Kind.DECIMAL,
        "born": Kind.DATE,
        "seen": Kind.DATETIME,
        "at": Kind.TIME,
        "paid": Kind.BOOLEAN,
        "smokes": Kind.BOOLEAN,
        "town": Kind.CATEGORICAL,
        "note": Kind.CATEGORICAL,
    }
    assert table.frame["age"].tolist() == [41, pd.NA, 63] and table.frame["cost"].tolist() == [1.5, 2, 0.1]
    assert table.frame["seen"].astype(str).tolist() == ["2020-01-02 03:04:05", "2021-01-01 00:00:00", "NaT"]
    assert as_text(table.frame["at"].dropna(), table.schema["at"]).tolist() == ["14:30:00", "01:02:03"]


def test_a_workbook_comes_out_as_it_came_in_the_same_bytes_each_time(people: Path) -> None:
    table, target = read_table(people, OPTIONS), people.with_name("again.xlsx")
    layout = layout_of(File.local(people), sheet="people")
    write_table(table, target, layout=layout, synthetic=True)
    first = target.read_bytes()
    pd.testing.assert_frame_equal(read_table(target, OPTIONS).frame, table.frame)
    book = openpyxl.load_workbook(target)
    assert book.sheetnames == ["people"] and book.properties.description == "synthetic"
    found = [[cell.value for cell in row] for row in book["people"].iter_rows()]
    assert found[1] == [
        41,
        1.5,
        datetime(1990, 1, 2),
        datetime(2020, 1, 2, 3, 4, 5),
        time(14, 30),
        True,
        "yes",
        "Ulm",
        "=1+1",
    ]
    assert found[2][:2] == ["n/a", 2] and found[2][5:] == [False, "no", "Köln", "#x"]
    assert book["people"]["I2"].data_type == "s", "a text is no formula"
    write_table(table, target, layout=layout, synthetic=True)
    assert target.read_bytes() == first and b"ask Ann" not in first


def test_the_first_sheet_or_the_named_one(people: Path) -> None:
    assert read_table(people, OPTIONS).schema.names[0] == "age"
    assert read_table(people, DataOptions(path="any", sheet="notes")).schema.names == ["note"]
    with pytest.raises(DataError, match="there is no sheet 'nobody'") as caught:
        read_table(people, DataOptions(path="any", sheet="nobody"))
    assert caught.value.problems[0].hint == "set data.sheet to one of: 'people', 'notes'"


def test_init_names_the_sheet_where_there_are_several(people: Path, tmp_path: Path) -> None:
    text = guess_config(people).to_yaml(tmp_path)
    assert "  sheet: people " in text and "separator" not in text and "n/a" in text
    single = workbook(tmp_path / "single.xlsx", people=ROWS)
    assert "sheet:" not in guess_config(single).to_yaml(tmp_path)
    assert guess_config(people, "notes").table.schema.names == ["note"]


def test_empty_rows_and_columns_are_none(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", a=[[None, None], [None, "age", "ward"], [], [None, 1, "x"], [None, 2, "y"]])
    assert read_table(path, OPTIONS).frame["age"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "the sheet is empty"),
        ([["age"]], "no rows"),
        ([["age", "age"], [1, 2]], "occur more than once"),
        ([["Patients of 2024"], ["age", "ward", "sex"], [1, "x", "m"]], "a column has no name"),
        ([["ward", "age", "cost", "stay"], ["x", 1, 2, 3], ["y", 2, 3, 4], ["Total", 3, None, None]], "totals"),
        ([["2020-01-02", 1.5], ["2020-01-03", 2.5], ["2020-01-04", 3.5]], "seems to be a record"),
    ],
)
def test_sheets_that_are_no_table_are_refused(rows: list[list[Any]], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_table(workbook(tmp_path / "a.xlsx", a=rows), OPTIONS)


def test_long_numbers_and_early_dates_are_texts(tmp_path: Path) -> None:
    """Excel keeps fifteen digits, and knows no day before 1900."""
    (tmp_path / "a.csv").write_text("number,born\n1234567890123456,1850-01-01\n1234567890123457,1990-01-01\n")
    table = read_table(tmp_path / "a.csv", OPTIONS)
    write_table(table, tmp_path / "a.xlsx")
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.xlsx", OPTIONS).frame, table.frame)


def test_a_comma_as_decimal_mark(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", a=[["cost"], [1.5], ["2,5"]])
    assert read_table(path, DataOptions(path="any", decimal=",")).frame["cost"].tolist() == [1.5, 2.5]


def test_dates_in_other_formats_are_written_as_they_were(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", a=[["born"], ["31.12.1990"], ["01.02.1991"]])
    table = read_table(path, OPTIONS)
    write_table(table, tmp_path / "b.xlsx")
    assert table.schema["born"].kind is Kind.DATE and table.frame["born"].iloc[0].date() == date(1990, 12, 31)
    assert openpyxl.load_workbook(tmp_path / "b.xlsx").worksheets[0]["A2"].value == "31.12.1990"


def test_what_is_no_workbook_is_refused_without_its_content(tmp_path: Path) -> None:
    path = tmp_path / "people.xlsx"
    path.write_bytes(b"PK\x03\x04 Ann,41\n" * 100)
    with pytest.raises(DataError, match="could not be read as a workbook") as caught:
        read_table(path, OPTIONS)
    assert "Ann" not in str(caught.value)


def test_what_a_sheet_cannot_hold_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("age\n1\n2\n")
    table = read_table(tmp_path / "a.csv", OPTIONS)
    (tmp_path / "b.csv").write_text("ward\nx\x01y\ny\x01x\n")
    with pytest.raises(OutputError, match="characters"):
        write_table(read_table(tmp_path / "b.csv", OPTIONS), tmp_path / "b.xlsx")
    monkeypatch.setattr(spreadsheets, "_MOST_ROWS", 2)
    with pytest.raises(OutputError, match="has 2 rows"):
        write_table(table, tmp_path / "a.xlsx")


def test_without_the_package_the_error_says_what_to_install(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def absent(name: str, *more: Any, **options: Any) -> Any:
        if name == "openpyxl":
            raise ImportError(name)
        return load(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match="need the package openpyxl") as caught:
        read_table(people, OPTIONS)
    assert caught.value.problems[0].hint == "pip install 'hybrid-release[formats]'"
