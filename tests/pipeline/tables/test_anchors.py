"""Dates as distances from a date of the parent."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.pipeline.child_draw import find_anchors
from hybrid.table import Table
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame


def _dates(days: list[int]) -> pd.Series:
    return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"))


def _tables(starts: list[int], gaps: list[int], owners: list[int]) -> tuple[Table, Table]:
    parents = read_frame(pd.DataFrame({"start": _dates(starts), "born": _dates([0] * len(starts))}), ReadOptions())
    days = [starts[owner] + gap for owner, gap in zip(owners, gaps, strict=True)]
    rows = read_frame(pd.DataFrame({"day": _dates(days)}), ReadOptions())
    return parents, rows


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=4, max_size=20))
def test_decoding_gives_the_dates_back(pairs: list[tuple[int, int]]) -> None:
    owners, gaps = [owner for owner, _ in pairs], [gap for _, gap in pairs]
    parents, rows = _tables([0, 100, 200, 300], gaps, owners)
    at = np.array(owners)
    for found in find_anchors(rows, parents, at):
        anchor = found.within(rows)
        assert (anchor.parent, anchor.later) == ("start", True)
        distances = anchor.encode(rows, parents, at)
        assert (distances.frame["day"] == np.array(gaps) * 86_400_000_000).all()
        back = anchor.decode(distances, parents, at, rows.schema["day"])
        pd.testing.assert_frame_equal(back.frame, rows.frame, check_dtype=False)


def test_a_date_that_does_not_follow_the_parents_is_learned_as_it_is() -> None:
    parents, rows = _tables([0, 1, 2], [0, 200, 400, 90], [0, 1, 2, 0])
    assert find_anchors(rows, parents, np.array([0, 1, 2, 0])) == []


def test_distances_before_the_parent_are_cut_where_no_real_row_has_one() -> None:
    parents, rows = _tables([0, 100, 200], [0, 1, 2], [0, 1, 2])
    owners = np.arange(3)
    (anchor,) = find_anchors(rows, parents, owners)
    protected, _ = _tables([0, 100, 200], [0, -1, 1], [0, 1, 2])[::-1]
    assert anchor.encode(protected, parents, owners).frame["day"].tolist() == [0, 0, 86_400_000_000]


def test_drawn_dates_stay_within_those_learned() -> None:
    parents, raw = _tables([0, 100, 200], [0, 5, 50], [0, 1, 2])
    _, learned = _tables([0, 100, 200], [0, 5, 9], [0, 1, 2])
    owners = np.arange(3)
    (anchor,) = find_anchors(raw, parents, owners)
    drawn = anchor.encode(raw, parents, owners)
    back = anchor.within(learned).decode(drawn, parents, owners, raw.schema["day"])
    assert back.frame["day"].max() == learned.frame["day"].max(), "a single person's last date does not come out"
