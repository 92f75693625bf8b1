"""Cells that hold whole lines, very long cells and cut last lines are refused by line, or accepted by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.base.errors import DataError
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

ROWS = [f"p{at:03},{at % 9},ward {at % 4}" for at in range(100, 160)]


def _read(folder: Path, text: str, accept: tuple[str, ...] = ()) -> int:
    (folder / "data.csv").write_text(text)
    options = DataOptions.model_validate({"path": "data.csv", "accept": accept})
    return len(read_table(folder / "data.csv", options))


def _text(rows: list[str], end: str = "\n") -> str:
    return "id,n,note\n" + "\n".join(rows) + end


def test_two_mispaired_quotes(tmp_path: Path) -> None:
    rows = [*ROWS]
    rows[10], rows[22] = 'p110,1,"ward 2', 'p122,1,ward 2"'
    with pytest.raises(DataError, match=r"data\.csv: line 12: 1 cells of column 'note' hold line breaks") as caught:
        _read(tmp_path, _text(rows))
    assert "p111" not in str(caught.value)
    assert "multiline_cells" in str(caught.value.problems[0].hint)
    assert _read(tmp_path, _text(rows), ("multiline_cells", "long_cells")) == len(rows) - 12


def test_line_breaks_alone_are_fine(tmp_path: Path) -> None:
    rows = [*ROWS, 'p900,1,"first line\nsecond line"', f'p901,2,"{"x" * 201}"']
    with pytest.raises(DataError, match=r"line 64: 1 cells of column 'note' are lo"):
        _read(tmp_path, _text([*rows[:-1], f'p901,2,"{"x" * 500}"']))
    assert _read(tmp_path, _text(rows)) == len(rows)
    assert _read(tmp_path, _text([*rows[:-1], f'p901,2,"{"x" * 500}"']), ("long_cells",)) == len(rows)


def test_long_texts_everywhere_are_fine(tmp_path: Path) -> None:
    assert _read(tmp_path, _text([f"p{at},1,{'long text ' * 60}" for at in range(20)])) == 20


@pytest.mark.parametrize("end", ["", "\n"])
def test_last_line_with_too_few_fields(tmp_path: Path, end: str) -> None:
    text = _text([*ROWS, "p900,1"], end)
    with pytest.raises(DataError, match=r"line 62: the last line has 2 of 3 fields"):
        _read(tmp_path, text)
    assert _read(tmp_path, text, ("short_last_line",)) == len(ROWS)


@pytest.mark.parametrize("last", ["p900,1,", "p900,1,war"])
def test_last_cell_cut_off(tmp_path: Path, last: str) -> None:
    with pytest.raises(DataError, match=r"line 62: the last line seems to be cut off"):
        _read(tmp_path, _text([*ROWS, last], ""))
    assert _read(tmp_path, _text([*ROWS, last], ""), ("short_last_line",)) == len(ROWS) + 1
    assert _read(tmp_path, _text([*ROWS, last])) == len(ROWS) + 1


def test_whole_last_line_without_a_line_break(tmp_path: Path) -> None:
    assert _read(tmp_path, _text(ROWS, "")) == len(ROWS)


def test_a_wrong_line_within_is_refused_as_before(tmp_path: Path) -> None:
    rows = [*ROWS[:5], "p900,1", *ROWS[5:]]
    with pytest.raises(DataError, match="a row does not have the header's 3 fields"):
        _read(tmp_path, _text(rows), ("short_last_line",))


PEOPLE = [
    "Anna Berg,1984-03-01,Leeds,f,12.50",
    *(f"p{at},19{at}-01-02,Leeds,{'fm'[at % 2]},{at}.25" for at in range(50, 90)),
]


def test_a_first_line_that_is_a_record_is_refused_and_not_shown(tmp_path: Path) -> None:
    """Its cells were once the names of the columns, in every message, report and release."""
    with pytest.raises(DataError, match=r"the first line seems to be a record .*: 4 of its 5 cells") as caught:
        _read(tmp_path, "\n".join(PEOPLE) + "\n")
    shown = " ".join(f"{problem.message} {problem.hint}" for problem in caught.value.problems)
    assert not any(cell in shown for cell in ("Anna", "1984", "Leeds", "12.5"))
    assert _read(tmp_path, "\n".join(["name,born,town,sex,paid", *PEOPLE]) + "\n") == len(PEOPLE)


@pytest.mark.parametrize(
    "header", ["id,1,2,3,4", "id,2020-01-01,2020-02-01,2020-03-01,2020-04-01", "id,0.25,0.50,0.75,1.00", "a,b,c,d,e"]
)
def test_series_are_names(tmp_path: Path, header: str) -> None:
    rows = [",".join([f"p{at}", *(str((at + way) % 7) for way in range(4))]) for at in range(100, 160)]
    assert _read(tmp_path, "\n".join([header, *rows]) + "\n") == len(rows)


def test_names_that_the_config_has_are_names(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("\n".join(PEOPLE) + "\n")
    columns = {name: {"role": "insensitive"} for name in PEOPLE[0].split(",")}
    options = DataOptions.model_validate({"path": "data.csv", "columns": columns})
    assert len(read_table(tmp_path / "data.csv", options)) == len(PEOPLE) - 1


TOTALS = ["Summe,,1200", "Zwischensumme,,7", "Total,,1200", ",,TOTAL", "Sous-total,5,", "Gesamt: 60 Personen,,"]


@pytest.mark.parametrize("line", [*TOTALS, "as of 2024; ask Jane Doe,,"])
def test_totals_and_notes_are_no_persons(tmp_path: Path, line: str) -> None:
    """Exported spreadsheets end in them: the sum of all wages was once the wage of one more person."""
    with pytest.raises(DataError, match=r"line 62: 1 lines seem to be totals or notes") as caught:
        _read(tmp_path, _text([*ROWS, line]))
    assert "Doe" not in str(caught.value) and "total_lines" in str(caught.value.problems[0].hint)
    assert _read(tmp_path, _text([*ROWS, line]), ("total_lines",)) == len(ROWS) + 1


@pytest.mark.parametrize("line", ["Totalis,3,total care", "p990,,", "Sumter,,ward 2", "Anna Berg,4,"])
def test_records_that_look_like_totals(tmp_path: Path, line: str) -> None:
    assert _read(tmp_path, _text([*ROWS, line])) == len(ROWS) + 1


@pytest.mark.parametrize("title", ["Staff 2024", "Staff 2024,,", "Staff 2024,,\n,,"])
def test_a_title_above_the_names_is_said_to_be_one(tmp_path: Path, title: str) -> None:
    with pytest.raises(DataError) as caught:
        _read(tmp_path, f"{title}\n{_text(ROWS)}")
    assert any("the first line seems to be a title" in str(problem.hint) for problem in caught.value.problems)
    assert not any("''" in problem.message for problem in caught.value.problems)


def test_joined_files_repeat_the_header(tmp_path: Path) -> None:
    text = "\n".join(["name,sex,paid", *ROWS[:9], "name,sex,paid", *ROWS[9:]]) + "\n"
    with pytest.raises(DataError, match=r"line 11: 1 lines repeat the header"):
        _read(tmp_path, text)
