"""The exact engine against a search that visits every node, and against the optima of ARX."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.search import exhaustive
from hybrid.anonymize.search.problem import prepare
from hybrid.base.errors import InfeasibleError
from tests.anonymize.adult import adult, reference, reference_options, takes_long
from tests.anonymize.cases import LIMITS, LOSSES, MODELS
from tests.anonymize.slow_search import Problem, best_node, problems


def assert_optimal(problem: Problem, options: AnonymizeOptions) -> None:
    expected = best_node(problem, options)
    if expected is None:
        with pytest.raises(InfeasibleError):
            anonymize(problem.table(), problem.hierarchies(), options)
        return
    levels, loss, suppressed = expected
    result = anonymize(problem.table(), problem.hierarchies(), options).result
    assert result.loss["value"] == pytest.approx(loss, abs=2e-9, rel=1e-9)
    assert result.optimal and result.gap == 0
    if abs(result.loss["value"] - loss) < 1e-13:  # rounding can swap nodes that tie in exact arithmetic
        close = result.levels == dict(zip(problem.names, levels, strict=True)) and result.suppressed == suppressed
        assert close or sum(result.levels.values()) <= sum(levels)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), st.integers(1, 6), LIMITS, LOSSES)
def test_optimum_under_k_anonymity(problem: Problem, k: int, limit: float, loss: LossOptions) -> None:
    assert_optimal(problem, AnonymizeOptions(k=k, suppression_limit=limit, loss=loss))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), st.integers(1, 4), LIMITS, LOSSES, st.lists(MODELS, min_size=1, max_size=2))
def test_optimum_under_models_of_a_sensitive_column(
    problem: Problem, k: int, limit: float, loss: LossOptions, models: list[dict]
) -> None:
    models = [{**model, "attribute": "secret"} for model in models]
    assert_optimal(problem, AnonymizeOptions(k=k, suppression_limit=limit, loss=loss, models=models))


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(1, 4), LIMITS, st.data())
def test_optimum_with_fixed_levels(problem: Problem, k: int, limit: float, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(problem.levels) - 1))
    level = data.draw(st.integers(0, len(problem.levels[at]) - 1))
    assert_optimal(problem, AnonymizeOptions(k=k, suppression_limit=limit, levels={f"q{at}": level}))


@pytest.mark.parametrize(
    ("metric", "long", "n_rows"),
    [
        ("loss_geo", False, 28),
        ("loss_arith", False, 16),
        ("nuentropy_sum", False, 16),
        ("nuentropy_norm_arith", False, 4),
        ("aecs", False, 12),
        pytest.param("aecs", True, 4, marks=pytest.mark.slow),
    ],
)
def test_same_optima_as_arx(metric: str, long: bool, n_rows: int) -> None:
    rows = [row for row in reference("arx_adult.csv") if row["metric"] == metric and takes_long(row) == long]
    assert len(rows) == n_rows
    for row in rows:
        levels = {name: int(level) for name, level in (pair.split("=") for pair in row["levels_by_attr"].split())}
        options = reference_options(row)
        task = prepare(*adult(list(levels), "occupation" if options.models else None), options, None)
        solution = exhaustive.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed)
        where = f"{row['qi_set']} k={row['k']} {row['l_model']} limit={row['limit']} {row['metric']}"
        assert task.lattice.levels(solution.node) == levels, where
        assert solution.score.value == pytest.approx(float(row["loss"]), abs=1e-9, rel=1e-12), where
        assert solution.found.n_suppressed == int(row["suppressed_flagged"]), where
        assert solution.found.n_kept == int(row["classes_nonsuppressed"]), where


def test_the_whole_stage_on_adult() -> None:
    train, hierarchies = adult(["sex", "age", "race", "education", "native-country"], "occupation")
    before = train.frame.copy(deep=True)
    model = {"model": "l_diversity", "l": 2, "attribute": "occupation"}
    done = anonymize(train, hierarchies, AnonymizeOptions(k=5, models=[model], suppression_limit=0.1))
    result = done.result
    assert result.optimal and result.records == len(train)
    assert len(done) + len(done.suppressed) == len(train)
    assert result.suppressed == len(done.suppressed) <= 0.1 * len(train)
    assert result.min_class_size == np.bincount(done.class_ids).min() >= 5
    assert result.verified["k"] == result.min_class_size
    assert set(result.loss["per_attribute"]) == set(result.levels) == set(train.schema.quasi_identifiers)
    labels = done.labels.to_table()
    assert labels.schema.names == train.schema.names
    assert isinstance(labels.frame.index, type(train.frame.index)) and labels.frame.index[0] == 0
    assert labels.frame["occupation"].tolist() == done.originals.frame["occupation"].tolist()
    for at, name in enumerate(done.quasi_identifiers):
        hierarchy = done.hierarchies[name]
        assert (hierarchy.node_of[done.leaves[:, at], result.levels[name]] == done.labels.nodes[:, at]).all()
        assert hierarchy.decode(done.leaves[:, at]).tolist() == done.originals.frame[name].tolist()
    assert before.equals(train.frame)
