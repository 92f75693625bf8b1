"""Models against statsmodels 0.14 and by properties; formulas as they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.estimates import Design, ModelFormula, NotEstimable, combine, estimate
from hybrid.estimates.models import PartialLikelihood

PEOPLE = pd.DataFrame(
    {
        "days": [1, 2, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8],
        "died": [1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0],
        "x": [2.0, 1, 4, 3, 0, 5, 2, 1, 3, 0, 1, 2],
        "m": [0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1],
    }
)


@pytest.mark.parametrize(
    ("formula", "values", "errors"),
    [
        ("Surv(days, died) ~ x + m", [0.04480484, 0.34948225], [0.26445221, 0.73729543]),
        ("died ~ x + m", [1.03475811, -0.55995234, 2.11110006], [1.31121293, 0.53181858, 1.63634021]),
        ("days ~ x + m", [5.21428571, -0.48051948, 0.49350649], [1.34543442, 0.48679649, 1.43309006]),
    ],
)
def test_coefficients_and_errors_are_those_of_statsmodels(
    formula: str, values: list[float], errors: list[float]
) -> None:
    found = estimate(formula, PEOPLE)
    assert found.estimates == pytest.approx(values, abs=1e-6)
    assert found.errors == pytest.approx(errors, abs=1e-6)


def test_a_mean_and_a_share_by_hand() -> None:
    mean = estimate("x ~ 1", PEOPLE)
    assert mean.estimates == [2.0] and mean.errors**2 == pytest.approx(26 / 11 / 12)
    share = estimate("died ~ 1", PEOPLE.assign(died=np.where(PEOPLE["died"] == 1, "yes", "no")))
    assert share.names == ("(share of yes)",)
    assert share.estimates == pytest.approx([8 / 12]) and share.errors**2 == pytest.approx(8 / 12 * 4 / 12 / 11)


def test_a_weighted_mean_by_hand() -> None:
    """Weights 1, 1, 2 of 0, 4, 6: mean 16/4 = 4; residuals times weights -4, 0, 4; variance 3/2 (16 + 16) / 4^2 = 3."""
    frame = pd.DataFrame({"y": [0.0, 4.0, 6.0, 9.0, 9.0], "w": [1.0, 1.0, 2.0, 0.0, None]})
    found = estimate("y ~ 1", frame, weights="w")
    assert found.estimates == pytest.approx([4.0]) and found.errors**2 == pytest.approx([3.0])


def test_a_weighted_logistic_model_of_two_groups_by_hand() -> None:
    """A weighted share p has the variance n/(n - 1) sum (w (y - p))^2 / W^2, and its log odds that over (p q)^2."""
    frame = PEOPLE.assign(w=np.arange(1, 13.0))
    found = estimate("died ~ m", frame, weights="w", least=1)
    odds, variances = [], []
    for _, group in frame.groupby("m"):
        p = np.average(group["died"], weights=group["w"])
        scores = group["w"] * (group["died"] - p)
        odds.append(np.log(p / (1 - p)))
        variances.append(12 / 11 * (scores**2).sum() / group["w"].sum() ** 2 / (p * (1 - p)) ** 2)
    assert found.estimates == pytest.approx([odds[0], odds[1] - odds[0]], abs=1e-6)
    assert found.errors**2 == pytest.approx([variances[0], sum(variances)], abs=1e-6)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 4), min_size=12, max_size=12), st.floats(0.01, 100))
def test_weights_are_repetitions_and_their_scale_means_nothing(weights: list[int], scale: float) -> None:
    frame = PEOPLE.assign(w=weights)
    repeated = PEOPLE.loc[np.repeat(PEOPLE.index, weights)]
    scaled = frame.assign(w=np.array(weights) * scale)
    for formula in ("days ~ x + m", "x ~ 1"):
        found = estimate(formula, frame, weights="w")
        assert found.estimates == pytest.approx(estimate(formula, repeated).estimates, abs=1e-6)
        there = estimate(formula, scaled, weights="w")
        assert there.errors == pytest.approx(found.errors, rel=1e-6)


def test_a_weighted_predictor_that_decides_the_outcome_has_no_estimate() -> None:
    frame = pd.DataFrame({"y": [0] * 20 + [1, 0] * 20, "g": ["a"] * 20 + ["b"] * 40, "w": np.arange(60) % 7 + 1.0})
    with pytest.raises(NotEstimable, match="decides the outcome"):
        estimate("y ~ g", frame, weights="w")


def test_what_says_how_rows_were_drawn_and_cannot_be_used_is_refused() -> None:
    frame = PEOPLE.assign(w=1.0, t="a")
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("x ~ 1", {"weights": "t"}, "no column of numbers"),
        ("x ~ 1", {"weights": "nowhere"}, "weights: 'nowhere' is no column"),
        ("x ~ 1", {"strata": "nowhere", "clusters": "m"}, "strata: 'nowhere' is no column"),
        ("x ~ w", {"weights": "w"}, "is the sampling weight"),
    ]
    for formula, survey, said in wrong:
        with pytest.raises(ConfigError, match=said):
            estimate(formula, frame, **survey)
    with pytest.raises(NotEstimable, match="a stratum has a single cluster"):
        estimate("x ~ 1", frame.assign(h=frame.index == 0), strata="h")
    with pytest.raises(NotEstimable, match="too few clusters for so many coefficients"):
        estimate("days ~ x + m", frame.assign(c=frame.index % 3), clusters="c")


DRAWN = pd.DataFrame({"y": [1.0, 3, 4, 2, 6, 8], "h": list("aaabbb"), "c": [1, 1, 2, 1, 1, 2]})
"""Two strata of two clusters, numbered anew in each."""


def test_a_mean_of_clusters_within_strata_by_hand() -> None:
    """Mean 24/6 = 4. Residuals per cluster: -4 and 0 in a, 0 and 4 in b, each 2 from the mean of its stratum.

    Variance 2 (4 + 4) + 2 (4 + 4) = 32, over 6^2; degrees of freedom 4 - 2.
    """
    found = estimate("y ~ 1", DRAWN, strata="h", clusters="c")
    assert found.estimates == pytest.approx([4]) and found.errors**2 == pytest.approx([32 / 36])
    assert found.freedom.tolist() == [2] and found.high[0] == pytest.approx(4 + 4.30265 * np.sqrt(32 / 36), abs=1e-4)
    # A fifth cluster without a value counts as one with a total of 0: residuals -4, 0, 0 about -4/3 in stratum a.
    gap = pd.concat([DRAWN, DRAWN.tail(1).assign(y=np.nan, h="a", c=3)])
    wider = estimate("y ~ 1", gap, strata="h", clusters="c")
    assert wider.errors**2 == pytest.approx([(3 / 2 * 96 / 9 + 16) / 36]) and wider.freedom.tolist() == [2]


def test_rows_that_are_repeated_within_clusters_tell_nothing_new() -> None:
    frame = PEOPLE.assign(row=PEOPLE.index)
    thrice = pd.concat([frame] * 3)
    for formula in ("days ~ x + m", "died ~ x + m"):
        single, together = (estimate(formula, one, clusters="row") for one in (frame, thrice))
        assert together.errors == pytest.approx(single.errors, rel=1e-5)
        assert estimate(formula, thrice).errors[0] < together.errors[0]


def test_a_weighted_cox_model_is_that_of_lifelines() -> None:
    """lifelines 0.30 with robust errors, which lack n/(n - 1); no times are tied."""
    frame = PEOPLE.assign(days=PEOPLE["days"] + np.arange(12) / 100, w=[1.0, 2, 3] * 4)
    found = estimate("Surv(days, died) ~ x + m", frame, weights="w")
    assert found.estimates == pytest.approx([0.01200643, 0.44719106], abs=1e-6)
    assert found.errors * np.sqrt(11 / 12) == pytest.approx([0.17557605, 0.70562741], abs=1e-6)


def test_scores_of_a_cox_model_with_ties_are_derivatives_by_the_weights() -> None:
    """What linearization rests on: how the gradient changes with the weight of each row."""
    design = Design.of(ModelFormula.parse("Surv(days, died) ~ x + m"), PEOPLE)
    numbers, weights, at = design.numbers(PEOPLE), np.array([1.0, 2, 3] * 4), np.array([0.2, -0.4])

    def gradient(changed: Array) -> Array:
        return PartialLikelihood(numbers.inputs, numbers, changed).step(at)[1]

    steps = np.eye(12) * 1e-6
    wanted = [(gradient(weights + one) - gradient(weights - one)) / 2e-6 for one in steps]
    found = PartialLikelihood(numbers.inputs, numbers, weights).scores(at)
    assert found == pytest.approx(weights[:, None] * np.array(wanted), abs=1e-6)


@settings(max_examples=20)
@given(st.floats(0.01, 1000), st.floats(-1000, 1000))
def test_units_change_a_coefficient_and_nothing_else(factor: float, shift: float) -> None:
    moved = PEOPLE.assign(x=PEOPLE["x"] * factor + shift)
    for formula in ("days ~ x + m", "died ~ x + m", "Surv(days, died) ~ x + m"):
        here, there = estimate(formula, PEOPLE).to_frame(), estimate(formula, moved).to_frame()
        assert there.loc["x", "estimate"] * factor == pytest.approx(here.loc["x", "estimate"], abs=1e-5)
        assert there.loc["m"].tolist() == pytest.approx(here.loc["m"].tolist(), abs=1e-5)


def test_rare_levels_are_one_level_or_the_reference() -> None:
    frame = pd.DataFrame({"y": np.arange(20.0), "g": [*"aaaaaaaaaabbbbbbccde"]})
    formula = ModelFormula.parse("y ~ g")
    assert Design.of(formula, frame, 1).names == ("(intercept)", "g = b", "g = c", "g = d", "g = e")
    assert Design.of(formula, frame, 3).names == ("(intercept)", "g = b", "g = other")
    assert Design.of(formula, frame, 5).names == ("(intercept)", "g = b")
    assert estimate("y ~ g", frame, least=3).names == ("(intercept)", "g = b", "g = other")


def test_a_level_in_which_nothing_ever_occurs_has_no_estimate() -> None:
    frame = pd.DataFrame({"died": [0, 1] * 40 + [0] * 8, "g": [*"ab" * 40, *"c" * 8]})
    frame.loc[[0, 1], "died"] = 0, 0
    with pytest.raises(NotEstimable, match="decides the outcome"):
        estimate("died ~ g", frame, least=1)


def test_gaps_are_left_out_and_tables_of_a_release_are_combined() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=300), "synthetic_table": np.repeat([1, 2, 3], 100)})
    frame["y"] = frame["x"] + rng.normal(size=300)
    found = estimate("y ~ x", frame, n=400)
    parts = [estimate("y ~ x", part) for _, part in frame.groupby("synthetic_table")]
    stated = combine([one.estimates for one in parts], [one.errors**2 for one in parts], n=400, k=100)
    assert found.low == pytest.approx(stated.low) and found.names == ("(intercept)", "x")
    gaps = frame.assign(y=frame["y"].where(frame.index % 2 == 0))
    assert estimate("y ~ x", gaps).errors[1] > 1.3 * estimate("y ~ x", frame).errors[1]


@pytest.mark.parametrize(
    "wrong", ["y", "y ~", "y ~ a * b", "y ~ a:b", "log(y) ~ a", "Surv(y) ~ a", "Surv(d, e) ~ 1", "y ~ a + a"]
)
def test_other_formulas_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError):
        ModelFormula.parse(wrong)


def test_names_with_spaces_and_plus_signs_are_quoted() -> None:
    found = ModelFormula.parse("`blood pressure` ~ `a + b` + age")
    assert (found.outcome, found.predictors) == ("blood pressure", ("a + b", "age"))


def test_columns_that_do_not_fit_are_named_without_values() -> None:
    frame = PEOPLE.assign(day=pd.Timestamp("2024-02-03"), ward=[*"abcabcabcabc"], one=1)
    frame.loc[0, "day"] = pd.Timestamp("2024-02-04")
    for formula, said in (
        ("died ~ absent", "no such column: absent"),
        ("died ~ one", "one has fewer than two values"),
        ("x ~ day", "day is no number"),
        ("ward ~ x", "ward has more than two values"),
    ):
        with pytest.raises(ConfigError, match=said):
            estimate(formula, frame)


def test_what_a_table_does_not_determine_has_no_estimate() -> None:
    frame = PEOPLE.assign(double=2 * PEOPLE["x"], sure=PEOPLE["died"] * 1.5 + 1)
    for formula, said in (
        ("days ~ x + double", "determine each other"),
        ("died ~ sure", "decides the outcome"),
        ("days ~ x + m + sure", "12 rows"),
    ):
        rows = frame if "12" not in said else frame[:4]
        with pytest.raises(NotEstimable, match=said.replace("12", "4")):
            estimate(formula, rows)
