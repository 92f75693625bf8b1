"""Effects of factors: by hand, by plain averages, and at their rate on simulated results with known effects."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from hybrid.analysis.effects import EffectModel, MetricEffects, effects, metric_effects
from tests.analysis.simulated import levels, noise

PLAN = levels(k=(5, 10, 20, 50), transition=("single", "uniform", "conditional"), order=("pre", "post"))
TRUE = {"5": -0.3, "10": -0.1, "20": 0.1, "50": 0.3}
"""Effects of k; the transition has none by itself, but with the order."""


def _truth(plan: pd.DataFrame) -> np.ndarray:
    pair = np.where(plan["transition"] == "uniform", 0.4, -0.2) * np.where(plan["order"] == "pre", 1, -1)
    return plan["k"].map(TRUE).to_numpy(float) + pair


def _effects(plan: pd.DataFrame, values: np.ndarray) -> MetricEffects:
    return metric_effects("m", plan, values, {})


def test_full_plan_by_hand() -> None:
    """Cells 1, 2 / 3, 8: rows average 1.5 and 5.5, the interaction is a quarter of 1 - 2 - 3 + 8."""
    plan = levels(a=("x", "y"), b=("u", "v"))
    found = _effects(plan, np.array([[1.0], [2.0], [3.0], [8.0]]))
    x, y = found.main["a"]
    assert x.mean is not None and y.mean is not None and x.effect is not None
    assert (x.mean.value, y.mean.value, x.effect.value) == (pytest.approx(1.5), pytest.approx(5.5), pytest.approx(-2.0))
    cells = {cell.levels: cell.effect.value for cell in found.interactions["a", "b"]}
    assert cells == {(a, b): pytest.approx(1.0 if a + b in ("xu", "yv") else -1.0) for a in "xy" for b in "uv"}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_of_a_full_plan_are_plain_averages_over_each_seed(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(len(PLAN), 3))
    for factor, rows in _effects(PLAN, values).main.items():
        for row in rows:
            mean = values[(PLAN[factor] == row.level).to_numpy()].mean()
            assert row.mean is not None and row.effect is not None
            assert row.mean.value == pytest.approx(mean)
            assert row.effect.value == pytest.approx(mean - values.mean())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_exact_where_the_model_is_true_whatever_is_missing(seed: int, missing: int) -> None:
    """An additive truth comes back from any part of the plan that still tells the factors apart."""
    rng = np.random.default_rng(seed)
    true = {name: dict(zip(PLAN[name].unique(), rng.normal(size=9), strict=False)) for name in PLAN}
    values = sum(PLAN[name].map(true[name]).to_numpy(float) for name in PLAN)[:, None] + np.zeros(2)
    values[rng.permutation(len(PLAN))[:missing]] = np.nan
    for factor, rows in _effects(PLAN, values).main.items():
        known = [true[factor][row.level] for row in rows]
        for row in rows:
            if row.effect is not None:
                assert row.effect.value == pytest.approx(true[factor][row.level] - np.mean(known), abs=1e-8)


def test_what_the_plan_does_not_tell_apart_is_not_told() -> None:
    """conditional always with cart: which of the two made the difference, nobody knows."""
    plan = pd.DataFrame({"transition": ["conditional", "uniform"] * 2, "generator": ["cart", "ctgan"] * 2})
    plan["k"] = ["5", "5", "10", "10"]
    found = _effects(plan, np.arange(8.0).reshape(4, 2) ** 2)
    assert [row.effect for row in found.main["transition"] + found.main["generator"]] == [None] * 4
    assert all(row.effect is not None for row in found.main["k"])
    assert found.interactions["transition", "generator"] == []


def test_pre_three_post_one() -> None:
    """The thesis's plan: POST exists for uniform alone, and the order is judged by uniform alone."""
    plan = pd.DataFrame(
        {"transition": ["single", "uniform", "conditional", "uniform"], "order": ["pre"] * 3 + ["post"]}
    )
    found = _effects(plan, np.array([[1.0], [2.0], [5.0], [4.0]]))
    pre, post = found.main["order"]
    assert pre.effect is not None and post.effect is not None
    assert post.effect.value - pre.effect.value == pytest.approx(2.0)
    single, uniform, conditional = (row.effect for row in found.main["transition"])
    assert single is not None and uniform is not None and conditional is not None
    assert conditional.value - uniform.value == pytest.approx(3.0)


