"""Dates as distances from a date of the parent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.constraints import Rules
from hybrid.pipeline.child_draw import DATED_ROUNDS, SELDOM, Anchor, Bounds, _held, find_anchors, find_floors
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.pipeline import Pipeline
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
    anchor = anchor.within(learned)
    back = anchor.decode(drawn, parents, owners, raw.schema["day"])
    assert anchor.beyond(back, parents, owners).tolist() == [False, False, True]
    back = anchor.clipped(back, parents, owners)
    assert back.frame["day"].max() == learned.frame["day"].max(), "a single person's last date does not come out"


def test_a_date_beyond_those_learned_is_drawn_again() -> None:
    """Who opens an account shortly before the end of a study opened it on its last day, of whom nobody did."""
    parents, _ = _tables([0, 30], [0], [0])
    _, learned = _tables([0], [0, 40], [0, 0])
    anchor = Anchor("day", "start", later=True).within(learned)
    rng = np.random.default_rng(1)

    def draw(places: np.ndarray, _: int) -> Table:
        at = np.repeat(places, 40)
        return replace(_tables([0, 30], list(rng.integers(0, 30, len(at))), list(at))[1], named_persons=at)

    table, _ = _held(draw, Rules(), Bounds((), parents, [anchor]), 2, frozenset(), seed=1)
    days = (table.frame["day"] - pd.Timestamp("2020-01-01")).dt.days.to_numpy()
    assert len(days) == 80 and days.max() <= 40 and (days == 40).sum() < 12
    assert (days[table.persons == 0] < 30).all() and (days[table.persons == 1] >= 30).all()


def test_a_row_is_replaced_by_one_of_its_own_place() -> None:
    """Of two accounts the second is no current one, however often it was drawn beyond the end."""
    people = 200
    parents, _ = _tables([0] * people, [0], [0])
    _, learned = _tables([0], [0, 40], [0, 0])
    anchor = Anchor("day", "start", later=True).within(learned)

    def draw(places: np.ndarray, attempt: int) -> Table:
        at, days = np.repeat(places, 2), np.zeros((len(places), 2), dtype=int)
        days[:, 1] = np.random.default_rng(attempt).integers(1, 80, len(places))
        kind = np.tile(["current", "savings"], len(places))
        frame = pd.DataFrame({"day": _dates(days.ravel().tolist()), "kind": kind})
        return replace(read_frame(frame, ReadOptions()), named_persons=at)

    first = draw(np.arange(people), 0)
    beyond = Bounds((), parents, [anchor])
    assert beyond.broken(first).sum() > people / 3
    found, _ = _held(draw, Rules(), beyond, people, frozenset(), seed=1)
    assert not beyond.broken(found).any()
    assert found.frame["kind"].astype(str).tolist() == ["current", "savings"] * people


def _accounts(n: int, gaps: np.ndarray, owners: np.ndarray) -> tuple[Table, Table]:
    """Accounts opened over thirty years, and days of their rows."""
    opened = np.linspace(0, 11_000, n).astype(int)
    parents = read_frame(pd.DataFrame({"opened": _dates(list(opened))}), ReadOptions())
    moments = _dates(list(opened[owners] + gaps)) + pd.Timedelta(hours=7)
    return parents, read_frame(pd.DataFrame({"booked": moments}), ReadOptions())


def test_rows_that_are_never_before_their_parent_are_drawn_so() -> None:
    """A time on the day itself is not before it; a row is drawn again, and set to the day if no draw helps."""
    rng = np.random.default_rng(1)
    owners = np.repeat(np.arange(60), 5)
    parents, rows = _accounts(60, rng.integers(0, 9_000, 300) * (rng.random(300) < 0.9), owners)
    floors = find_floors(rows, parents, owners, find_anchors(rows, parents, owners))
    assert [(one.column, one.parent) for one in floors] == [("booked", "opened")]
    hopeless = 59
    tried = []

    def draw(places: np.ndarray, attempt: int) -> Table:
        tried.append(attempt)
        gaps = np.random.default_rng(attempt).integers(-3_000, 6_000, 5 * len(places))
        at = np.repeat(places, 5)
        return replace(_accounts(60, np.where(at == hopeless, -10, gaps), at)[1], named_persons=at)

    before = draw(np.arange(60), 0)
    assert floors[0].below(before, parents, before.persons).sum() > 50
    found, _ = _held(draw, Rules(), Bounds(floors, parents), 60, frozenset(), seed=1)
    assert not floors[0].below(found, parents, found.persons).any() and max(tried) < DATED_ROUNDS
    assert (np.bincount(found.persons, minlength=60) == 5).all()
    last = found.take(found.persons == hopeless).frame["booked"]
    assert (last == parents.frame["opened"][hopeless]).all()


def test_one_row_before_its_parent_and_few_rows_bound_none() -> None:
    owners = np.repeat(np.arange(60), 5)
    gaps = np.full(300, 4_000)
    gaps[3] = -1
    parents, rows = _accounts(60, gaps, owners)
    assert find_floors(rows, parents, owners, ()) == []
    some = np.arange(20)
    assert find_floors(rows.take(some + 10), parents, owners[some + 10], ()) == []


def test_an_order_that_few_of_many_rows_could_break_is_no_chance() -> None:
    """Most accounts are old, and few payments of this year would be before the opening of another account."""
    rng, n, new = np.random.default_rng(3), 2_000, 60
    starts, owners = np.where(np.arange(n) < new, rng.integers(6_000, 6_100, n), 0), np.repeat(np.arange(n), 6)
    gaps = rng.integers(6_050, 6_150, 6 * n) - starts[owners]
    gaps[: 6 * new] = rng.integers(0, 100, 6 * new)
    parents, rows = _tables(list(starts), list(gaps), list(owners))
    others = rng.permutation(6 * n)
    assert 0 < (starts[owners] + gaps < starts[owners[others]]).mean() < SELDOM
    assert [(one.column, one.parent) for one in find_floors(rows, parents, owners, ())] == [("day", "start")]


def test_who_opens_an_account_on_the_day_of_joining_does_so_in_a_protected_table(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(5), 600
    joined, names = rng.integers(0, 9_000, n), [f"c{number}" for number in range(n)]
    opened = np.concatenate([joined, joined[: n // 2] + rng.integers(1, 900, n // 2)])
    customers = {"customer": names, "joined": _dates(list(joined)), "kind": rng.choice(["a", "b"], n)}
    accounts = {"customer": [*names, *names[: n // 2]], "opened": _dates(list(opened))}
    for name, columns in (("customers", customers), ("accounts", accounts)):
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
    date = {"kind": "date", "role": "insensitive"}
    kind = {"kind": "categorical", "role": "insensitive"}
    tables = {
        "customers": {"path": "customers.csv", "key": "customer", "columns": {"joined": date, "kind": kind}},
        "accounts": {
            "path": "accounts.csv",
            "parent": {"table": "customers", "column": "customer"},
            "order": "opened",
            "columns": {"opened": date},
        },
    }
    settings = {"person": "customers", "tables": tables, "seed": 1, "split": {"control": 0}}
    config = parse_config({**settings, "synthesize": {"generator": "cart"}}, folder=tmp_path)
    released = Pipeline(config).released
    both = released["accounts"].frame.merge(released["customers"].frame, on="customer")
    same = (both["opened"] == both["joined"]).groupby(both["customer"], observed=True).any()
    assert same.mean() > 0.95
    rare = set(pd.to_datetime(accounts["opened"])) & set(both["opened"])
    assert len(rare) < 0.2 * len(set(accounts["opened"])), "by chance alone: 900 of 9,900 days"
