"""Usefulness by group: a group that the table serves badly is found, by hand and by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.utility.by_group import discriminator_groups, tstr_groups
from hybrid.evaluation.utility.models import brier
from hybrid.evaluation.utility.prediction import scores_of
from hybrid.evaluation.utility.prediction import tested_rows as rows_tested
from hybrid.table import Column, Kind, Role, Schema, Table

SCHEMA = Schema(
    (
        Column("origin", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("dose", Role.INSENSITIVE, Kind.DECIMAL),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL, target=True),
    )
)


def people(n: int, seed: int, wrong: bool = False) -> Table:
    """Whether the dose makes ill; the other way round for strangers, unless the table has that wrong."""
    rng = np.random.default_rng(seed)
    stranger, dose = rng.random(n) < 0.2, rng.normal(size=n)
    ill = (dose > 0) != (stranger & (not wrong))
    frame = pd.DataFrame(
        {
            "origin": pd.Categorical(np.where(stranger, "strange", "here")),
            "dose": dose + 5 * (stranger & wrong),
            "ill": pd.Categorical(np.where(ill, "yes", "no")),
        }
    )
    return Table(frame, SCHEMA)


def context(wrong: bool, **options: object) -> Context:
    return Context(people(300, 1), people(300, 2), people(300, 3, wrong), EvaluateOptions.model_validate(options))


@pytest.fixture(scope="module")
def unfair() -> Context:
    return context(wrong=True)


def test_the_badly_served_group_is_found(unfair: Context) -> None:
    found = tstr_groups(unfair, "ill")
    assert isinstance(found, Measure)
    (first, second, *_) = found.details["groups"]
    assert (first["column"], first["group"]) == ("origin", "strange")
    assert found.low is not None
    assert found.low > 0.2
    assert found.reference is not None
    assert second["value"] < found.reference < found.value
    assert "ill" not in {one["column"] for one in found.details["groups"]}


def test_the_interval_is_student_s_of_paired_differences(unfair: Context) -> None:
    found, scores = tstr_groups(unfair, "ill"), scores_of(unfair, "ill", "boosting")
    assert isinstance(found, Measure)
    assert isinstance(scores, tuple)
    assert unfair.control is not None
    rows = rows_tested(unfair, "ill")
    member = unfair.control.frame["origin"].to_numpy()[rows] == "strange"
    level = 0.95 ** (1 / found.together)
    by_scipy = ttest_rel(scores[0].errors[member], scores[1].errors[member]).confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((by_scipy.low, by_scipy.high))


def test_the_group_that_is_told_apart_is_found(unfair: Context) -> None:
    found = discriminator_groups(unfair)
    assert isinstance(found, Measure)
    assert (found.details["groups"][0]["group"], found.value) == ("strange", pytest.approx(1, abs=0.05))
    here = next(one for one in found.details["groups"] if one["group"] == "here")
    assert here["low"] < 0.6


def test_a_fair_table_serves_no_group_worse() -> None:
    fair = context(wrong=False)
    for found, least in ((tstr_groups(fair, "ill"), 0.0), (discriminator_groups(fair), 0.5)):
        assert isinstance(found, Measure)
        assert found.low is not None
        assert found.low < least


def test_small_groups_are_not_judged() -> None:
    found = tstr_groups(context(wrong=True, min_cell=100), "ill")
    assert isinstance(found, Measure)
    assert "strange" not in str(found.details)
    assert isinstance(discriminator_groups(context(wrong=True, min_cell=1000)), NotComputable)


def test_brier_is_half_the_squared_distance_from_the_truth() -> None:
    likely = np.array([[0.7, 0.3], [0.5, 0.5]])
    assert brier(likely, np.array([0, 1]), np.array([0, 1])).tolist() == pytest.approx([0.09, 0.25])
    assert brier(likely[:1], np.array([0, 1]), np.array([2])).tolist() == pytest.approx([(0.49 + 0.09 + 1) / 2])