def test_a_level_that_always_failed_is_left_out() -> None:
    values = np.ones((len(PLAN), 2))
    values[(PLAN["k"] == "50").to_numpy()] = np.nan
    assert [row.level for row in _effects(PLAN, values).main["k"]] == ["5", "10", "20"]


def test_nothing_measured() -> None:
    found = _effects(PLAN, np.full((len(PLAN), 2), np.nan))
    assert (found.configurations, found.main, found.interactions) == (0, {}, {})


def test_models_are_shared_between_metrics_with_the_same_gaps() -> None:
    matrices = {name: np.random.default_rng(at).normal(size=(len(PLAN), 2)) for at, name in enumerate("ab")}
    first, second = effects(dict.fromkeys("ab", (None, None)), PLAN, matrices)
    assert first.main["k"] == _effects(PLAN, matrices["a"]).main["k"]
    assert second.main["k"] == _effects(PLAN, matrices["b"]).main["k"]


def _rates(repeats: int, seeds: int, truth: np.ndarray) -> tuple[float, list[int]]:
    """Share of intervals that cover, and in how many simulations a main effect or an interaction was found wrongly."""
    rng = np.random.default_rng(20 + seeds)
    model = EffectModel(PLAN)
    main = {factor: model.main(factor)[1] @ truth for factor in PLAN}
    joint = {pair: model.interaction(*pair)[1] @ truth for pair in combinations(PLAN, 2)}
    covered = []
    wrong = [0, 0]
    for _ in range(repeats):
        found = metric_effects("m", PLAN, truth[:, None] + noise(PLAN, seeds, rng), {})
        families = (
            [(row.effect, value) for name in PLAN for row, value in zip(found.main[name], main[name], strict=True)],
            [
                (cell.effect, value)
                for pair, values in joint.items()
                for cell, value in zip(found.interactions[pair], values, strict=True)
            ],
        )
        for at, family in enumerate(families):
            wrong[at] += any(effect is not None and effect.found and abs(value) < 1e-9 for effect, value in family)
            for effect, value in family:
                assert effect is not None and effect.low is not None and effect.high is not None
                covered.append(effect.low <= value <= effect.high)
    return float(np.mean(covered)), wrong


def _check(repeats: int, seeds: int, truth: np.ndarray, tolerance: float) -> None:
    covered, wrong = _rates(repeats, seeds, truth)
    assert covered == pytest.approx(0.95, abs=tolerance)
    assert all(binomtest(count, repeats, 0.05, alternative="greater").pvalue > 0.001 for count in wrong)


@pytest.mark.parametrize(("seeds", "truth"), [(3, _truth(PLAN)), (3, np.zeros(len(PLAN))), (6, np.zeros(len(PLAN)))])
def test_intervals_cover_at_their_rate_and_nothing_is_found_where_nothing_is(seeds: int, truth: np.ndarray) -> None:
    # Intervals of one simulation hang together: the share that covers has a standard error of about 0.01.
    _check(150, seeds, truth, tolerance=0.035)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_intervals_cover_at_their_rate_many_times(seeds: int) -> None:
    _check(1000, seeds, np.zeros(len(PLAN)), tolerance=0.012)


def test_what_is_there_is_found() -> None:
    """With ten seeds and an effect of three standard errors of a run, the right levels are named."""
    rng = np.random.default_rng(4)
    truth = 10 * _truth(PLAN)
    found = _effects(PLAN, truth[:, None] + noise(PLAN, 10, rng))
    assert {row.level for row in found.main["k"] if row.effect and row.effect.found} >= {"5", "50"}
    assert all(cell.effect.found for cell in found.interactions["transition", "order"] if cell.levels[0] == "uniform")
