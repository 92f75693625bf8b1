"""The anytime search finds the optimum when it has time, and says how far it is when it has not."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.problem import Solution, prepare
from tests.anonymize.cases import LIMITS, LOSSES, MODELS, wide_table
from tests.anonymize.slow_search import Problem, best_node, problems


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), st.integers(1, 5), LIMITS, LOSSES, st.lists(MODELS, max_size=2), st.sampled_from([1, 1 << 19]))
def test_complete_search_is_exact(
    problem: Problem, k: int, limit: float, loss: LossOptions, models: list[dict], large: int
) -> None:
    models = [{**model, "attribute": "secret"} for model in models]
    options = AnonymizeOptions(k=k, suppression_limit=limit, loss=loss, models=models)
    task = prepare(problem.table(), problem.hierarchies(), options, None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(branch_and_bound, "_LARGE", large)  # from so many rows on, tables are merged
        solution = branch_and_bound.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed, 60)
    expected = best_node(problem, options)
    assert isinstance(solution, Solution) == (expected is not None)
    if expected is not None:
        assert solution.score.value == pytest.approx(expected[1], abs=2e-9, rel=1e-9)
        assert solution.gap <= 1e-8 * max(1, solution.score.value)


def test_thirty_quasi_identifiers_within_the_time_limit() -> None:
    table, hierarchies = wide_table(30, 400)
    result = anonymize(table, hierarchies, AnonymizeOptions(k=3, suppression_limit=0.1, time_limit=1.0)).result
    assert exhaustive.LARGEST < 4**30
    assert result.min_class_size >= 3 and result.verified["k"] >= 3
    assert result.seconds < 20
    assert 0 <= result.gap <= result.loss["value"] <= 1
    assert result.optimal == (result.gap == 0)


def test_gap_is_proven() -> None:
    table, hierarchies = wide_table(5, 300)
    options = AnonymizeOptions(k=5, suppression_limit=0.05)
    optimum = anonymize(table, hierarchies, options).result.loss["value"]
    task = prepare(table, hierarchies, options, None)
    hurried = branch_and_bound.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed, 0.01)
    assert isinstance(hurried, Solution)
    assert hurried.lower_bound <= optimum + 1e-12 <= hurried.score.value + 2e-12
