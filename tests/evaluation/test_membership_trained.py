"""The attack on halves of a pool, on generators whose leak is known, and its rates worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.attacks.membership_trained import (
    Interval,
    Trainings,
    auc_of,
    chosen_people,
    is_certain,
    looks,
    observer,
    pooled_scores,
    rates,
)
from hybrid.evaluation.attacks.retraining import most_rows, trainings
from hybrid.evaluation.context import Context, FitAndSample, Making
from hybrid.evaluation.options import RetrainOptions
from hybrid.table import Table
from tests.evaluation.known_generators import copier, ignorant
from tests.evaluation.simulated_people import make_people

RETRAIN = {"halves": 24, "pool": 120, "share": 0.1, "looks": 1}
NAMES = ("membership_trained", "membership_trained_random")
OPTIONS = EvaluateOptions.model_validate({"metrics": NAMES, "retrain": RETRAIN, "paper": True})


def attacked(generator: FitAndSample, table: Table, **changes: Any) -> dict[str, Any]:
    options = OPTIONS.model_copy(update=changes)
    found = evaluate(
        table,
        None,
        {"synthetic": table},
        options,
        np.random.default_rng(1),
        making={"synthetic": Making(again=generator)},
    )
    return {result.name: result.outcome for result in found.metrics}


@pytest.fixture(scope="module")
def people() -> Table:
    return make_people(160, np.random.default_rng(1))


def test_copies_are_noticed_and_a_generator_that_learned_nothing_is_not(people: Table) -> None:
    sizes = []

    def counted(table: Table, seed: int) -> Table:
        sizes.append(len(table))
        return copier(table, seed)

    known, unknown = attacked(counted, people), attacked(ignorant, people)
    assert sizes == [60] * 24, "both metrics share the trainings, each on half of the pool"
    for name in NAMES:
        leak, none = known[name], unknown[name]
        assert isinstance(leak, Measure) and isinstance(none, Measure)
        assert leak.low is not None and leak.low > 0.8
        assert none.low is not None and none.high is not None and none.low <= 0.5 <= none.high
        assert none.details["people"] == (30 if name == NAMES[0] else 90) and none.details["trainings"] == 24
        assert leak.details["detected"]["0.01"][0] > none.details["detected"]["0.01"][0]
        assert leak.details["paper"]["TPR at 0.01 FPR"] == leak.details["detected"]["0.01"][0]
        assert none.details["noticeable"] > 0.5


def test_what_is_too_small_is_no_number(people: Table) -> None:
    (outcome, _) = attacked(ignorant, people.take(np.arange(36))).values()
    assert isinstance(outcome, NotComputable) and outcome.state == "too_few"


def test_a_person_is_in_with_all_rows_or_with_none(people: Table) -> None:
    whole = replace(people, named_persons=np.arange(len(people)) // 2)
    context = Context(whole, None, whole, OPTIONS, seed=3)
    pool, chosen, exposed = chosen_people(context)
    assert len(pool) == 80 and all(len(set(whole.persons[rows])) == 1 and len(rows) == 2 for rows in pool)  # type: ignore[index]
    assert exposed == 20 and len(chosen) == 80 == len(set(chosen.tolist()))


def test_a_copy_agrees_in_every_column_and_lies_at_distance_zero(people: Table) -> None:
    context = Context(people, None, people, OPTIONS, seed=3)
    seen = observer(context, people.take(np.arange(3)))(people.take(np.arange(1)))
    columns = len(people.schema)
    assert (seen[0, : columns * (columns + 1) // 2] == 1.0).all(), "each column, and each pair of columns"
    assert seen[0, -10 - columns : -10].tolist() == [1.0] * columns and seen[0, -1] == 0.0
    assert (seen[1:, -1] > 0).all()


def test_rates_by_hand() -> None:
    # By falling score: in, in, out, in, out, out. 8 of 9 pairs are right.
    inside, outside = np.array([1.0, 1, 0, 1, 0, 0]), np.array([0.0, 0, 1, 0, 1, 1])
    assert rates(inside, outside, np.arange(6), (0.0, 1 / 3, 1 / 6)) == pytest.approx([2 / 3, 1.0, 5 / 6])
    # One score for all: only the coin is left.
    assert rates(inside, outside, np.array([5]), (0.01,)) == pytest.approx([0.01])


def test_the_area_and_its_interval_by_hand() -> None:
    # Two trainings of two people. Scores of members 4, 2; of others 3, 1: three of four pairs are right.
    scores, member = np.array([[4.0, 3.0], [1.0, 2.0]]), np.array([[True, False], [False, True]])
    found = auc_of(scores, member, 0.2)
    assert found.value == pytest.approx(0.75)
    # Placements less .75, times 4/2: members .5 and -.5, others -.5 and .5. Sums by training: 0, 0;
    # by person: 1, -1.
    # Student's quantile of one degree of freedom is tan(.1 pi); c/(c - 1) is 2.
    assert found.high - found.value == pytest.approx(math.tan(0.1 * math.pi) * 2**0.5 * (1**2 + 1**2) ** 0.5 / 4)


def test_scores_without_a_signal_are_guesses_and_their_intervals_say_so() -> None:
    covered, draws = 0, 20
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        seen, member = rng.normal(size=(36, 12, 5)).astype(np.float32), rng.random((36, 12)) < 0.5
        auc = auc_of(pooled_scores(seen, member), member, 0.95)
        covered += auc.low <= 0.5 <= auc.high
    assert covered >= draws - 3  # 19 of 20 expected; fewer than 17 in 1.6 % of such tests


def test_one_observation_that_tells_is_learned() -> None:
    rng = np.random.default_rng(0)
    member = rng.random((36, 12)) < 0.5
    seen = rng.normal(size=(36, 12, 40)).astype(np.float32)
    seen[:, :, 7] += 3 * member
    assert auc_of(pooled_scores(seen, member), member, 0.95).low > 0.9


def test_trainings_end_as_soon_as_no_limit_is_open(people: Table) -> None:
    several = RetrainOptions.model_validate(RETRAIN | {"halves": 80, "looks": 3})
    assert looks(several) == [20, 40, 80] and looks(several.model_copy(update={"halves": 50})) == [25, 50]
    copies, nothing = attacked(copier, people, retrain=several), attacked(ignorant, people, retrain=several)
    assert {outcome.details["trainings"] for outcome in copies.values()} == {20}
    narrow = several.model_copy(update={"random_limits": (0.5,)})
    undecided = attacked(ignorant, people, retrain=narrow)
    assert {outcome.details["trainings"] for outcome in undecided.values()} == {80}
    assert all(outcome.together == 3 for outcome in (*copies.values(), *nothing.values()))


@pytest.mark.parametrize(("low", "high", "certain"), [(0.5, 0.6, True), (0.55, 0.61, False), (0.61, 0.7, True)])
def test_a_verdict_is_certain_once_no_limit_lies_within_an_interval(low: float, high: float, certain: bool) -> None:
    found = Trainings(np.ones((1, 1), dtype=bool), 1, 1, {}, {"exposed": Interval(0.6, low, high)})
    assert is_certain(found, RetrainOptions()) == certain


def test_the_number_of_trainings_is_known_before() -> None:
    assert OPTIONS.retrain is not None
    pooled = [REGISTRY[name] for name in NAMES]
    assert trainings(OPTIONS.retrain, pooled, 1) == 24 and most_rows(OPTIONS.retrain, pooled) == 60
    both = [*pooled, REGISTRY["counting_queries"]]
    assert trainings(OPTIONS.retrain, both, 1) == 24 + 100 + 50 and most_rows(OPTIONS.retrain, both) == 1000
