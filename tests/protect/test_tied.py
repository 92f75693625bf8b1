"""Dates of a row are protected by their gaps: no stay is drawn apart, and no one's stay is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.evaluation.fidelity.histories import ks_distance
from hybrid.protect import ProtectOptions, protect
from hybrid.protect.related_dates import protect_ties
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.holders import holders

TIES = {"discharged": "admitted"}
SCHEMA = Schema(tuple(Column(name, Role.INSENSITIVE, Kind.DATE) for name in ("admitted", "discharged")))
START = pd.Timestamp("2020-01-01").as_unit("us")


def _stays(n: int = 3_000, days: int = 900, longest: int = 214) -> Table:
    """Stays of some days, of which one lasts far longer than all others."""
    rng = np.random.default_rng(0)
    day, length = rng.integers(0, days, n), rng.geometric(0.25, n) - 1
    length[7] = longest
    return _table(day, length)


def _table(day: np.ndarray, length: np.ndarray, persons: np.ndarray | None = None) -> Table:
    columns = {"admitted": day, "discharged": day + length}
    frame = {
        name: pd.Series(START + pd.to_timedelta(days, unit="D")).astype("datetime64[us]")
        for name, days in columns.items()
    }
    return Table(pd.DataFrame(frame), SCHEMA, persons)


def _lengths(table: Table) -> np.ndarray:
    return np.asarray((table.frame["discharged"] - table.frame["admitted"]).dt.days)


def _protected(table: Table, seed: int = 1, ties: dict[str, str] = TIES, order: Schema = SCHEMA) -> Table:
    whole = replace(table, schema=order)
    return protect(whole, ProtectOptions(), np.random.default_rng(seed), ties=ties).table


def test_stays_stay_as_long_as_they_were_and_end_after_they_begin() -> None:
    """Each date alone was once moved by days: a quarter of the stays ended before they began."""
    table = _stays()
    alone, tied = _lengths(_protected(table, ties={})), _lengths(_protected(table))
    assert (alone < 0).mean() > 0.1
    assert (tied >= 0).all()
    assert ks_distance(_lengths(table), tied) < 0.01 < 0.2 < ks_distance(_lengths(table), alone)
    moved = (_protected(table).frame["admitted"] != table.frame["admitted"]).mean()
    assert moved > 0.4


def test_a_stay_of_one_person_is_no_longer_there() -> None:
    table = _stays()
    fifth = np.sort(_lengths(table))[-5]
    for seed in range(5):
        assert _lengths(_protected(table, seed)).max() <= fifth < 214


def test_a_date_of_few_does_not_survive_as_the_sum_of_what_many_share() -> None:
    """Thirty admissions a day, stays of one day: only who stays nine days leaves on that day, as one of many such."""
    rng = np.random.default_rng(2)
    day = np.repeat(np.arange(0, 200, 20), 60)
    length = np.where(rng.random(len(day)) < 0.8, 1, 9 + rng.integers(0, 8, len(day)))
    table = _table(day, length)
    places = (table.frame["discharged"] - START).dt.days.to_numpy()
    rare = holders(places, int(places.max()) + 1, table.persons)[places] < 5
    assert 50 < rare.sum() < 300
    kept = [
        (_protected(table, seed).frame["discharged"] == table.frame["discharged"])[rare].mean() for seed in range(5)
    ]
    assert np.mean(kept) < 0.15
    lengths = _lengths(_protected(table))
    assert ks_distance(_lengths(table), lengths) < 0.01


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(0, 12), st.booleans()), min_size=1, max_size=80),
    st.integers(0, 3),
)
def test_bounds_missing_values_and_the_order_of_rows(rows: list[tuple[int, int | None, bool]], seed: int) -> None:
    day = np.array([day for day, _, _ in rows])
    table = _table(day, np.array([length or 0 for _, length, _ in rows]))
    frame = table.frame.assign(
        admitted=table.frame["admitted"].mask([gone for *_, gone in rows]),
        discharged=table.frame["discharged"].mask([length is None for _, length, _ in rows]),
    )
    table = Table(frame, SCHEMA)
    new = _protected(table, seed).frame
    for name, before in frame.items():
        assert new[name].isna()[before.isna()].all()
        known = before.dropna().sort_values()
        if new[name].notna().any():
            assert known.iloc[min(4, len(known) - 1)] <= new[name].min()
            assert new[name].max() <= known.iloc[-min(5, len(known))]
    mixed = np.random.default_rng(seed).permutation(len(frame))
    pd.testing.assert_frame_equal(_protected(table.take(mixed), seed).frame, new.iloc[mixed].reset_index(drop=True))


def test_a_date_whose_start_is_missing_is_redrawn_on_its_own() -> None:
    table = _stays(600)
    gone = np.arange(600) % 3 == 0
    frame = table.frame.assign(admitted=table.frame["admitted"].mask(gone))
    own = {name: _protected(Table(frame, SCHEMA), ties={}).frame[name] for name in frame}
    new = protect_ties(Table(frame, SCHEMA), own, TIES, 5, np.random.default_rng(1))
    assert new["discharged"][gone].equals(own["discharged"][gone])
    assert new["discharged"].notna().all()


def test_histories_keep_their_pace_beside_tied_dates() -> None:
    """The column that orders the rows of persons is protected by its own rule, whatever is tied to it."""
    rng = np.random.default_rng(0)
    persons = np.repeat(np.arange(300), 4)
    day = np.sort(rng.integers(0, 700, (300, 1)) + rng.integers(0, 40, (300, 4)), axis=1).ravel()
    table = _table(day, rng.geometric(0.3, len(day)), persons)
    order = Schema((Column("admitted", Role.INSENSITIVE, Kind.DATE, order=True), SCHEMA["discharged"]))
    alone, tied = _protected(table, ties={}, order=order), _protected(table, order=order)
    assert tied.frame["admitted"].equals(alone.frame["admitted"])
    assert ks_distance(_lengths(table), _lengths(tied)) < 0.03


def test_one_person_with_many_long_stays_counts_once() -> None:
    rng = np.random.default_rng(0)
    persons = np.append(np.arange(600), np.full(8, 1_000))
    length = np.append(rng.integers(0, 10, 600), np.full(8, 90))
    table = _table(np.append(rng.integers(0, 300, 600), rng.integers(0, 200, 8)), length, persons)
    assert _lengths(_protected(table)).max() <= 9
