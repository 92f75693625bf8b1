"""Times of persons with several rows keep their pace, and are no one's."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from hybrid.protect import ProtectOptions, protect
from hybrid.protect.related_dates import protect_history
from hybrid.table import Column, Kind, Role, Schema, Table

TIME = Column("at", Role.INSENSITIVE, Kind.DATETIME, order=True)


def _visits(people: int = 300, each: int = 8) -> tuple[pd.Series, np.ndarray]:
    """Rows of a year, minutes apart, some at the same moment."""
    rng = np.random.default_rng(0)
    persons = np.repeat(np.arange(people), each)
    start = np.repeat(rng.integers(0, 365 * 86_400, people), each)
    gaps = np.where(rng.random(len(persons)) < 0.3, 0, rng.integers(60, 3600, len(persons)))
    gaps[::each] = 0
    way = gaps.reshape(people, each).cumsum(axis=1).ravel()
    seconds = pd.Series(start + way)
    return pd.Timestamp("2024-01-01").as_unit("us") + pd.to_timedelta(seconds, unit="s").dt.as_unit("us"), persons


def _gaps(times: pd.Series, persons: np.ndarray) -> pd.Series:
    return times.groupby(persons).diff().dropna().dt.total_seconds()


def test_gaps_of_minutes_stay_gaps_of_minutes() -> None:
    """Each row alone was once moved by days, so that a triage came two days after its registration."""
    times, persons = _visits()
    table = Table(pd.DataFrame({"at": times}), Schema((TIME,)), persons)
    done = protect(table, ProtectOptions(), np.random.default_rng(1)).table.frame["at"]
    before, after = _gaps(times, persons), _gaps(done, persons)
    assert (after >= 0).all()
    assert abs((before == 0).mean() - (after == 0).mean()) < 0.01
    assert abs(before.quantile(0.75) - after.quantile(0.75)) < 60
    assert done.isin(times).mean() < 0.01
    assert abs((done - times).dt.total_seconds()).median() > 3600


def test_values_that_all_have_enough_holders_stay() -> None:
    years, persons = pd.Series(list(range(2000, 2006)) * 40, dtype="Int64"), np.repeat(np.arange(40), 6)
    order = Column("year", Role.INSENSITIVE, Kind.INTEGER, order=True)
    assert protect_history(years, order, 5, np.random.default_rng(0), persons, persons).values.equals(years)


@given(st.lists(st.tuples(st.integers(-1, 6), st.none() | st.integers(0, 400)), max_size=60), st.integers(0, 3))
def test_order_bounds_and_missing_values_hold(rows: list[tuple[int, int | None]], seed: int) -> None:
    persons = np.array([person for person, _ in rows], dtype=np.int64)
    values = pd.Series([value for _, value in rows], dtype="Int64")
    order = Column("day", Role.INSENSITIVE, Kind.INTEGER, order=True)
    new = protect_history(values, order, 3, np.random.default_rng(seed), persons, persons).values
    assert new.isna()[values.isna()].all()
    if new.notna().any():
        smallest, largest = values.groupby(persons).min().dropna(), values.groupby(persons).max().dropna()
        assert new.min() >= smallest.sort_values().iloc[2] and new.max() <= largest.sort_values().iloc[-3]
    both = pd.DataFrame({"person": persons, "before": values, "after": new}).dropna()
    in_turn = both[both["person"] >= 0].sort_values(["person", "before"], kind="stable")
    enough = pd.DataFrame({"v": values, "p": persons}).dropna().drop_duplicates().groupby("v").size()
    if (enough < 3).any():
        assert (in_turn.groupby("person")["after"].diff().dropna() >= 0).all()
