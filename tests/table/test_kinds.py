"""Kinds: from text to value to number and back, and what every kind answers the rooms that ask."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import DataError, HierarchyError
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.spec import PERIODS, DatesSpec
from hybrid.table import Column, ColumnFormat, Kind, Role
from hybrid.table.arrow import kind_of
from hybrid.table.codings import exact_numbers, numbers_of, written
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.text import as_text, parse
from hybrid.table.typed_table import read_frame

_MOMENTS = st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1))
TEXTS: dict[Kind, st.SearchStrategy[str]] = {
    Kind.INTEGER: st.integers(-(10**15), 10**15).map(str),
    Kind.DECIMAL: st.integers(-(10**9), 10**9).map(lambda cents: f"{cents / 100:.2f}"),
    Kind.CATEGORICAL: st.sampled_from(["Ulm", "Köln", "x", "7b"]),
    Kind.BOOLEAN: st.sampled_from(["yes", "no"]),
    Kind.DATE: _MOMENTS.map(lambda moment: moment.strftime("%d.%m.%Y")),
    Kind.DATETIME: _MOMENTS.map(lambda moment: moment.strftime("%Y-%m-%d %H:%M")),
    Kind.TIME: st.times().map(lambda at: at.strftime("%H:%M:%S")),
}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", Kind)
def test_text_to_value_to_number_and_back(kind: Kind, data: st.DataObject) -> None:
    texts = data.draw(st.lists(TEXTS[kind], min_size=1, max_size=6, unique=True))
    parsed = parse(texts, kind)
    column = Column("x", Role.INSENSITIVE, kind, format=parsed.format)
    assert not parsed.bad and parsed.values.dtype == kind.type.dtype
    assert as_text(parsed.values, column).tolist() == texts
    array = kind.type.to_arrow(parsed.values)
    if kind is not Kind.CATEGORICAL:
        assert kind_of(array.type)[0] is kind
        pd.testing.assert_series_equal(kind.type.from_arrow(pa.chunked_array([array])), parsed.values)
    if not kind.is_continuous:
        return
    missing = np.append(np.zeros(len(texts), dtype=bool), True)
    numbers = np.append(numbers_of(parsed.values), np.nan)
    assert as_text(written(numbers, column), column).tolist() == [*texts, ""]
    whole = kind.type.whole(parsed.values, 100)
    assert as_text(kind.type.series(np.append(whole, 0), missing, 100), column).tolist() == [*texts, ""]
    plain = exact_numbers(parsed.values.to_numpy(dtype=kind.type.plain_dtype))
    assert (np.argsort(plain, kind="stable") == np.argsort(whole, kind="stable")).all()


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_answers_what_the_rooms_ask(kind: Kind) -> None:
    known = kind.type
    assert kind == known.name and Kind(known.name) is kind
    assert hasattr(sa, known.sql) and known.croissant.startswith("sc:") and known.datapackage and known.words
    assert all(known.plural) and set(known.periods) <= set(PERIODS)
    assert ("dates" in known.hierarchies) == bool(known.periods) == bool(known.axis) == known.has_date_format
    assert (known.measure is None) == (known.hierarchies[0] == "groups") == (not hasattr(known, "made_up"))


@pytest.mark.parametrize(
    ("texts", "shape"),
    [
        (["14:30", "09:05"], ColumnFormat(date_format="%H:%M")),
        (["14:30", "9:05"], ColumnFormat(date_format="%-H:%M")),
        (["14:30:15.2", "09:05:00.0"], ColumnFormat(date_format="%H:%M:%S.%f", decimals=1)),
    ],
)
def test_times_are_written_as_their_source_writes_them(texts: list[str], shape: ColumnFormat) -> None:
    assert parse(texts).kind is Kind.TIME and parse(texts).format == shape
    assert parse(texts, date_format=shape.date_format).format == shape


def test_a_declared_format_may_count_to_twelve() -> None:
    parsed = parse(["2:30 PM", "11:05 AM"], date_format="%I:%M %p")
    assert parsed.kind is Kind.TIME and parsed.values.dt.hour.tolist() == [14, 11]
    column = Column("x", Role.INSENSITIVE, Kind.TIME, format=parsed.format)
    assert as_text(parsed.values, column).tolist() == ["2:30 PM", "11:05 AM"]


@pytest.mark.parametrize("texts", [["3:45", "25:00"], ["2:1", "10:10"], ["24:00"], ["14:30", "14:30:15"], ["1:30:60"]])
def test_ratios_and_durations_are_no_times(texts: list[str]) -> None:
    assert parse(texts).kind is Kind.CATEGORICAL


def test_an_hour_that_the_day_does_not_have_is_named_with_file_column_and_mend(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("at\n14:30\n25:00\n25:00\n")
    options = DataOptions.model_validate({"path": "visits.csv", "columns": {"at": {"kind": "time"}}})
    with pytest.raises(DataError) as caught:
        read_table(path, options)
    (problem,) = caught.value.problems
    assert "visits.csv: column 'at' is declared time but 1 distinct values (2 rows) are not" in problem.message
    assert problem.hint and "25:00" in str(problem.values)


def test_periods_of_the_day_are_a_hierarchy() -> None:
    times = pd.Series(np.array([0, 14 * 60 + 30, 14 * 60 + 59, 23 * 60 + 59], dtype="datetime64[m]")).astype(
        "datetime64[us]"
    )
    column = Column("at", Role.QUASI_IDENTIFIER, Kind.TIME, format=ColumnFormat(date_format="%H:%M"))
    spec = DatesSpec(levels=Kind.TIME.type.usual_periods(times))  # type: ignore[arg-type]
    tree = build_hierarchy(spec, column, times)
    labels = [[tree.labels[node] for node in tree.node_of[:, level]] for level in range(tree.n_levels)]
    assert labels[0] == ["00:00", "14:30", "14:59", "23:59"]
    assert labels[1] == ["00:00-00:14", "14:30-14:44", "14:45-14:59", "23:45-23:59"]
    assert labels[4] == ["00:00-05:59", "12:00-17:59", "12:00-17:59", "18:00-23:59"]
    assert tree.high[tree.root] < np.datetime64("1970-01-02")
    assert as_text(written(np.array([-5.0, 9e10]), column), column).tolist() == ["00:00", "23:59"], "within the day"
    moved = Kind.TIME.type.within(times + np.timedelta64(1, "m"))
    assert moved.max() < pd.Timestamp("1970-01-02") and moved.min().time() == time(0, 1)


def test_hours_of_dates_with_a_time_are_a_hierarchy_and_of_dates_none() -> None:
    moments = pd.Series(pd.to_datetime(["2024-01-05 14:30", "2024-01-05 02:00"])).astype("datetime64[us]")
    column = Column("at", Role.QUASI_IDENTIFIER, Kind.DATETIME, format=ColumnFormat(date_format="%Y-%m-%d %H:%M"))
    tree = build_hierarchy(DatesSpec(levels=("hour", "day")), column, moments)
    assert {"2024-01-05 14:00-14:59", "2024-01-05"} <= set(tree.labels)
    date = Column("at", Role.QUASI_IDENTIFIER, Kind.DATE)
    with pytest.raises(HierarchyError, match="have no hour"):
        build_hierarchy(DatesSpec(levels=("hour", "day")), date, moments.dt.floor("D"))


def test_a_typed_time_beyond_the_day_is_refused() -> None:
    late = pa.array([90_000], pa.int32()).cast(pa.time32("s"))
    with pytest.raises(DataError, match="column 'at' holds times outside of the day"):
        read_frame(pa.table({"at": late}), ReadOptions())


def test_other_libraries_get_times_of_day() -> None:
    frame = pd.DataFrame({"age": [41, 63], "at": [time(14, 30), None]})
    table = read_frame(frame, ReadOptions())
    assert table.schema["at"].kind is Kind.TIME and table.schema["at"].format.date_format == "%H:%M"
    assert pa.table(table)["at"].to_pylist() == [time(14, 30), None]
    assert pa.table(table).to_pandas()["at"].tolist() == [time(14, 30), None]
