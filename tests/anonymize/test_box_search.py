"""Searching a box loses no feasible node, and its bounds are never above what a node loses."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.branch_and_bound import Box, BoxSearch, MergedTables
from hybrid.anonymize.search.problem import SearchProblem, Solution, prepare
from hybrid.table import Role
from tests.anonymize.cases import LIMITS, LOSSES, MODELS, wide_table
from tests.anonymize.slow_search import Problem, problems


def losses_by_hand(task: SearchProblem) -> dict[tuple[int, ...], float]:
    """Loss of each feasible node."""
    checker, loss, found = task.checker(task.lattice), task.loss(task.lattice), {}
    for node in itertools.product(*map(range, task.lattice.shape)):
        outcome = checker.check(node)
        if outcome.n_suppressed <= task.allowed and outcome.n_suppressed < task.records.n_records:
            found[node] = loss.score(node, outcome).value
    return found


def inside(node: tuple[int, ...], box: Box) -> bool:
    return all(low <= at <= high for low, at, high in zip(box.low, node, box.high, strict=True))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    problems(),
    st.integers(1, 5),
    LIMITS,
    LOSSES,
    st.lists(MODELS, max_size=1),
    st.floats(0, 1),
    st.sampled_from([0, 99]),
)
def test_boxes_hold_every_better_node(
    problem: Problem, k: int, limit: float, loss: LossOptions, models: list[dict], part: float, work: int
) -> None:
    models = [{**model, "attribute": "secret"} for model in models]
    options = AnonymizeOptions(k=k, suppression_limit=limit, loss=loss, models=models)
    task = prepare(problem.table(), problem.hierarchies(), options, None)
    if task.lattice.size == 1:
        return
    expected = losses_by_hand(task)
    value = max(expected.values(), default=1.0) * part + min(expected.values(), default=0.0) * (1 - part)
    known = BoxSearch.of(MergedTables(task.checker(task.lattice)), task.loss(task.lattice), task.allowed)
    searched = BoxSearch(known.tables, known.costs, work, known.allowed, reads=0)
    boxes, grouped = searched.explore(Box(task.lattice.bottom, task.lattice.top, 0.0), value, [])
    assert grouped > 0 or not expected or task.records.n_records < k
    for node, lost in expected.items():
        holding = [box for box in boxes if inside(node, box)]
        assert len(holding) <= 1
        if lost < value:
            assert holding and holding[0].least <= lost


@pytest.mark.parametrize("models", [[], [{"model": "l_diversity", "l": 3, "attribute": "q6"}]])
def test_threads_and_one_thread_find_the_same_node(models: list[dict], monkeypatch: pytest.MonkeyPatch) -> None:
    """The node that the exhaustive search finds, on a table that is large enough for several threads."""
    table, hierarchies = wide_table(7, 5000)
    columns = tuple(
        column if column.name != "q6" else type(column)("q6", Role.SENSITIVE, column.kind) for column in table.schema
    )
    table = type(table)(table.frame, type(table.schema)(columns))
    options = AnonymizeOptions(k=5, suppression_limit=0.02, models=models)
    task = prepare(table, hierarchies, options, None)
    checker, loss = task.checker(task.lattice), task.loss(task.lattice)
    expected = exhaustive.search(checker, loss, task.allowed)
    monkeypatch.setattr(branch_and_bound, "_SMALL", 1)
    for cores in (1, 3):
        monkeypatch.setattr(branch_and_bound, "cores", lambda cores=cores: cores)
        found = branch_and_bound.search(checker, loss, task.allowed, 600)
        assert isinstance(found, Solution) and isinstance(expected, Solution)
        assert (found.node, found.score, found.gap) == (expected.node, expected.score, 0)
        assert found.found.n_suppressed == expected.found.n_suppressed
