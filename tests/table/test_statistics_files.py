"""Files of Stata, SPSS and SAS: labels, missing codes, dates, and the same again after writing."""

from __future__ import annotations

import builtins
import io
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pyreadstat
import pytest

from hybrid.base.errors import DataError, HybridError, MissingExtraError, OutputError
from hybrid.pipeline.starter import guess_config
from hybrid.table import Kind, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.files import File, file_at
from hybrid.table.read_file import read_table
from hybrid.table.statistics_files import SAS, SPSS, STATA, Program, moment_of, read_codebook
from hybrid.table.text import as_text
from hybrid.table.write import layout_of, write_table

OPTIONS = DataOptions(path="any")
WRITE: dict[str, Any] = {
    ".dta": pyreadstat.write_dta,
    ".sav": pyreadstat.write_sav,
    ".zsav": lambda frame, path, **options: pyreadstat.write_sav(frame, path, compress=True, **options),
    ".por": pyreadstat.write_por,
    ".xpt": pyreadstat.write_xport,
}
LABELLED, WRITTEN = (".dta", ".sav", ".zsav"), (".dta", ".sav", ".zsav", ".xpt")
FRAME = pd.DataFrame(
    {
        "SEX": [1.0, 2, 2, np.nan],
        "AGE": [30.0, 41, np.nan, 20],
        "COST": [1.5, 0.1, np.nan, 7],
        "BORN": [date(1990, 1, 2), None, date(1, 1, 1), date(9999, 12, 31)],
        "SEEN": [datetime(2020, 1, 2, 3, 4, 5), None, datetime(1890, 1, 1), datetime(2021, 1, 1)],
        "AT": [time(14, 30), None, time(1, 2, 3), time(0)],
        "TOWN": ["Ulm", "", "Köln", "Bonn"],
    }
)


def made(folder: Path, suffix: str, frame: pd.DataFrame = FRAME, **options: Any) -> Path:
    path = folder / f"people{suffix}"
    WRITE[suffix](frame.drop(columns="TOWN", errors="ignore") if suffix == ".por" else frame, path, **options)
    return path


def again(path: Path, table: Table, synthetic: bool = True) -> Path:
    """The table as a file of the same format, with what the file said about its columns."""
    target = path.with_name(f"again{path.suffix}")
    write_table(table, target, layout=layout_of(File.local(path)), synthetic=synthetic)
    return target


def column(path: Path, name: str, **options: Any) -> tuple[Kind, list[Any]]:
    table = read_table(path, DataOptions.model_validate({"path": "any", **options}))
    values = table.frame[name].astype(object)
    return table.schema[name].kind, values.where(values.notna(), None).tolist()


@pytest.mark.parametrize("suffix", WRITE)
def test_numbers_dates_times_and_texts_are_read(suffix: str, tmp_path: Path) -> None:
    table = read_table(made(tmp_path, suffix), OPTIONS)
    kinds = {one.name: one.kind for one in table.schema}
    assert kinds["AGE"] is Kind.INTEGER and table.frame["AGE"].tolist() == [30, 41, pd.NA, 20]
    assert kinds["COST"] is Kind.DECIMAL and table.frame["COST"].tolist()[:2] == [1.5, 0.1]
    assert kinds["BORN"] is Kind.DATE
    assert [None if pd.isna(one) else one.date() for one in table.frame["BORN"].astype(object)] == list(FRAME["BORN"])
    assert kinds["SEEN"] is Kind.DATETIME
    assert table.frame["SEEN"].astype(str).tolist() == [
        *("2020-01-02 03:04:05", "NaT", "1890-01-01 00:00:00", "2021-01-01 00:00:00")
    ]
    assert kinds["AT"] is Kind.TIME
    assert as_text(table.frame["AT"].dropna(), table.schema["AT"]).tolist() == ["14:30:00", "01:02:03", "00:00:00"]
    if suffix != ".por":
        assert table.frame["TOWN"].astype(object).dropna().tolist() == ["Ulm", "Köln", "Bonn"]


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_table_comes_out_as_it_came_in_the_same_bytes_each_time(suffix: str, tmp_path: Path) -> None:
    labels = {"variable_value_labels": {"SEX": {1: "Male", 2: "Female"}}} if suffix in LABELLED else {}
    path = made(tmp_path, suffix, column_labels={"SEX": "Sex of the person"}, **labels)
    table = read_table(path, OPTIONS)
    target = again(path, table)
    first = target.read_bytes()
    pd.testing.assert_frame_equal(read_table(target, OPTIONS).frame, table.frame)
    before, after = read_codebook(File.local(path)), read_codebook(File.local(target))
    assert before.labels == after.labels and before.descriptions == after.descriptions == {"SEX": "Sex of the person"}
    numbers = [name for name in before.formats if name not in before.texts]
    assert {name: after.formats[name] for name in numbers} == {name: before.formats[name] for name in numbers}
    again(path, table)
    assert target.read_bytes() == first
    assert b"1970" in first or b"01JAN70" in first or b"01 Jan 70" in first


