"""Local recoding: every class holds, every label covers, and the loss is as low as it should be."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.base.errors import InfeasibleError
from tests.anonymize.adult import Q8, adult, reference
from tests.anonymize.cases import MODELS
from tests.anonymize.slow_search import Problem, holds, problems


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    problems(max_rows=40),
    st.integers(1, 5),
    st.sampled_from(["loss", "precision"]),
    st.lists(MODELS, max_size=2),
)
def test_every_class_holds_and_every_label_covers(problem: Problem, k: int, loss: str, models: list[dict]) -> None:
    models = [{**model, "attribute": "secret"} for model in models]
    options = AnonymizeOptions(k=k, recoding="local", models=models, loss={"name": loss})
    table, hierarchies = problem.table(), problem.hierarchies()
    try:
        done = anonymize(table, hierarchies, options)
    except InfeasibleError:
        n, overall = len(problem.rows), Counter(problem.secrets)
        assert n < k or not all(holds(model, problem.secrets, overall) for model in options.models)
        return
    assert len(done) == len(table) and len(done.suppressed) == 0
    assert done.result.levels is None
    assert 0 <= done.result.loss["value"] <= 1 + 1e-12
    assert np.bincount(done.class_ids).min() == done.result.min_class_size >= k
    secrets = done.labels.rest.frame["secret"].to_numpy()
    overall = Counter(problem.secrets)
    for class_id in range(done.result.classes):
        members = done.class_ids == class_id
        assert len(np.unique(done.labels.nodes[members], axis=0)) == 1
        assert all(holds(model, list(map(int, secrets[members])), overall) for model in options.models)
    for at, name in enumerate(done.quasi_identifiers):
        covers = hierarchies[name].covers()
        assert covers[done.labels.nodes[:, at], done.leaves[:, at]].all()


@pytest.mark.parametrize(
    ("quasi_identifiers", "sensitive", "k", "bound"),
    [
        (Q8, None, 5, 0.0718),
        (Q8, None, 10, 0.1104),
        (Q8, None, 20, 0.1590),
        (Q8, None, 50, 0.2465),
        (Q8[:7], "occupation", 5, 0.0446),
        (Q8[:7], "occupation", 20, 0.1141),
    ],
)
def test_loss_on_adult(quasi_identifiers: list[str], sensitive: str | None, k: int, bound: float) -> None:
    models = [{"model": "l_diversity", "l": 2, "attribute": sensitive}] if sensitive else []
    result = anonymize(
        *adult(quasi_identifiers, sensitive), AnonymizeOptions(k=k, recoding="local", models=models)
    ).result
    assert result.loss["value"] <= bound
    assert result.suppressed == 0 and result.min_class_size >= k
    assert result.verified["pycanon"].get("agrees", {"k": True})["k"]


@pytest.mark.parametrize(("k", "model"), itertools.product(["5", "20"], ["none", "distinct-2(occupation)"]))
def test_less_loss_than_the_best_local_recoding_of_arx(k: str, model: str) -> None:
    rows = [row for row in reference("arx_adult_local_recoding.csv") if row["k"] == k and row["l_model"] == model]
    assert len(rows) == 6
    best = min(float(row["loss_geo"]) for row in rows)
    names, sensitive = (Q8, None) if model == "none" else (Q8[:7], "occupation")
    models = [{"model": "l_diversity", "l": 2, "attribute": sensitive}] if sensitive else []
    options = AnonymizeOptions(k=int(k), recoding="local", models=models)
    assert anonymize(*adult(names, sensitive), options).result.loss["value"] < best


def test_local_loses_less_than_global() -> None:
    table, hierarchies = adult(["sex", "age", "race", "education"])
    best = anonymize(table, hierarchies, AnonymizeOptions(k=10, suppression_limit=1)).result.loss["value"]
    local = anonymize(table, hierarchies, AnonymizeOptions(k=10, recoding="local")).result.loss["value"]
    assert local < best


def test_same_input_same_output() -> None:
    table, hierarchies = adult(["sex", "age", "education"])
    options = AnonymizeOptions(k=7, recoding="local")
    first, second = anonymize(table, hierarchies, options), anonymize(table, hierarchies, options)
    assert (first.labels.nodes == second.labels.nodes).all()
