from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.analysis.pareto import pareto_front
from hybrid.analysis.ranking import best_overall, best_per_metric
from tests.analysis.simulated import PRIVACY, UTILITY, levels, simulated

PLAN = levels(k=(5, 10, 20))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
def test_front_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    x, y = np.array(points, dtype=float).T
    beaten = [
        any((a >= c and b >= d) and (a > c or b > d) for a, b in zip(x, y, strict=True))
        for c, d in zip(x, y, strict=True)
    ]
    np.testing.assert_array_equal(pareto_front(x, y), ~np.array(beaten))


def test_front_leaves_out_what_is_unknown() -> None:
    front = pareto_front(np.array([np.nan, 1.0]), np.array([9.0, 0.0]))
    np.testing.assert_array_equal(front, [False, True])


def test_best_by_each_metric() -> None:
    """Lower is better for singling out, higher for TSTR."""
    risk = np.array([[0.3, 0.31], [0.1, 0.12], [0.2, 0.2]])
    useful = np.array([[0.9, 0.91], [0.7, 0.7], [0.8, 0.93]])
    alone = np.full((3, 2), 0.95)
    found = simulated(PLAN, {PRIVACY: risk, UTILITY: useful, UTILITY.replace("synthetic", "baseline"): alone})
    best = {each.column.name: each for each in best_per_metric(found, [found.columns[n] for n in (PRIVACY, UTILITY)])}
    assert (best[PRIVACY].configuration, best[PRIVACY].wins) == ("c2", 2)
    assert (best[UTILITY].configuration, best[UTILITY].wins) == ("c1", 1)
    assert best[UTILITY].gain is not None and best[UTILITY].gain.value == pytest.approx(-0.045)
    assert best[PRIVACY].gain is None


def test_interval_of_the_best_holds_for_all_together() -> None:
    """Three configurations: the level of each is .95 ** (1/3), t of one degree of freedom tan(pi p / 2)."""
    useful = np.array([[0.9, 0.94], [0.7, 0.7], [0.8, 0.93]])
    found = simulated(PLAN, {UTILITY: useful})
    (best,) = best_per_metric(found, [found.columns[UTILITY]])
    assert best.value.wide_high == pytest.approx(0.92 + 0.02 * np.tan(np.pi * 0.95 ** (1 / 3) / 2))


def test_best_by_the_other_seeds() -> None:
    """Without seed 1 c3 is the best (.93 in seed 2), without seed 2 c1: they have .8 and .91 in the seed left out."""
    useful = np.array([[0.9, 0.91], [0.7, 0.7], [0.8, 0.93]])
    found = simulated(PLAN, {UTILITY: useful})
    (best,) = best_per_metric(found, [found.columns[UTILITY]])
    assert best.again == pytest.approx((0.8 + 0.91) / 2)


def test_metric_that_is_the_same_for_all_has_no_best() -> None:
    found = simulated(PLAN, {PRIVACY: np.zeros((3, 2))})
    assert best_per_metric(found, [found.columns[PRIVACY]]) == []


def test_overall_weighs_privacy_and_utility_alike() -> None:
    """c1 is most useful and least private, c2 second in both, c3 third in utility and best in privacy."""
    risk = np.array([[0.3, 0.3], [0.2, 0.2], [0.1, 0.1]])
    useful = np.array([[0.9, 0.9], [0.8, 0.8], [0.1, 0.1]])
    even = best_overall(simulated(PLAN, {PRIVACY: risk, UTILITY: useful}))
    assert {each.configuration: each.rank.value for each in even} == {"c1": 2.0, "c2": 2.0, "c3": 2.0}
    better = best_overall(simulated(PLAN, {PRIVACY: risk, UTILITY: useful[[1, 0, 2]]}))
    assert [each.configuration for each in better] == ["c2", "c3", "c1"]
    assert better[0].rank.value == 1.5 and (better[0].privacy, better[0].usefulness) == (2.0, 1.0)


def test_metric_without_any_number_does_not_empty_the_ranking() -> None:
    columns = {PRIVACY: np.arange(6.0).reshape(3, 2), UTILITY: np.full((3, 2), np.nan)}
    assert [each.configuration for each in best_overall(simulated(PLAN, columns))] == ["c1", "c2", "c3"]


def test_nothing_measured() -> None:
    assert best_overall(simulated(PLAN, {PRIVACY: np.full((3, 2), np.nan)})) == []
