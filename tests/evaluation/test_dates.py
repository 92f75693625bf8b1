"""Times between dates of a row: the metric that notices exits before their entries."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import EvaluateOptions, Evaluation, Measure, NotComputable
from hybrid.evaluation.context import Context
from hybrid.evaluation.fidelity.constraints import METRICS, gaps_between_dates
from hybrid.evaluation.measure import MetricResult
from hybrid.publication.gate import judge
from hybrid.publication.policy import load_policy
from hybrid.publication.verdict import Check
from hybrid.table import Column, Kind, Role, Schema, Table

SCHEMA = Schema(tuple(Column(name, Role.INSENSITIVE, Kind.DATE) for name in ("entry", "exit")))


def stays(lengths: np.ndarray, seed: int = 0) -> Table:
    """Stays of these lengths, which begin on days of two years."""
    begins = np.random.default_rng(seed).integers(0, 700, len(lengths))
    days = {"entry": begins, "exit": begins + lengths}
    start = pd.Timestamp("2024-01-01")
    frame = pd.DataFrame({name: start + pd.to_timedelta(each, unit="D") for name, each in days.items()})
    return Table(frame.astype("datetime64[us]"), SCHEMA)


REAL = stays(np.repeat([0, 1, 2, 4], 500))
BROKEN = stays(np.repeat([-3, 1, 2, 4], 500), 1)


def measured(train: Table, table: Table, control: Table | None = None) -> Measure:
    found = gaps_between_dates(Context(train, control, table, EvaluateOptions()))
    assert isinstance(found, Measure), found
    return found


def judged(outcome: Measure | NotComputable) -> Check:
    """The check of the default policy about it."""
    result = MetricResult("gaps_between_dates", "fidelity", "synthetic", "lower", outcome)
    verdict = judge(load_policy(), Evaluation((result,)), None)
    (check,) = (one for one in verdict.checks if one.rule == "dates of a row")
    return check


def test_worked_by_hand() -> None:
    """A quarter of the stays end before they begin; the band of 2,000 rows each is 2 sqrt(log(4 / .05) / 4,000)."""
    found = measured(REAL, BROKEN, stays(np.repeat([0, 1, 2, 4], 100), 2))
    error = 2 * math.sqrt(math.log(4 / 0.05) / 4_000)
    assert (found.value, found.reference) == (pytest.approx(0.25), 0)
    assert (found.low, found.high) == (pytest.approx(0.25 - error), pytest.approx(0.25 + error))
    (pair,) = found.details["pairs"]
    assert (pair["first"], pair["second"]) == ("entry", "exit")
    assert (pair["out_of_order"], pair["out_of_order_real"]) == (0.25, 0)
    assert (pair["equal"], pair["equal_real"]) == (0, 0.25)


def test_counts_of_real_rows_are_rounded_up_to_tens() -> None:
    lengths = np.repeat([0, 1, 2, 4], 500)
    lengths[:3] = -1
    (pair,) = measured(stays(lengths), REAL).details["pairs"]
    assert pair["out_of_order_real"] == 10 / 2_000
    assert pair["out_of_order"] == 0


def test_rows_of_persons_are_no_more_than_their_persons() -> None:
    people = np.repeat(np.arange(500), 4)
    alone, few = (
        measured(REAL, REAL),
        measured(replace(REAL, named_persons=people), replace(REAL, named_persons=people)),
    )
    assert alone.high is not None and few.high == pytest.approx(2 * alone.high)


def test_broken_stays_are_a_review_and_kept_ones_pass() -> None:
    shuffled = Table(REAL.frame.assign(exit=BROKEN.frame["exit"]), SCHEMA)
    assert judged(measured(REAL, shuffled)).status == "review"
    assert judged(measured(REAL, BROKEN)).status == "review"
    assert judged(measured(REAL, stays(np.repeat([0, 1, 2, 4], 500), 3))).status == "pass"
    metric = next(metric for metric in METRICS if metric.name == "gaps_between_dates")
    assert metric.copy == measured(REAL, REAL).value == 0


def test_tables_without_dates_that_lie_close_together_are_not_judged() -> None:
    rng = np.random.default_rng(0)
    found = gaps_between_dates(Context(stays(rng.integers(0, 2_000, 400)), None, REAL, EvaluateOptions()))
    assert isinstance(found, NotComputable) and found.lacks == "tied_dates"
    assert not judged(found).applies


def test_a_table_without_any_pair_of_dates_is_as_far_as_can_be() -> None:
    empty = Table(REAL.frame.assign(exit=pd.Series(pd.NaT, index=REAL.frame.index, dtype="datetime64[us]")), SCHEMA)
    found = measured(REAL, empty)
    assert (found.value, found.low) == (1.0, 0.0)