@pytest.mark.parametrize("suffix", WRITTEN)
def test_what_may_name_people_is_not_copied(suffix: str, tmp_path: Path) -> None:
    """Notes, the label of the file, and labels of codes that do not occur."""
    options: dict[str, Any] = {"file_label": "Interviews by Ann"}
    if suffix in LABELLED:
        options["variable_value_labels"] = {"SEX": {1: "Male", 2: "Female", 3: "Ann"}}
    if suffix == ".sav":
        options["note"] = "Ask Ann"
    path = made(tmp_path, suffix, **options)
    table = read_table(path, OPTIONS)
    assert b"Ann" in path.read_bytes() or suffix == ".zsav"
    target = again(path, table)
    assert b"Ann" not in target.read_bytes()
    assert "Ann" not in str(read_codebook(File.local(target)))
    read = {".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}.get(suffix, pyreadstat.read_sav)
    assert read(target)[1].file_label == "synthetic"
    assert read(again(path, table, synthetic=False))[1].file_label in ("", None)


@pytest.mark.parametrize("suffix", LABELLED)
def test_labels_are_the_categories(suffix: str, tmp_path: Path) -> None:
    labels = {"a": {1: "Yes", 2: "No"}, "b": {1: "Other", 2: "Never", 3: "Other"}, "c": {1: "low", 2: " "}}
    frame = pd.DataFrame({"a": [1.0, 2, 1], "b": [1.0, 2, 3], "c": [1.0, 2, 1]})
    path = made(tmp_path, suffix, frame, variable_value_labels=labels)
    assert column(path, "a") == (Kind.BOOLEAN, [True, False, True])
    assert column(path, "b") == (Kind.CATEGORICAL, ["Other (1)", "Never", "Other (3)"])
    assert column(path, "c") == (Kind.CATEGORICAL, ["low", "2", "low"])
    target = again(path, read_table(path, OPTIONS))
    assert column(target, "b") == column(path, "b") and column(target, "a") == column(path, "a")
    assert column(target, "c", columns={"c": {"kind": "integer"}}) == (Kind.INTEGER, [1, 2, 1])


def test_numbers_of_which_few_are_labelled_stay_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [20.0, 30, 40, 99], "visits": [1.0, 2, 3, -9]})
    labels = {"age": {99: "99 or older"}, "visits": {-9: "No answer"}}
    path = made(tmp_path, ".dta", frame, variable_value_labels=labels)
    assert column(path, "age") == (Kind.INTEGER, [20, 30, 40, 99])
    categories = column(path, "age", columns={"age": {"kind": "categorical"}})
    assert categories == (Kind.CATEGORICAL, ["20", "30", "40", "99 or older"])
    for marker in ("-9", "No answer"):
        assert column(path, "visits", missing=["", marker]) == (Kind.INTEGER, [1, 2, 3, None])
    assert dict(read_codebook(File.local(again(path, read_table(path, OPTIONS)))).labels["age"]) == {99: "99 or older"}


def test_a_label_that_is_another_code_keeps_the_column_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 7]})
    path = made(tmp_path, ".dta", frame, variable_value_labels={"a": {1: "7", 2: "two"}})
    assert column(path, "a") == (Kind.INTEGER, [1, 2, 7])


def test_labels_and_missing_codes_of_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"code": ["M", "F", "X", "Z"]})
    labels = {"code": {"M": "Male", "F": "Female"}}
    path = made(tmp_path, ".sav", frame, variable_value_labels=labels, missing_ranges={"code": ["Z"]})
    assert column(path, "code") == (Kind.CATEGORICAL, ["Male", "Female", "X", None])
    assert column(again(path, read_table(path, OPTIONS)), "code") == column(path, "code")


def test_missing_codes_that_a_user_declared_are_missing(tmp_path: Path) -> None:
    spss = made(tmp_path, ".sav", FRAME, missing_ranges={"AGE": [30, {"lo": 40, "hi": 45}]})
    assert column(spss, "AGE") == (Kind.INTEGER, [None, None, None, 20])
    frame = pd.DataFrame({"a": pd.Series([1, 2, "a"], dtype=object)})
    labels: dict[str, Any] = {"a": {1: "Yes", 2: "No", "a": "refused"}}
    stata = made(tmp_path, ".dta", frame, missing_user_values={"a": ["a"]}, variable_value_labels=labels)
    assert column(stata, "a") == (Kind.BOOLEAN, [True, False, None])


