"""What pycanon is asked, of whom, and what a disagreement does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.models import t_closeness
from hybrid.base.errors import InfeasibleError, VerificationError
from tests.anonymize.cases import random_problem
from tests.anonymize.slow_persons import random_persons, with_persons

pytest.importorskip("pycanon")
pytestmark = pytest.mark.anjana


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_t_is_measured_again(distance: str) -> None:
    model = {"model": "t_closeness", "t": 0.35, "distance": distance, "attribute": "secret"}
    whole = 0
    for seed in range(40):
        problem = random_problem(seed)
        options = AnonymizeOptions(k=2, suppression_limit=[0.0, 0.2][seed % 2], models=[model])
        try:
            result = anonymize(problem.table(), problem.hierarchies(), options).result
        except InfeasibleError:
            continue
        found = result.verified["pycanon"]
        if found["not_asked"]:  # no two values of the sensitive column are left
            continue
        assert found["agrees"] == {"k": True, "t of 'secret'": True}, seed
        if not result.suppressed:
            assert found["measured"]["t of 'secret'"] == pytest.approx(result.verified["models"][0]["reached"])
            whole += 1
    assert whole > 10


@pytest.mark.parametrize(("distance", "formula"), [("equal", "variation"), ("ordered", "mean_gap")])
def test_a_wrong_formula_of_ours_is_found_out(monkeypatch: pytest.MonkeyPatch, distance: str, formula: str) -> None:
    problem = random_problem(3)
    model = {"model": "t_closeness", "t": 1.0, "distance": distance, "attribute": "secret"}
    options = AnonymizeOptions(k=2, models=[model])
    right = getattr(t_closeness, formula)
    monkeypatch.setattr(t_closeness, formula, lambda *given: right(*given) / 2)
    with pytest.raises(VerificationError, match="pycanon disagrees on t of 'secret'"):
        anonymize(problem.table(), problem.hierarchies(), options)


def test_of_persons_it_counts_each_once() -> None:
    """k by one row per person and class; what it cannot judge of persons is named."""
    model = {"model": "l_diversity", "l": 2, "attribute": "secret"}
    shared = 0
    for seed in range(30):
        problem = random_problem(seed)
        table = with_persons(problem, random_persons(seed, len(problem.rows)))
        try:
            result = anonymize(table, problem.hierarchies(), AnonymizeOptions(k=3, models=[model])).result
        except InfeasibleError:
            continue
        found = result.verified["pycanon"]
        assert found["measured"] == {"k": result.min_class_persons} and found["agrees"] == {"k": True}
        assert found["not_asked"] == [result.verified["models"][0]["name"]]
        shared += result.min_class_persons < result.min_class_size
    assert shared


def test_models_that_it_does_not_know_are_named() -> None:
    problem = random_problem(3)
    models = [
        {"model": "l_diversity", "l": 2, "attribute": "secret"},
        {"model": "l_diversity", "kind": "entropy", "l": 1.1, "attribute": "secret"},
        {"model": "t_closeness", "t": 1.0, "distance": "hierarchical", "attribute": "secret"},
    ]
    options = AnonymizeOptions(k=2, suppression_limit=0.3, models=models)
    verified = anonymize(problem.table(), problem.hierarchies(), options).result.verified
    assert list(verified["pycanon"]["agrees"]) == ["k", "l of 'secret'"]
    assert verified["pycanon"]["not_asked"] == [model["name"] for model in verified["models"][1:]]


def test_it_is_shown_as_many_classes_as_it_has_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid.anonymize.verify_table.MOST_SHARES", 4)
    problem = replace(random_problem(3), secrets=[at % 2 for at in range(len(random_problem(3).rows))])
    model = {"model": "t_closeness", "t": 1.0, "attribute": "secret"}
    done = anonymize(problem.table(), problem.hierarchies(), AnonymizeOptions(k=2, models=[model]))
    found = done.result.verified["pycanon"]
    assert found["of"] == len(np.unique(done.class_ids)) > 2 == found["classes"]
    assert all(found["agrees"].values())
