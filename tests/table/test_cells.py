from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.table.cells import MOST_CATEGORIES, MOST_INTERVALS, Cells, column_cells

MINIMUM = 5


def column(kind: Kind) -> Column:
    return Column("x", Role.INSENSITIVE, kind)


def part_of(values: pd.Series, of: Column, minimum: int, persons: np.ndarray | None = None) -> Cells | None:
    return column_cells(Table(values.rename("x").to_frame(), Schema((of,)), persons), "x", minimum)


def counts_of(values: pd.Series, kind: Kind, minimum: int = MINIMUM) -> np.ndarray:
    cells = part_of(values, column(kind), minimum)
    assert cells is not None
    return np.bincount(cells.assign(values), minlength=len(cells) + 1)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6), st.integers(0, 12)), min_size=1, max_size=300),
    st.integers(2, 12),
)
def test_no_interval_holds_a_small_group(numbers: list[int | None], minimum: int) -> None:
    values = pd.Series(numbers, dtype="Int64")
    cells = part_of(values, column(Kind.INTEGER), minimum)
    if cells is None:
        return
    codes = cells.assign(values)
    counts = np.bincount(codes, minlength=len(cells) + 1)[:-1]
    assert ((counts == 0) | (counts >= minimum)).all()
    assert counts[0] >= minimum and counts[-1] >= minimum, "the open ends are never empty"
    assert (codes[values.isna().to_numpy()] == len(cells)).all()
    assert sum(cells.slots) == len(cells.edges) + 1 <= MOST_INTERVALS + 1


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([*"abcdefghijklmnopqrst", None]), min_size=1, max_size=120), st.integers(2, 12))
def test_no_category_of_a_small_group_is_named(letters: list[str | None], minimum: int) -> None:
    values = pd.Series(letters, dtype=object).astype("category")
    cells = part_of(values, column(Kind.CATEGORICAL), minimum)
    counts = values.value_counts()
    if cells is None:
        assert counts.sum() < minimum
        return
    named = cells.labels[:-1]
    assert all(counts[name] >= minimum for name in named)
    assert len(cells) <= MOST_CATEGORIES + 1
    pooled = counts.sum() - counts[list(named)].sum()
    assert cells.hidden == (0 < pooled < minimum)
    assert np.bincount(cells.assign(values), minlength=len(cells) + 1)[-2] == pooled


def test_years_have_no_separator_of_thousands() -> None:
    cells = part_of(pd.Series(np.repeat(np.arange(2003, 2010), 50)), column(Kind.INTEGER), MINIMUM)
    assert cells is not None and cells.edges == ("2004", "2005", "2006", "2007", "2008", "2009")
    assert cells.labels[0] == "below 2004"


def test_bounds_are_round_and_not_extreme_values() -> None:
    rng = np.random.default_rng(0)
    values = pd.Series(np.append(rng.normal(50, 10, 5000), [123456.789, -987.654321]))
    cells = part_of(values, column(Kind.DECIMAL), MINIMUM)
    assert cells is not None
    edges = [float(edge.replace(",", "")) for edge in cells.edges]
    assert min(edges) > 20 and max(edges) < 80
    assert all(edge == round(edge) for edge in edges)


def test_few_records_far_out_do_not_stretch_the_axis() -> None:
    values = pd.Series([*np.linspace(0, 50, 80), 7_000_000.0, 8_000_000.0])
    cells = part_of(values, column(Kind.DECIMAL), MINIMUM)
    assert cells is not None
    assert max(float(edge.replace(",", "")) for edge in cells.edges) <= 50
    assert cells.slots[0] == cells.slots[-1] == 1


def test_integers_get_whole_bounds() -> None:
    values = pd.Series(np.repeat(np.arange(7), 20), dtype="Int64")
    cells = part_of(values, column(Kind.INTEGER), MINIMUM)
    assert cells is not None
    assert cells.labels[0] == "below 1"
    assert cells.labels[-1] == "6 and above"
    assert (counts_of(values, Kind.INTEGER)[:-1] == 20).all()


def test_long_tails_get_growing_bounds() -> None:
    values = pd.Series(np.concatenate([np.zeros(900), np.geomspace(1, 1e6, 100)]))
    cells = part_of(values, column(Kind.DECIMAL), MINIMUM)
    assert cells is not None
    assert {"10", "1,000", "100,000"} <= set(cells.edges)


