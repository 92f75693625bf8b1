"""Numbers as papers print them: their names, and their excess over tables without a leak."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.lab.league import league
from hybrid.lab.measurements import Contestant, is_printed, over_nulls
from tests.lab.simulated import METRICS, simulated

NULLS = {1: 0.1, 2: 0.2, 3: 0.3}


def test_excess_by_hand() -> None:
    # Mean .2, s .1, t(.975, 2) = 4.3027, sqrt(4/3): a half width of .4968.
    assert over_nulls(0.9, NULLS, None, safe=False) == pytest.approx((0.7, 0.7 - 0.49683, 0.7 + 0.49683), abs=1e-5)
    assert over_nulls(0.9, NULLS, None, safe=True) == pytest.approx((-0.7, -0.7 - 0.49683, -0.7 + 0.49683), abs=1e-5)


def test_a_table_without_a_leak_is_not_its_own_yardstick() -> None:
    # Without the second: mean .2, s .1414, t(.975, 1) = 12.7062, sqrt(3/2).
    assert over_nulls(0.2, NULLS, 2, safe=False) == pytest.approx((0.0, -2.20077, 2.20077), abs=1e-4)
    assert over_nulls(0.2, NULLS, 9, safe=False).low == pytest.approx(-0.49683, abs=1e-5)


def test_constant_numbers_are_no_leak_and_single_ones_say_nothing() -> None:
    same = dict.fromkeys(range(45), 0.1)
    assert over_nulls(0.1, same, 3, safe=False) == (0, 0, 0)
    assert over_nulls(0.1001, same, None, safe=False).low > 0
    assert math.isnan(over_nulls(0.3, {1: 0.2, 2: 0.2}, 1, safe=False).low)


def test_no_more_false_alarms_than_promised() -> None:
    rng = np.random.default_rng(8)
    draws = rng.normal(0.3, 0.02, (60, 40))
    told = [over_nulls(row[0], dict(enumerate(row)), 0, safe=False).low > 0 for row in draws.tolist()]
    # 2.5 % of 60 are 1.5; more than 6 have a probability below .001.
    assert sum(told) <= 6


@settings(max_examples=50, deadline=None)
@given(
    st.text("ab_", min_size=1, max_size=9),
    st.text("ab. _", max_size=8),
    st.sampled_from(["", "IMS", "NNAA'"]),
)
def test_names_read_back(metric: str, column: str, form: str) -> None:
    one = Contestant(metric, column, form)
    assert Contestant.parse(str(one)) == one and is_printed(str(one)) == bool(form)


def test_numbers_as_printed_are_taken_from_the_details() -> None:
    outcome = Measure(0.5, details={"paper": {"NNDR": 0.9, "other": 1.0}})
    assert REGISTRY["nndr"].printed_numbers(outcome) == {"NNDR": 0.9}
    assert REGISTRY["nndr"].printed_numbers(Measure(0.5)) == {}
    assert REGISTRY["linkability"].printed_numbers(Measure(0.5, details={"paper": None})) == {}
    assert REGISTRY["linkability"].printed_numbers(Measure(0.5, details={"paper": {"risk": math.nan}})) == {}
    assert REGISTRY["nndr"].printed_numbers(NotComputable("none")) == {}


def test_a_number_as_printed_does_not_change_the_league_of_the_metrics() -> None:
    trials, rows = simulated({"late": METRICS["late"], "sharp (printed IMS)": METRICS["sharp"]})
    found = league(trials, rows)
    alone = league(trials, rows[rows["contestant"] == "late"])
    assert [each.contestant for each in found.entries] == ["late", "sharp (printed IMS)"]
    assert found.entries[0].verdicts == alone.entries[0].verdicts
    assert found.transfers == alone.transfers and found.by_word() == alone.by_word()
    assert found.entries[1].overall.word == "trusted" and found.entries[1].relative is None
