"""The loss that knows what the table is for: what a level loses of its column's association."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.search.associations import measure_associations
from hybrid.anonymize.search.losses import CellLoss
from hybrid.anonymize.search.problem import SearchProblem, encode, prepare
from hybrid.anonymize.search.tradeoff import tradeoff
from hybrid.base.errors import ConfigError
from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.publication.guarantee import loss_sentence
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.anonymize.cases import Q, random_problem
from tests.anonymize.slow_search import Problem, lost_association, problems

ASSOCIATION = {"name": "association"}


def tens(name: str, n: int = 40) -> Hierarchy:
    """0 to n - 1, in groups of ten."""
    leaves = np.arange(n)
    return from_levels(name, Kind.INTEGER, leaves, [[f"{v // 10}x" for v in leaves], ["*"] * n])


def table_of(target: str | None = None, persons: np.ndarray | None = None, **values: np.ndarray) -> Table:
    columns = tuple(
        Column(
            name,
            Q if name.startswith("q") else Role.INSENSITIVE,
            Kind.CATEGORICAL if one.dtype.kind == "U" else Kind.INTEGER,
            target=name == target,
        )
        for name, one in values.items()
    )
    series = {n: pd.Categorical(v) if v.dtype.kind == "U" else pd.array(v, dtype="Int64") for n, v in values.items()}
    return Table(pd.DataFrame(series), Schema(columns), persons)


def kept(table: Table, hierarchies: list[Hierarchy], *uses: str) -> list[list[float]]:
    found = measure_associations(table, encode(table, hierarchies), hierarchies, uses)
    return [levels.tolist() for levels in found.kept]


def people(n: int = 1000) -> dict[str, np.ndarray]:
    """q0 and the answer go together, by tens; q1 has nothing to do with it."""
    rng = np.random.default_rng(1)
    q0, q1 = rng.integers(40, size=n), rng.integers(40, size=n)
    return {"q0": q0, "q1": q1, "answer": np.where(rng.random(n) < np.array([0.1, 0.9, 0.2, 0.8])[q0 // 10], "y", "n")}


def test_hand_worked() -> None:
    """40 rows, two groups of 20 with 15 and 5 times yes: eta squared .25, less 1 - .75 * 39 / 38."""
    values = {"q0": np.repeat([0, 10], 20), "answer": np.array((["y"] * 15 + ["n"] * 5) + (["y"] * 5 + ["n"] * 15))}
    (levels,) = kept(table_of(**values), [tens("q0")])
    assert levels == pytest.approx([1 - 0.75 * 39 / 38] * 2 + [0])


def test_what_can_be_chance_is_no_association() -> None:
    values = {"q0": np.arange(40), "answer": np.array(["y", "n"] * 20)}
    (levels,) = kept(table_of(**values), [tens("q0")])
    assert levels == [0, 0, 0], "40 values of 40 people explain everything, and say nothing"
    rng = np.random.default_rng(2)
    noise = [table_of(q0=rng.integers(40, size=400), answer=rng.choice(["y", "n"], 400)) for _ in range(50)]
    assert np.mean([kept(one, [tens("q0")])[0][0] > 0 for one in noise]) < 0.1


def test_numbers_count_by_their_ranks() -> None:
    rng = np.random.default_rng(3)
    q0 = rng.integers(40, size=500)
    amount = q0 * 100 + rng.integers(500, size=500)
    plain, skewed = (kept(table_of(q0=q0, amount=one), [tens("q0")])[0] for one in (amount, amount**4))
    assert plain == skewed and plain[0] > plain[1] > 0.8


@settings(max_examples=60, deadline=None)
@given(problems(max_rows=40))
def test_as_the_definition_says(problem: Problem) -> None:
    hierarchies = [problem.hierarchies()[name] for name in problem.names]
    table = problem.table()
    found = measure_associations(table, encode(table, hierarchies), hierarchies, ())
    for at, lost in enumerate(found.lost):
        assert (np.diff(lost) >= 0).all() and lost.min() >= 0 and lost.max() <= 1
        assert lost == pytest.approx([lost_association(problem, at, level) for level in range(len(lost))], abs=1e-9)


def test_people_count_not_rows() -> None:
    once = people(400)
    often = np.repeat(np.arange(400), np.random.default_rng(4).integers(1, 6, size=400))
    rows = table_of(persons=often, **{name: one[often] for name, one in once.items()})
    hierarchies = [tens("q0"), tens("q1")]
    for one, other in zip(
        kept(rows, hierarchies, "answer"), kept(table_of(**once), hierarchies, "answer"), strict=True
    ):
        assert one == pytest.approx(other, abs=1e-9)


def searched(**options: object) -> SearchProblem:
    table = table_of(**people())
    return prepare(
        table, {n: tens(n) for n in ("q0", "q1")}, AnonymizeOptions.model_validate({"k": 20, **options}), None
    )


def levels(table: Table, **options: object) -> dict[str, int]:
    hierarchies = {n: tens(n) for n in ("q0", "q1")}
    found = anonymize(table, hierarchies, AnonymizeOptions.model_validate({"k": 20, **options})).result
    assert found.optimal and found.levels is not None
    return found.levels


def test_the_column_that_tells_is_kept() -> None:
    values = people()
    assert levels(table_of(**values), suppression_limit=0) == {"q0": 1, "q1": 1}
    assert levels(table_of(**values), suppression_limit=0, k=100) == {"q0": 1, "q1": 2}, "a tie, by order"
    swapped = {"q0": values["q1"], "q1": values["q0"], "answer": values["answer"]}
    alike, used = (levels(table_of(**swapped), suppression_limit=0, k=100, loss=one) for one in ({}, ASSOCIATION))
    assert alike == {"q0": 1, "q1": 2} and used == {"q0": 2, "q1": 1}


def test_a_target_is_what_the_table_is_for() -> None:
    values = people()
    values["other"] = np.array(["a", "b", "c", "d"])[values["q1"] // 10]
    by_target = {n: levels(table_of(n, **values), k=100, loss=ASSOCIATION) for n in ("answer", "other")}
    assert by_target == {"answer": {"q0": 1, "q1": 2}, "other": {"q0": 2, "q1": 1}}
    named = levels(table_of("answer", **values), k=100, loss={**ASSOCIATION, "use": ["other"]})
    assert named == by_target["other"], "what is named wins"
    with pytest.raises(ConfigError, match=r"loss\.use names 'nothing'"):
        levels(table_of(**values), loss={**ASSOCIATION, "use": ["nothing"]})


def test_a_target_among_the_quasi_identifiers_is_not_explained_by_itself() -> None:
    found = measure_associations(
        table := table_of("q0", **people()), encode(table, [tens("q0"), tens("q1")]), [tens("q0"), tens("q1")], ()
    )
    assert found.kept[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("more", [{"recoding": "local"}, {"suppressed": "coarsen", "suppression_limit": 0.2}])
def test_cells_of_several_levels(more: dict) -> None:
    table = table_of("answer", **people())
    hierarchies = {n: tens(n) for n in ("q0", "q1")}
    options = AnonymizeOptions.model_validate({"k": 20, "loss": ASSOCIATION, **more})
    result = anonymize(table, hierarchies, options).result
    assert result.verified["k"] >= 20 and result.suppressed == 0
    assert 0 < result.loss["value"] < 1


def test_a_cell_costs_no_less_than_a_finer_one() -> None:
    task = searched(loss=ASSOCIATION)
    loss = task.loss(task.lattice)
    assert isinstance(loss, CellLoss)
    for costs, hierarchy in zip(loss.node_costs, task.records.hierarchies, strict=True):
        parents = hierarchy.parents()
        assert (costs[parents[parents >= 0]] >= costs[parents >= 0]).all()


def test_without_associations_it_is_the_plain_loss() -> None:
    rng = np.random.default_rng(5)
    table = table_of(q0=rng.integers(40, size=300), q1=rng.integers(40, size=300), answer=np.repeat("y", 300))
    assert levels(table, loss=ASSOCIATION) == levels(table)


def test_the_result_says_what_was_weighed_and_no_more_digits_than_needed() -> None:
    problem = random_problem(7)
    options = {"k": 2, "loss": ASSOCIATION}
    loss = anonymize(problem.table(), problem.hierarchies(), AnonymizeOptions.model_validate(options)).result.loss
    assert loss["use"] == [] and json.dumps(loss)
    assert all(one == float(f"{one:.3g}") for one in (loss["value"], *loss["per_attribute"].values()))
    target = anonymize(
        table_of("answer", **people()), {n: tens(n) for n in ("q0", "q1")}, AnonymizeOptions.model_validate(options)
    )
    assert target.result.loss["use"] == ["answer"]


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ({"name": "loss"}, "weighs all columns alike"),
        ({"name": "loss", "weights": {"age": 2.0}}, "The loss weighs columns: age 2; others 1."),
        ({"name": "association", "use": ["income"]}, "with income, which the table is for"),
        ({"name": "association", "use": []}, "with all other columns, since no target is declared"),
        ({"name": "aecs"}, "weighs no column"),
    ],
)
def test_the_sentence_on_weights(loss: dict, words: str) -> None:
    assert words in loss_sentence(loss)
    assert "alike" not in loss_sentence(loss) or loss == {"name": "loss"}


def test_masked_values_have_no_sentence_on_weights() -> None:
    assert loss_sentence({"name": "masking", "value": 0.1}) == ""


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_every_limit_of_the_curve_has_its_optimum(seed: int) -> None:
    problem = random_problem(seed)
    options = AnonymizeOptions.model_validate({"loss": ASSOCIATION})
    for point in tradeoff(problem.table(), problem.hierarchies(), options, (2, 3), (0.0, 0.2)):
        if point.loss is not None:
            alone = options.model_copy(update={"k": point.k, "suppression_limit": point.suppression_limit})
            assert anonymize(problem.table(), problem.hierarchies(), alone).result.loss["value"] == point.loss