@pytest.mark.parametrize(
    ("days", "edge"),
    [(10, "2023-01-05"), (150, "2023-01-09"), (700, "2023-03"), (2000, "2023-04"), (9000, "2024"), (40_000, "2030")],
)
def test_dates_are_parted_at_calendar_bounds(days: int, edge: str) -> None:
    start = np.datetime64("2023-01-01", "us")
    values = pd.Series(start + np.linspace(0, days, 4000).astype("timedelta64[D]"), dtype="datetime64[us]")
    cells = part_of(values, column(Kind.DATE), MINIMUM)
    assert cells is not None
    assert edge in cells.edges


def test_dates_beyond_nanoseconds() -> None:
    values = pd.Series(np.array(["0900-01-01", "1500-06-01", "2900-01-01"] * 10, dtype="datetime64[us]"))
    cells = part_of(values, column(Kind.DATE), MINIMUM)
    assert cells is not None
    assert counts_of(values, Kind.DATE)[:-1].sum() == 30


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("n", [0, 4])
def test_too_few_values_are_not_parted(kind: Kind, n: int) -> None:
    sample = {Kind.CATEGORICAL: "a", Kind.DATE: "2023-01-01", Kind.DATETIME: "2023-01-01", Kind.BOOLEAN: True}
    values = pd.Series([sample.get(kind, 1)] * n + [None] * 50).astype(DTYPES[kind])
    assert part_of(values, column(kind), MINIMUM) is None


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.DECIMAL, Kind.DATE])
def test_a_constant_number_is_not_shown(kind: Kind) -> None:
    values = pd.Series([np.datetime64("2023-01-01") if kind is Kind.DATE else 7] * 50).astype(DTYPES[kind])
    assert part_of(values, column(kind), MINIMUM) is None


def test_huge_integers() -> None:
    values = pd.Series([2**62, -(2**62), 0] * 30, dtype="Int64")
    assert counts_of(values, Kind.INTEGER)[:-1].sum() == 90


def test_booleans_are_spelled_as_in_the_file_and_categories_as_they_are() -> None:
    def labels(kind: Kind, values: pd.Series) -> set[str]:
        spelled = replace(column(kind), format=ColumnFormat(true="yes", false="no"))
        cells = part_of(values, spelled, MINIMUM)
        assert cells is not None
        return set(cells.labels)

    texts = pd.Series(["True", "False"] * 10)
    assert {"yes", "no"} <= labels(Kind.BOOLEAN, texts.map({"True": True, "False": False}).astype("boolean"))
    assert {"True", "False"} <= labels(Kind.CATEGORICAL, texts)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=200),
    st.sampled_from([Kind.INTEGER, Kind.CATEGORICAL]),
    st.integers(2, 8),
)
def test_cells_count_people_however_many_rows_they_have(rows: list[tuple[int, int]], kind: Kind, minimum: int) -> None:
    persons, numbers = (np.array(side, dtype=np.int64) for side in zip(*rows, strict=True))
    values = pd.Series(numbers).astype(str).astype("category") if kind is Kind.CATEGORICAL else pd.Series(numbers)
    values = values.astype(DTYPES[kind])
    cells = part_of(values, column(kind), minimum, persons)
    again = part_of(pd.concat([values] * 3, ignore_index=True), column(kind), minimum, np.tile(persons, 3))
    assert cells is None if again is None else cells is not None and again.labels == cells.labels
    if cells is not None:
        codes = cells.assign(values)
        people = [len(set(persons[codes == at].tolist())) for at in range(len(cells) - (kind is Kind.CATEGORICAL))]
        assert all(count == 0 or count >= minimum for count in people)


def test_bounds_do_not_tell_of_the_amounts_of_one_person_with_many_rows() -> None:
    values = pd.Series(np.append(np.linspace(0, 50, 100), [7_000_000.0] * 100))
    cells = part_of(values, column(Kind.DECIMAL), MINIMUM, np.append(np.arange(100), [100] * 100))
    assert cells is not None and max(float(edge) for edge in cells.edges) <= 50
