"""Attacks with training, on generators whose leak is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.evaluation import REGISTRY, EvaluateOptions, Evaluation, Measure, NotComputable, evaluate
from hybrid.evaluation.attacks.retraining import trainings
from hybrid.evaluation.context import FitAndSample, Making
from hybrid.lab.attacks.counting_queries import (
    LARGEST_SET,
    MOST_SETS,
    agreement,
    query_shares,
    sets_of_columns,
    superset_sums,
)
from hybrid.lab.attacks.shadows import empirical_epsilon
from hybrid.table import Table
from tests.evaluation.known_generators import copier, half, ignorant
from tests.evaluation.simulated_people import make_people

SMALL = {"canaries": 40, "records": 3, "shadows": 40, "tests": 40, "rows": 60}


def attacked(generator: FitAndSample, metric: str, seed: int = 1, **retrain: object) -> Evaluation:
    rng = np.random.default_rng(seed)
    train, control = make_people(200, rng), make_people(200, rng)
    options = EvaluateOptions.model_validate(
        {"metrics": (metric,), "secrets": ("illness", "cost"), "retrain": {**SMALL, **retrain}, "paper": True}
    )
    rng = np.random.default_rng(seed)
    return evaluate(train, control, {"synthetic": train}, options, rng, making={"synthetic": Making(again=generator)})


def measures(evaluation: Evaluation) -> list[Measure]:
    outcomes = [result.outcome for result in evaluation.metrics]
    assert all(isinstance(outcome, Measure) for outcome in outcomes), outcomes
    return outcomes  # type: ignore[return-value]


def test_counting_queries_know_who_was_copied_and_nothing_of_who_was_ignored() -> None:
    (known,) = measures(attacked(copier, "counting_queries"))
    assert known.value > 0.95
    assert known.details["queries"] == 1 + 8 + 28 + 56 + 70
    assert known.details["epsilon"] > 1
    (unknown,) = measures(attacked(ignorant, "counting_queries"))
    assert unknown.low is not None and unknown.high is not None
    assert unknown.low <= 0.5 <= unknown.high
    assert unknown.value == pytest.approx(0.5, abs=0.15)
    assert unknown.details["epsilon"] < 0.5


def test_canaries_come_out_of_a_copy_half_out_of_half_a_copy_and_not_out_of_nothing() -> None:
    for measure in measures(attacked(copier, "canary")):
        assert measure.value > 0.95
        assert measure.n == 40
    for measure in measures(attacked(half, "canary", canaries=100)):
        assert measure.value == pytest.approx(0.5, abs=0.2)
    for measure in measures(attacked(ignorant, "canary", canaries=100)):
        assert measure.low is not None and measure.high is not None
        assert measure.low <= 0.0 <= measure.high
        assert measure.value == pytest.approx(0.0, abs=0.15)


def test_several_canaries_in_one_training_cost_less_and_say_the_same() -> None:
    calls = []

    def counted(table: Table, seed: int) -> Table:
        calls.append(len(table))
        return copier(table, seed)

    for measure in measures(attacked(counted, "canary", together=10)):
        assert measure.value > 0.9
        assert measure.details["together"] == 10
    assert calls == [60] * 8


def test_a_time_limit_ends_the_trainings_and_is_said() -> None:
    for metric in ("canary", "counting_queries"):
        for result in attacked(copier, metric, seconds=1e-9).metrics:
            assert isinstance(result.outcome, NotComputable)
            assert result.outcome.state == "timed_out"


def test_nothing_is_trained_unless_asked_for() -> None:
    rng = np.random.default_rng(1)
    tables = make_people(50, rng), make_people(50, rng)
    options = EvaluateOptions(metrics=("canary", "counting_queries"))
    for result in evaluate(
        *tables, {"synthetic": tables[0]}, options, rng, making={"synthetic": Making(again=copier)}
    ).metrics:
        assert isinstance(result.outcome, NotComputable)
        assert "evaluate.retrain" in result.outcome.reason
    options = EvaluateOptions.model_validate({"metrics": ("counting_queries",), "retrain": SMALL})
    (result,) = evaluate(*tables, {"synthetic": tables[0]}, options, rng).metrics
    assert isinstance(result.outcome, NotComputable)


def test_a_seed_repeats_every_training_and_the_cost_is_known_before() -> None:
    first, second = attacked(copier, "canary", seed=4), attacked(copier, "canary", seed=4)
    assert [m.outcome for m in first.metrics] == [m.outcome for m in second.metrics]
    retrain = EvaluateOptions.model_validate({"retrain": {**SMALL, "together": 3}}).retrain
    assert retrain is not None
    named = [REGISTRY[name] for name in ("canary", "counting_queries")]
    assert trainings(retrain, named, 2) == 2 * 14 + 40 + 40
    assert trainings(retrain, [*named, REGISTRY["target_attention"], REGISTRY["inference_queries"]], 2) == 2 * 14 + 80
    assert trainings(retrain, [REGISTRY["bagging_membership"]], 2) == 2 * 100 + 40
    assert trainings(retrain, [REGISTRY["dcr_share"]], 2) == 0


@given(st.lists(st.integers(0, 31), max_size=40), st.integers(0, 31))
def test_superset_sums_are_the_counts_of_all_queries(masks: list[int], query: int) -> None:
    sums = superset_sums(np.bincount(np.array(masks, dtype=np.int64), minlength=32))
    assert sums[query] == sum(mask & query == query for mask in masks)


def test_query_shares_by_the_definition() -> None:
    rng = np.random.default_rng(2)
    person, table = make_people(1, rng), make_people(80, rng)
    columns = ["age", "height", "sex", "urgent"]
    counts = query_shares(agreement(person, table, columns)[0], np.arange(16), 4)
    frame, mine = table.frame, person.frame.iloc[0]
    younger, same_sex = frame["age"] <= mine["age"], frame["sex"] == mine["sex"]
    assert counts[0] == 1.0
    assert counts[0b0001] == pytest.approx(younger.mean())
    assert counts[0b0101] == pytest.approx((younger & same_sex).mean())
    assert counts[0b1101] == pytest.approx((younger & same_sex & (frame["urgent"] == mine["urgent"])).mean())


@given(st.lists(st.integers(0, 2**20 - 1), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_wide_tables_are_counted_as_narrow_ones(masks: list[int], seed: int) -> None:
    rows, sets = np.array(masks, dtype=np.int64), sets_of_columns(12, np.random.default_rng(seed))
    narrow = query_shares(rows % 2**12, sets, 12)
    np.testing.assert_allclose(query_shares(rows % 2**12, sets, 20), narrow)


def test_sets_of_columns_are_all_small_ones_or_a_sample_of_them() -> None:
    few = sets_of_columns(6, np.random.default_rng(1))
    assert sorted(few) == sorted(mask for mask in range(64) if mask.bit_count() <= LARGEST_SET)
    many = sets_of_columns(40, np.random.default_rng(1))
    sizes = [int(mask).bit_count() for mask in many]
    assert len(set(many.tolist())) == len(many) <= MOST_SETS and max(sizes) <= LARGEST_SET
    assert [sizes.count(size) for size in range(3)] == [1, 40, 780]


def test_the_empirical_epsilon_is_below_that_of_randomized_response() -> None:
    """Said truly with probability e/(1 + e): epsilon 1."""
    rng = np.random.default_rng(5)
    member = rng.random(20_000) < 0.5
    truth = rng.random(20_000) < np.e / (1 + np.e)
    said = np.where(truth, member, ~member).astype(float)
    assert 0.85 < empirical_epsilon(said, member, rng) <= 1.0
    assert empirical_epsilon(rng.random(20_000), member, rng) < 0.2
    assert empirical_epsilon(np.ones(4), np.ones(4, dtype=bool), rng) == 0.0


@pytest.mark.parametrize("targets", ["vulnerable", "random", "rare", "unlikely"])
def test_people_can_be_chosen_in_four_ways(targets: str) -> None:
    (known,) = measures(attacked(copier, "counting_queries", targets=targets, shadows=30, tests=30))
    assert known.value > 0.9 and known.details["records"] == 3
