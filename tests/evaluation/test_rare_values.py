"""Metric ``rare_values``: worked by hand, copies, no leak, unequal control sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation.measure import Measure
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.evaluation.small_tables import measured, small


def visits(rng: np.random.Generator, n: int) -> Table:
    """Visits with a long tail of diagnoses and an exact amount."""
    diagnosis = [f"D{at}" for at in rng.zipf(1.5, n).clip(max=5000)]
    kinds = {"diagnosis": Kind.CATEGORICAL, "amount": Kind.DECIMAL, "ward": Kind.CATEGORICAL}
    cells = {
        "diagnosis": diagnosis,
        "amount": rng.lognormal(8, 1, n).round(2),
        "ward": rng.choice(list("abcde"), n).tolist(),
    }
    frame = pd.DataFrame({name: pd.Series(cells[name], dtype=DTYPES[kind]) for name, kind in kinds.items()})
    return Table(frame, Schema(tuple(Column(name, Role.INSENSITIVE, kind) for name, kind in kinds.items())))


def test_worked_by_hand() -> None:
    """b is held by one of train, c by one of control; three cells of ten hold b and one holds c: .3 - .1."""
    ward = ("ward", Kind.CATEGORICAL, Role.INSENSITIVE)
    train = small([("a",)] * 9 + [("b",)], ward)
    control = small([("a",)] * 9 + [("c",)], ward)
    table = small([("a",)] * 6 + [("b",)] * 3 + [("c",)], ward)
    found = measured("rare_values", train, control, table)
    assert found.value == pytest.approx(0.2) and found.reference == pytest.approx(0.1)
    assert found.details["columns"]["ward"] == pytest.approx({"train": 0.3, "control": 0.1, "excess": 0.2})
    assert found.excess is not None and found.excess[0] == found.value and found.excess[1] < 0 < found.excess[2]


@pytest.mark.parametrize("share", [1.0, 3 / 7, 1 / 5])
def test_a_copy_scores_about_the_same_with_a_smaller_control(share: float) -> None:
    rng = np.random.default_rng(4)
    train, control = visits(rng, 2100), visits(rng, int(2100 * share))
    copied = measured("rare_values", train, control, train)
    assert copied.excess is not None and copied.excess[1] > 0.8
    assert copied.value == pytest.approx(1.0, abs=0.1) and copied.details["worst_column"] == "amount"


def test_one_per_cent_copied_singletons_are_seen_and_fresh_people_are_no_leak() -> None:
    alarms = seen = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        train, control, fresh = (visits(rng, 1000) for _ in range(3))
        honest = measured("rare_values", train, control, fresh)
        assert honest.excess is not None
        alarms += honest.excess[1] > 0
        leaked = fresh.frame.copy()
        leaked.loc[:29, "amount"] = train.frame["amount"][:30]
        caught: Measure = measured("rare_values", train, control, Table(leaked, fresh.schema))
        assert caught.excess is not None
        seen += caught.excess[1] > 0.002
    assert alarms <= 1 and seen >= 18


def test_values_of_enough_training_people_are_not_rare_beside_a_small_control() -> None:
    """Protection keeps what five training people hold, which few of a small control do: no leak."""
    rng = np.random.default_rng(1)
    train, control, fresh = visits(rng, 4000), visits(rng, 1000), visits(rng, 4000)
    kept = train.frame["diagnosis"].value_counts().loc[lambda held: held >= 5].index
    protected = fresh.take(np.flatnonzero(fresh.frame["diagnosis"].isin(kept)))
    found = measured("rare_values", train, control, protected)
    assert found.details["columns"]["diagnosis"] == {"train": 0.0, "control": 0.0, "excess": 0.0}


def test_details_hold_shares_and_no_value() -> None:
    rng = np.random.default_rng(4)
    found = measured("rare_values", visits(rng, 300), visits(rng, 300), visits(rng, 300))
    assert set(found.details) == {"worst_column", "holders", "columns", "interval"}
    assert not any(str(value).startswith("D") for value in found.details.values())
