"""Dates of rows are protected by their distance from a date of the parent: who joins and opens an account does both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.protect import Protected, ProtectOptions, Start, protect
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.holders import holders, row_holders

DAY = pd.Timestamp("2000-01-01").as_unit("us")
N = 2_000


def _dates(days: np.ndarray) -> pd.Series:
    return pd.Series(DAY + pd.to_timedelta(days, unit="D")).astype("datetime64[us]")


def _accounts() -> tuple[Table, Start]:
    """Two accounts of each of 2,000 customers: the first of the day on which they joined, closed a week later."""
    rng = np.random.default_rng(3)
    joined = np.repeat(rng.integers(0, 9_000, N), 2)
    later = np.where(np.arange(2 * N) % 2, rng.integers(1, 3_000, 2 * N), 0)
    frame = pd.DataFrame({"opened": _dates(joined + later), "closed": _dates(joined + later + 7)})
    columns = (Column("opened", Role.INSENSITIVE, Kind.DATE, order=True), Column("closed", Role.INSENSITIVE, Kind.DATE))
    moved = _dates(joined + (rng.choice([-1, 1], N) * rng.integers(1, 10, N)).repeat(2))
    return Table(frame, Schema(columns), np.repeat(np.arange(N), 2)), Start(_dates(joined), moved)


def _protected(starts: bool) -> tuple[Table, Start, Protected]:
    table, start = _accounts()
    given = {"opened": start} if starts else None
    options = ProtectOptions()
    return table, start, protect(table, options, np.random.default_rng(1), ties={"closed": "opened"}, starts=given)


def _on_the_day(found: Table, start: Start) -> float:
    return float((found.frame["opened"] == start.protected)[::2].mean())


def test_an_account_is_opened_on_the_day_on_which_its_owner_joins() -> None:
    alone, together = _protected(starts=False), _protected(starts=True)
    assert _on_the_day(alone[2].table, alone[1]) < 0.1
    assert _on_the_day(together[2].table, together[1]) > 0.97
    later = (together[2].table.frame["opened"] - together[1].protected)[1::2].dt.days
    assert abs(later.mean() - 1_500) < 50 and later.min() >= 0


def test_what_is_tied_to_the_date_moves_with_it() -> None:
    _, _, found = _protected(starts=True)
    frame = found.table.frame
    assert ((frame["closed"] - frame["opened"]).dt.days == 7).mean() > 0.97
    pd.testing.assert_frame_equal(frame, found.labelled.frame)


def test_no_date_of_few_people_stays() -> None:
    table, start, _ = _protected(starts=True)
    true = replace(start, protected=start.before)
    found = protect(table, ProtectOptions(), np.random.default_rng(1), starts={"opened": true}).table
    codes, distinct = pd.factorize(table.frame["opened"])
    rare = holders(codes, len(distinct), row_holders(table))[codes] < ProtectOptions().least_holders(0)
    assert rare.any()
    same = (found.frame["opened"] == table.frame["opened"]).to_numpy()
    assert (same & rare).mean() < 0.02, "by chance alone, as where each date is redrawn on its own"


def test_a_date_beyond_those_of_the_table_is_moved_inside() -> None:
    table, start = _accounts()
    far = replace(start, protected=start.before + pd.Timedelta(days=20_000))
    found = protect(table, ProtectOptions(), np.random.default_rng(1), starts={"opened": far}).table
    assert found.frame["opened"].max() <= table.frame["opened"].max()


def test_the_order_of_the_records_does_not_matter() -> None:
    table, start = _accounts()
    order = np.random.default_rng(2).permutation(len(table))
    other, starts = table.take(order), {"opened": start.take(order)}
    found = protect(other, ProtectOptions(), np.random.default_rng(1), starts=starts).table.take(np.argsort(order))
    assert _on_the_day(found, start) > 0.97