def test_texts_that_no_code_has_make_a_column_of_texts(tmp_path: Path) -> None:
    """As surrogates of a labelled identifier do."""
    path = made(tmp_path, ".dta", variable_value_labels={"SEX": {1: "Ann", 2: "Bob"}})
    table = read_table(path, OPTIONS)
    new = Table(table.frame.assign(SEX=pd.Categorical(["S1", "S2", "S3", None])), table.schema)
    target = again(path, new)
    assert column(target, "SEX") == (Kind.CATEGORICAL, ["S1", "S2", "S3", None])
    assert b"Ann" not in target.read_bytes()


@pytest.mark.parametrize("suffix", WRITTEN)
def test_without_a_codebook_labels_are_texts(suffix: str, tmp_path: Path) -> None:
    """As for a private table, of whose file nothing is looked at."""
    (tmp_path / "people.csv").write_text("ward,stay,paid,born\nA,3,yes,2001-02-03\nB,,no,\n")
    table = read_table(tmp_path / "people.csv", OPTIONS)
    write_table(table, tmp_path / f"people{suffix}")
    found = read_table(tmp_path / f"people{suffix}", OPTIONS)
    pd.testing.assert_frame_equal(found.frame, table.frame)


@pytest.mark.parametrize(
    ("program", "written", "moment"),
    [
        *((STATA, form, "date") for form in ("%td", "%d", "%tdDD/NN/CCYY", "%-tdD_m_Y")),
        *((STATA, form, "datetime") for form in ("%tc", "%tC", "%tcCCYY-NN-DD_HH:MM:SS")),
        *((STATA, form, "time") for form in ("%tcHH:MM:SS", "%tcHH:MM")),
        *((STATA, form, None) for form in ("%9.0g", "%tm", "%tq", "%-9s")),
        *((SPSS, form, "date") for form in ("DATE9", "DATE11", "ADATE10", "EDATE8", "SDATE10", "JDATE7", "MOYR8")),
        *((SPSS, form, "datetime") for form in ("DATETIME20", "DATETIME23.2", "YMDHMS19")),
        *((SPSS, form, "time") for form in ("TIME8", "TIME11.2")),
        *((SPSS, form, None) for form in ("F8.2", "DTIME11", "DOLLAR8", "WKDAY9", "")),
        *((SAS, form, "date") for form in ("DATE9", "MMDDYY10", "YYMMDDN8", "E8601DA10", "WEEKDATE17")),
        *((SAS, form, "datetime") for form in ("DATETIME", "DATETIME22.3", "E8601DT19")),
        *((SAS, form, "time") for form in ("TIME8", "HHMM5", "TOD8")),
        *((SAS, form, None) for form in ("BEST12", "F8", "SEXFMT", None)),
    ],
)
def test_formats_say_what_numbers_mean(program: Program, written: str | None, moment: str | None) -> None:
    assert moment_of(program, written) == moment


def test_formats_and_durations_survive(tmp_path: Path) -> None:
    """Times of more than a day are durations, and stay the numbers that they are."""
    frame = pd.DataFrame({"d": [21915.0, np.nan], "m": [700.0, 701], "t": [90_000.0, 5]})
    stata = made(tmp_path, ".dta", frame[["d", "m"]], variable_format={"d": "%tdDD/NN/CCYY", "m": "%tm"})
    assert column(stata, "d")[0] is Kind.DATE and column(stata, "m") == (Kind.INTEGER, [700, 701])
    assert read_codebook(File.local(again(stata, read_table(stata, OPTIONS)))).formats["d"] == "%tdDD/NN/CCYY"
    spss = made(tmp_path, ".sav", frame[["t"]], variable_format={"t": "TIME8"})
    assert column(spss, "t") == (Kind.INTEGER, [90_000, 5])
    target = again(spss, read_table(spss, OPTIONS))
    assert column(target, "t") == (Kind.INTEGER, [90_000, 5])
    assert read_codebook(File.local(target)).formats["t"] == "TIME8"


def test_transport_files_keep_their_version(tmp_path: Path) -> None:
    for version in (5, 8):
        path = made(tmp_path, ".xpt", FRAME, file_format_version=version)
        assert read_codebook(File.local(again(path, read_table(path, OPTIONS)))).version == version


def test_short_numbers_of_stata_are_the_ones_that_were_typed(tmp_path: Path) -> None:
    pd.DataFrame({"weight": np.array([70.1, 81.35], np.float32)}).to_stata(tmp_path / "a.dta", write_index=False)
    assert column(tmp_path / "a.dta", "weight") == (Kind.DECIMAL, [70.1, 81.35])


