"""Sampling weights: margins in tens of people, raking, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import DataError
from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.evaluation.measure import Measure
from hybrid.report.side_by_side import compare_tables
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.table.weights import calibrated, margins_of, refuse_unusable_weights, weights_of, with_weights_like


def survey(n: int, seed: int, kind: Kind = Kind.DECIMAL, decimals: int | None = None, small: int = 0) -> Table:
    """People of three regions and two sexes; those of the first region have the larger weights."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["N", "S", "W"], n, p=[0.5, 0.3, 0.2])
    region[:small] = "tiny"
    weight = np.round(rng.uniform(50, 150, n) * np.where(region == "N", 2, 1), decimals or 0)
    frame = pd.DataFrame(
        {
            "region": pd.Categorical(region),
            "employed": pd.array(rng.random(n) < 0.6, dtype="boolean"),
            "age": pd.array(rng.integers(18, 90, n), dtype="Int64"),
            "weight": pd.Series(weight).astype("Int64" if kind is Kind.INTEGER else "float64"),
        }
    )
    frame.loc[rng.random(n) < 0.05, "region"] = np.nan
    columns = (
        Column("region", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("employed", Role.INSENSITIVE, Kind.BOOLEAN),
        Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
        Column("weight", Role.WEIGHT, kind, format=ColumnFormat(decimals=decimals)),
    )
    return Table(frame, Schema(columns))


def shares(table: Table, name: str) -> pd.Series:
    weights = weights_of(table)
    found = pd.Series(weights).groupby(table.frame[name].astype(str).to_numpy()).sum()
    return found / found.sum()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from([Kind.INTEGER, Kind.DECIMAL]))
def test_released_weights_meet_the_margins_of_the_training_records(seed: int, kind: Kind) -> None:
    train, drawn = survey(2000, seed, kind), survey(1500, seed + 1, kind)
    margins = margins_of(train, 0.7)
    assert margins is not None
    found = calibrated(drawn, margins)
    for name in ("region", "employed"):
        assert (shares(found, name) - shares(train, name)).abs().max() < 0.01
    total, released = weights_of(train), weights_of(found)
    assert total is not None and released is not None
    assert released.min() > 0 and released.sum() == pytest.approx(total.sum() / 0.7, rel=0.006)
    assert found.frame.dtypes["weight"] == drawn.frame.dtypes["weight"]
    others = ["region", "employed", "age"]
    pd.testing.assert_frame_equal(found.frame[others], drawn.frame[others])


def test_margins_are_those_of_ten_people_and_more_in_steps_of_ten() -> None:
    train = survey(1000, 3, small=9)
    margins = margins_of(train, 1.0)
    assert margins is not None and margins.total == float(f"{margins.total:.3g}")
    region = next(margin for margin in margins.columns if margin.column == "region")
    assert set(region.values) == {"N", "S", "W"}, "nine people have no margin of their own"
    assert region.shares.sum() == pytest.approx(1)
    steps = region.shares / region.shares.min()
    assert region.shares.min() * 1000 / 10 == pytest.approx(round(region.shares.min() * 100), abs=0.1), steps
    assert {margin.column for margin in margins.columns} == {"region", "employed"}


def test_one_person_more_does_not_show() -> None:
    """Targets are steps of ten people: of a thousand, one more moves few of them, and then by a whole step."""
    train = survey(1001, 5)
    whole = margins_of(train, 1.0)
    assert whole is not None
    moved = []
    for left_out in range(40):
        other = margins_of(train.take(np.delete(np.arange(1001), left_out)), 1.0)
        assert other is not None
        gaps = [np.abs(a.shares - b.shares).max() for a, b in zip(whole.columns, other.columns, strict=True)]
        assert all(gap < 0.0002 or gap > 0.005 for gap in gaps), "a step, or the unit alone"
        moved.append(max(gaps) > 0.005)
    assert sum(moved) < 20


def test_a_group_without_rows_is_left_aside() -> None:
    train, drawn = survey(1000, 1), survey(500, 2)
    only = drawn.take(np.flatnonzero((drawn.frame["region"] == "N").fillna(False).to_numpy(bool)))
    margins = margins_of(train, 1.0)
    assert margins is not None
    found = calibrated(only, margins)
    assert (shares(found, "employed") - shares(train, "employed")).abs().max() < 0.01
    assert len(calibrated(only.take(np.arange(0)), margins)) == 0


def test_decimals_are_kept_and_none_is_zero() -> None:
    train, drawn = survey(500, 1, decimals=1), survey(20_000, 2, decimals=1)
    margins = margins_of(train, 1.0)
    assert margins is not None
    weights = weights_of(calibrated(drawn, margins))
    assert weights is not None and weights.min() >= 0.1 and np.allclose(weights, weights.round(1))


def test_weights_that_are_no_weights_are_refused() -> None:
    table = survey(50, 1)
    refuse_unusable_weights(table)
    for value in (np.nan, 0.0, -3.0):
        frame = table.frame.copy()
        frame.loc[7, "weight"] = value
        with pytest.raises(DataError, match="'weight': 1 sampling weights are missing or not above 0"):
            refuse_unusable_weights(Table(frame, table.schema))
    without = table.only(["age", "region"])
    refuse_unusable_weights(without)
    assert weights_of(without) is None and margins_of(without, 1.0) is None


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.DECIMAL])
def test_weights_of_a_part_are_compared_row_by_row(kind: Kind) -> None:
    """The release of 70 % of a source counts for all of it, so each of its rows for more."""
    train, drawn = survey(2000, 1, kind), survey(2000, 2, kind)
    margins = margins_of(train, 0.7)
    assert margins is not None
    released = calibrated(drawn, margins)
    alike = with_weights_like(released, train)
    means = [np.mean(weights_of(one)) for one in (train, released, alike)]  # type: ignore[arg-type]
    assert means[1] == pytest.approx(means[0] / 0.7, rel=0.01)
    assert means[2] == pytest.approx(means[0], rel=0.005)
    others = ["region", "employed", "age"]
    pd.testing.assert_frame_equal(alike.frame[others], released.frame[others])
    found = evaluate(train, drawn, {"synthetic": released}, EvaluateOptions(metrics=("lost_column",)), rng_for(1, "t"))
    (lost,) = (one.outcome for one in found.metrics)
    assert isinstance(lost, Measure) and lost.value < 0.05
    (view,) = [one for one in compare_tables(train, released).columns if one.name == "weight"]
    assert view.distance is not None and view.distance < 0.1, "real beside synthetic in a chart"
    assert with_weights_like(train, train) is train
    rest = train.only(others)
    assert with_weights_like(rest, rest) is rest
