"""Every point of the curve is the optimum that a search of its own finds."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, tradeoff
from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.search.exhaustive import search
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.node_check import Checker
from hybrid.anonymize.search.problem import Infeasible, prepare
from tests.anonymize.adult import Q8, adult
from tests.anonymize.cases import LOSSES, MODELS, wide_table
from tests.anonymize.slow_search import Problem, best_node, problems


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@pytest.mark.usefixtures("loops")
@given(
    problems(),
    st.sets(st.integers(1, 6), min_size=1, max_size=3),
    st.sets(st.sampled_from([0.0, 0.1, 0.3, 1.0]), min_size=1),
    LOSSES,
    st.lists(MODELS, max_size=1),
)
def test_every_point_is_optimal(
    problem: Problem, ks: set[int], limits: set[float], loss: LossOptions, models: list[dict]
) -> None:
    models = [{**model, "attribute": "secret"} for model in models]
    options = AnonymizeOptions(loss=loss, models=models)
    points = tradeoff(problem.table(), problem.hierarchies(), options, sorted(ks), sorted(limits))
    assert [(point.k, point.suppression_limit) for point in points] == [
        (k, x) for k in sorted(ks) for x in sorted(limits)
    ]
    for point in points:
        alone = options.model_copy(update={"k": point.k, "suppression_limit": point.suppression_limit})
        expected = best_node(problem, alone)
        assert (point.loss is None) == (expected is None)
        if expected is not None:
            assert point.loss == pytest.approx(expected[1], abs=2e-9, rel=1e-9)
            assert point.gap == 0
        task = prepare(problem.table(), problem.hierarchies(), alone, None)
        single = search(task.checker(task.lattice), task.loss(task.lattice), task.allowed)
        if isinstance(single, Infeasible):
            assert (point.levels, point.suppressed, point.classes) == (None, None, None)
        else:
            assert (point.levels, point.loss) == (task.lattice.levels(single.node), single.score.value)
            assert (point.suppressed, point.classes) == (single.found.n_suppressed, single.found.n_kept)


@pytest.mark.parametrize("allowed", [126, 127, 128])
def test_limits_at_the_end_of_a_type_of_numbers(allowed: int) -> None:
    table, hierarchies = wide_table(3, 400)
    options = AnonymizeOptions()
    points = tradeoff(table, hierarchies, options, (2, 20, 400), (0.0, allowed / 400))
    for point in points:
        alone = options.model_copy(update={"k": point.k, "suppression_limit": point.suppression_limit})
        task = prepare(table, hierarchies, alone, None)
        single = search(task.checker(task.lattice), task.loss(task.lattice), task.allowed)
        assert (point.loss, point.levels) == (single.score.value, task.lattice.levels(single.node))


def test_the_family_costs_less_than_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    table, hierarchies = adult(Q8)
    ks, limits = (2, 3, 5, 10, 20), (0.0, 0.01, 0.02, 0.05, 0.1)
    nodes: list[Node] = []
    group = Checker.group
    with monkeypatch.context() as patched:
        patched.setattr(
            Checker, "group", lambda self, node, base=None: (nodes.append(node), group(self, node, base))[1]
        )
        started = time.process_time()
        points = tradeoff(table, hierarchies, AnonymizeOptions(), ks, limits)
        together = time.process_time() - started
    assert len(points) == 25
    alone, checked = 0.0, {}
    for point in points:
        options = AnonymizeOptions(k=point.k, suppression_limit=point.suppression_limit)
        started = time.process_time()
        task = prepare(table, hierarchies, options, None)
        solution = search(task.checker(task.lattice), task.loss(task.lattice), task.allowed)
        alone += time.process_time() - started
        checked[point.k, point.suppression_limit] = solution.checked
        assert task.lattice.levels(solution.node) == point.levels
        assert solution.score.value == point.loss and solution.found.n_suppressed == point.suppressed
    print(f"25 optima: {together:.2f} s together, {alone:.2f} s one by one")
    assert len(nodes) < 3.5 * checked[5, 0.02] and len(nodes) < sum(checked.values()) / 5 and together < alone / 5
    by_key = {(point.k, point.suppression_limit): point.loss for point in points}
    assert all(by_key[k, a] >= by_key[k, b] for k in ks for a, b in itertools.pairwise(limits))
    assert all(by_key[a, x] <= by_key[b, x] for x in limits for a, b in itertools.pairwise(ks))