@pytest.mark.parametrize(
    ("stored", "meant"),
    [
        ([133.799999713898, 132.0, 98.3999998569489], [133.8, 132.0, 98.4]),
        ([17.299999999999997, 4470.9400000000005], [17.3, 4470.94]),
        ([1.5e-6, 2e-6], [1.5e-6, 2e-6]),
        ([123456.789, 0.2], [123456.789, 0.2]),
        ([2 / 3, 0.1], [2 / 3, 0.1]),
    ],
)
def test_digits_that_storage_added_are_not_read(stored: list[float], meant: list[float], tmp_path: Path) -> None:
    """Weights of 133.8, as SAS keeps them where it stores few bytes, came out as 143.682551."""
    path = made(tmp_path, ".sav", pd.DataFrame({"WEIGHT": stored}))
    assert column(path, "WEIGHT") == (Kind.DECIMAL, meant)


def test_a_file_at_a_url(tmp_path: Path) -> None:
    path = made(tmp_path, ".sav")
    fsspec.filesystem("memory").pipe("/clinic/people.sav", path.read_bytes())
    found = read_table(file_at("memory://clinic/people.sav", Path()), OPTIONS)
    pd.testing.assert_frame_equal(found.frame, read_table(path, OPTIONS).frame)


def test_sas7bdat_is_read_and_comes_out_as_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No library writes such files: a transport file stands in for one."""
    made(tmp_path, ".xpt").rename(tmp_path / "people.sas7bdat")
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", pyreadstat.read_xport)
    guessed = guess_config(tmp_path / "people.sas7bdat")
    assert guessed.table.schema["BORN"].kind is Kind.DATE
    assert any(".sas7bdat is read and not written" in note for note in guessed.notes)


def test_init_proposes_the_descriptions_and_asks_about_labelled_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"visits": [1.0, 2, 3, -9] * 5, "pay": np.linspace(1, 2, 20)})
    labels = {"visits": {-9: "No answer"}}
    path = made(tmp_path, ".dta", frame, column_labels={"pay": "Pay: EUR"}, variable_value_labels=labels)
    guessed = guess_config(path)
    text = guessed.to_yaml(tmp_path)
    assert "#     pay: {description: 'Pay: EUR'}" in text and "separator" not in text
    assert any(note.startswith("visits: some of its numbers have labels") for note in guessed.notes)


@pytest.mark.parametrize("suffix", [*WRITE, ".sas7bdat"])
def test_a_broken_file_is_refused_without_its_content(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"people{suffix}"
    path.write_bytes(b"Ann,41\n" * 100)
    with pytest.raises(DataError, match="could not be read as a file of S") as caught:
        read_table(path, OPTIONS)
    assert "Ann" not in str(caught.value) and "save it again" in caught.value.problems[0].hint


def test_a_column_that_the_file_lacks_and_rows_that_are_not_there(tmp_path: Path) -> None:
    path = made(tmp_path, ".dta")
    with pytest.raises(DataError, match="names the column 'weight'"):
        read_table(path, DataOptions.model_validate({"path": "any", "columns": {"weight": {}}}))
    with pytest.raises(DataError, match="no rows"):
        read_table(made(tmp_path, ".sav", FRAME.iloc[:0]), OPTIONS)


def test_what_a_format_cannot_hold_is_said(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a name of more than thirty-two letters\n1\n2\n")
    with pytest.raises(OutputError, match="cannot be written as a file of Stata"):
        write_table(read_table(tmp_path / "people.csv", OPTIONS), tmp_path / "people.dta")
    assert not (tmp_path / "people.dta").exists()


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, load = made(tmp_path, ".dta"), builtins.__import__

    def absent(name: str, *more: Any, **options: Any) -> Any:
        if name == "pyreadstat":
            raise ImportError(name)
        return load(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match="need the package pyreadstat") as caught:
        read_table(path, OPTIONS)
    error: HybridError = caught.value
    assert error.problems[0].hint == "pip install 'hybrid-release[formats]'"


def test_letters_of_an_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoding that the configuration names is tried where the file does not say its own."""
    path, asked = made(tmp_path, ".sav"), []
    read = pyreadstat.read_sav

    def strict(place: str | io.BytesIO, encoding: str | None = None, **options: Any) -> Any:
        asked.append(encoding)
        if encoding is None:
            raise UnicodeDecodeError("utf-8", b"", 0, 1, "")
        return read(place, **options)

    monkeypatch.setattr(pyreadstat, "read_sav", strict)
    assert len(read_table(path, DataOptions(path="any", encoding="cp1252"))) == 4
    assert asked == [None, "cp1252", None, "cp1252"]
