"""Results of folds, pooled: hand-worked means and ends, the worst of pooled parts, and what was not computed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.evaluation.attacks.closeness import centred, not_centred
from hybrid.evaluation.attacks.outcome import Attack
from hybrid.evaluation.engine.intervals import quantile, simultaneous
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable, Outcome, excesses
from hybrid.evaluation.pooled import is_measured_in_folds, pooled, pooled_evaluation, pooled_measure
from hybrid.evaluation.registry import REGISTRY


def result(outcome: Outcome, name: str = "membership", column: str | None = None) -> MetricResult:
    return MetricResult(name, "privacy", "synthetic", "lower", outcome, column)


def test_value_reference_and_ends_are_those_worked_by_hand() -> None:
    first = Measure(0.1, 0.0, 0.3, 0.5, 10).above(0.0)
    second = Measure(0.3, 0.2, 0.4, 0.7, 20).above(0.1)
    found = pooled_measure([first, second])
    assert (found.value, found.reference, found.n) == pytest.approx((0.2, 0.6, 30))
    # Distances of the ends: .1 and .1 below, .2 and .1 above.
    assert found.low == pytest.approx(0.2 - math.sqrt(0.01 + 0.01) / 2)
    assert found.high == pytest.approx(0.2 + math.sqrt(0.04 + 0.01) / 2)
    assert found.excess == pytest.approx((0.15, 0.15 - math.sqrt(0.02) / 2, 0.15 + math.sqrt(0.05) / 2))
    assert found.details["folds"] == 2
    assert pooled_measure([first]) is first


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=8))
def test_the_mean_lies_in_an_interval_no_wider_than_the_widest(folds: list[tuple[float, float, float]]) -> None:
    measures = [Measure(value, value - down, value + up).above(0.0) for value, down, up in folds]
    found = pooled_measure(measures)
    assert found.excess is not None
    value, low, high = found.excess
    assert low <= value <= high
    assert value - low <= max(down for _, down, _ in folds) / math.sqrt(len(folds)) + 1e-9
    assert high - value <= max(up for _, _, up in folds) / math.sqrt(len(folds)) + 1e-9


def test_the_worst_is_taken_of_pooled_parts_and_not_of_each_fold() -> None:
    """Noise that is another group's in each fold is no leak, and one group's leak in all folds is one."""
    quiet, loud = (0.0, -0.1, 0.1), (0.2, 0.1, 0.3)
    folds = []
    for worst in ("a", "b"):
        parts = excesses({name: loud if name in (worst, "leaks") else quiet for name in ("a", "b", "leaks")}, 10)
        folds.append(Measure(*loud, 0.0, 30, {}, loud, 3, parts))
    found = pooled_measure(folds)
    assert found.details["worst"] == "leaks"
    assert found.excess == pytest.approx((0.2, 0.2 - 0.1 / math.sqrt(2), 0.2 + 0.1 / math.sqrt(2)))
    assert found.parts is not None
    assert found.parts["a"].value == pytest.approx(0.1)
    assert found.together == 3
    only_noise = [
        Measure(*loud, 0.0, 30, {}, loud, 2, excesses({name: loud if name == worst else quiet for name in "ab"}, 10))
        for worst in "ab"
    ]
    assert pooled_measure(only_noise).excess == pytest.approx((0.1, 0.1 - 0.1 / math.sqrt(2), 0.1 + 0.1 / math.sqrt(2)))


def test_intervals_that_hold_for_more_parts_are_wider() -> None:
    fold = Measure(0.0, -0.1, 0.1, 0.0, 10, {}, (0.0, -0.1, 0.1), 2, excesses({"a": (0.0, -0.1, 0.1)}, 1))
    other = Measure(0.0, -0.1, 0.1, 0.0, 10, {}, (0.0, -0.1, 0.1), 2, excesses({"b": (0.0, -0.1, 0.1)}, 1))
    found = pooled_measure([fold, other])
    # Each part is of one fold alone, and the two hold together.
    assert found.together == 2
    assert found.excess is not None
    assert found.excess[2] == pytest.approx(0.1 * quantile(simultaneous(0.95, 2)) / quantile(0.95))


def test_a_moved_share_is_averaged_before_it_is_moved() -> None:
    chance = 0.75
    shares = [0.65, 0.85]
    moved = [centred(share, chance) for share in shares]
    folds = [Measure(one, one, one, 0.5, 10, chance=chance).above(0.5) for one in moved]
    assert np.mean(moved) > 0.55  # the mean of moved shares would tell of a leak that is none
    assert pooled_measure(folds).value == pytest.approx(0.5)
    for share in (0.0, 0.3, 0.75, 0.9, 1.0):
        assert not_centred(centred(share, chance), chance) == pytest.approx(share)


def test_observed_rates_are_pooled_where_an_attack_tells_shrunk_ones() -> None:
    attack = Attack(30, 10, 300, 100, 0.95).measure()
    assert attack.excess is not None
    assert attack.excess[0] < -0.005  # fewer control records are shrunk further
    found = pooled_measure([attack] * 4)
    assert found.excess is not None
    assert found.excess[0] == pytest.approx(0.0)
    assert found.value == pytest.approx(0.0)
    assert found.excess[1] < 0 < found.excess[2]


def test_what_half_of_the_folds_have_is_pooled_and_what_failed_in_one_is_not() -> None:
    measure, few = Measure(0.1, 0.0, 0.2).above(0.0), NotComputable("too few", "too_few")
    headroom = NotComputable("always right", lacks="headroom")
    pool = [result(one) for one in (measure, few, measure, headroom)]
    found = pooled(pool).outcome
    assert isinstance(found, Measure)
    assert found.details["folds"] == 2
    assert pooled([result(one) for one in (measure, few, headroom, few)]).outcome == few
    assert pooled([result(headroom)] * 3).outcome == headroom
    broken = NotComputable("failed with ValueError", "failed")
    assert pooled([result(one) for one in (measure, measure, measure, broken)]).outcome == broken


def test_folds_measure_what_compares_with_people_never_seen_and_the_released_table_all_else() -> None:
    in_folds = {name for name, metric in REGISTRY.items() if is_measured_in_folds(metric)}
    assert {"identical_match", "copied_identifiers", "membership", "tstr", "discriminator", "nnaa"} <= in_folds
    assert not {"k_reached", "lost_column", "group_exclusion", "constraint_violations", "wasserstein"} & in_folds
    assert all("control" in REGISTRY[name].needs or REGISTRY[name].pillar == "indicator" for name in in_folds)
    own = Evaluation((result(NotComputable("no control", lacks="control")), result(Measure(1.0), "k_reached")))
    folds = [Evaluation((result(Measure(value, value, value).above(0.0)),)) for value in (0.1, 0.3)]
    found = pooled_evaluation(own, folds, in_folds)
    assert [one.name for one in found.metrics] == ["membership", "k_reached"]
    first, second = (one.outcome for one in found.metrics)
    assert isinstance(first, Measure)
    assert first.value == pytest.approx(0.2)
    assert second == Measure(1.0)


def test_a_stage_that_one_fold_measured_is_that_of_the_fold() -> None:
    released, before = result(Measure(0.1, 0.0, 0.2).above(0.0)), result(Measure(0.4, 0.3, 0.5).above(0.0))
    before = replace(before, stage="anonymized")
    folds = [Evaluation((released, before)), *[Evaluation((released,))] * 3]
    found = pooled_evaluation(Evaluation((before, released)), folds, {"membership"}).metrics
    assert found[0] == before
    assert isinstance(found[1].outcome, Measure) and found[1].outcome.details["folds"] == 4
