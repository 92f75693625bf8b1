"""The attack on halves of a pool, on generators whose leak is known, and its rates worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.attacks.membership_pool import chosen_people, observer
from hybrid.evaluation.attacks.pooled_scores import pooled_scores, rates, success
from hybrid.evaluation.attacks.retraining import most_rows, trainings
from hybrid.evaluation.context import Context, FitAndSample
from hybrid.table import Table
from tests.evaluation.known_generators import copier, ignorant
from tests.evaluation.simulated_people import make_people

RETRAIN = {"halves": 24, "pool": 120, "share": 0.1}
NAMES = ("membership_pool", "membership_pool_random")
OPTIONS = EvaluateOptions.model_validate({"metrics": NAMES, "retrain": RETRAIN, "paper": True})


def attacked(generator: FitAndSample, table: Table, **changes: Any) -> dict[str, Any]:
    options = OPTIONS.model_copy(update=changes)
    found = evaluate(
        table, None, {"synthetic": table}, options, np.random.default_rng(1), retrain={"synthetic": generator}
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
        assert none.details["people"] == 12 and none.details["trainings"] == 24
        assert leak.details["detected"]["0.01"][0] > none.details["detected"]["0.01"][0]
        assert leak.details["paper"]["TPR at 0.01 FPR"] == leak.details["detected"]["0.01"][0]
        assert none.details["noticeable"] > 0.5


def test_what_is_too_small_is_no_number(people: Table) -> None:
    few = OPTIONS.retrain.model_copy(update={"share": 0.05})  # type: ignore[union-attr]
    (outcome, _) = attacked(ignorant, people, retrain=few).values()
    assert isinstance(outcome, NotComputable) and outcome.state == "too_few"


def test_a_person_is_in_with_all_rows_or_with_none(people: Table) -> None:
    whole = replace(people, persons=np.arange(len(people)) // 2)
    context = Context(whole, None, whole, OPTIONS, seed=3)
    pool, chosen = chosen_people(context)
    assert len(pool) == 80 and all(len(set(whole.persons[rows])) == 1 and len(rows) == 2 for rows in pool)  # type: ignore[index]
    assert len(chosen) == 16 == len(set(chosen.tolist()))


def test_a_copy_agrees_in_every_column_and_lies_at_distance_zero(people: Table) -> None:
    context = Context(people, None, people, OPTIONS, seed=3)
    seen = observer(context, people.take(np.arange(3)))(people.take(np.arange(1)))
    at_least = seen[0, -1 - len(people.schema) : -1]
    assert at_least.tolist() == [1.0] * len(people.schema) and seen[0, -1] == 0.0
    assert (seen[1:, -1] > 0).all()


def test_rates_by_hand() -> None:
    # By falling score: in, in, out, in, out, out. 8 of 9 pairs are right.
    inside, outside = np.array([1.0, 1, 0, 1, 0, 0]), np.array([0.0, 0, 1, 0, 1, 1])
    assert rates(inside, outside, np.arange(6), (0.0, 1 / 3, 1 / 6)) == pytest.approx([8 / 9, 2 / 3, 1.0, 5 / 6])
    # One score for all: only the coin is left.
    assert rates(inside, outside, np.array([5]), (0.01,)) == pytest.approx([0.5, 0.01])


def test_scores_without_a_signal_are_guesses_and_their_intervals_say_so() -> None:
    covered, draws = 0, 20
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        seen, member = rng.normal(size=(36, 12, 5)).astype(np.float32), rng.random((36, 12)) < 0.5
        auc = success(pooled_scores(seen, member), member, (0.01,), 0.95, rng)[0]
        covered += auc.low <= 0.5 <= auc.high
    assert covered >= draws - 3  # 19 of 20 expected; fewer than 17 in 1.6 % of such tests


def test_one_observation_that_tells_is_learned() -> None:
    rng = np.random.default_rng(0)
    member = rng.random((36, 12)) < 0.5
    seen = rng.normal(size=(36, 12, 40)).astype(np.float32)
    seen[:, :, 7] += 3 * member
    assert success(pooled_scores(seen, member), member, (0.01,), 0.95, rng)[0].low > 0.9


def test_the_number_of_trainings_is_known_before() -> None:
    assert OPTIONS.retrain is not None
    pooled = [REGISTRY[name] for name in NAMES]
    assert trainings(OPTIONS.retrain, pooled, 1) == 24 and most_rows(OPTIONS.retrain, pooled) == 60
    both = [*pooled, REGISTRY["counting_queries"]]
    assert trainings(OPTIONS.retrain, both, 1) == 24 + 100 + 50 and most_rows(OPTIONS.retrain, both) == 1000
