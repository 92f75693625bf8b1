"""Every hole of anjana that is known is closed behind the adapter."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import warnings

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.base.errors import HierarchyError, InfeasibleError
from tests.anonymize.adult import adult
from tests.anonymize.cases import Q, S, flat, random_problem, table_of
from tests.anonymize.slow_search import Problem

anjana = pytest.importorskip("anjana.anonymity")
pytestmark = pytest.mark.anjana


def options(**fields: object) -> AnonymizeOptions:
    return AnonymizeOptions.model_validate({"engine": "anjana", **fields})


def test_no_source_row_numbers_after_suppression() -> None:
    table = table_of({"a": Q, "index": S}, a=["x"] * 4 + ["y"], index=["p", "q", "p", "q", "p"])
    done = anonymize(table, {"a": flat("a", ["x", "y"])}, options(k=2, suppression_limit=0.2))
    labels = done.labels.to_table().frame
    assert list(labels.columns) == ["a", "index"] and labels.index.tolist() == [0, 1, 2, 3]
    assert len(done.suppressed) == done.result.suppressed == 1
    assert done.originals.frame["index"].tolist() == ["p", "q", "p", "q"]


def test_a_unique_record_with_a_missing_value_is_not_released() -> None:
    table = table_of({"a": Q, "b": Q}, a=["x", "x", None, "y", "y"], b=[1, 1, 1, 1, 1])
    hierarchies = {"a": flat("a", ["x", "y"], missing=True), "b": flat("b", [1])}
    done = anonymize(table, hierarchies, options(k=2, suppression_limit=0.2))
    assert done.result.min_class_size >= 2
    assert done.suppressed.frame["a"].isna().sum() + (done.result.levels["a"] == 1) == 1


def test_a_value_without_hierarchy_is_named_not_a_key_error() -> None:
    with pytest.raises(HierarchyError, match="1 distinct values"):
        anonymize(table_of({"a": Q}, a=["x", "y"]), {"a": flat("a", ["x"])}, options(k=1))


def test_infeasible_is_an_error_and_silent(capsys: pytest.CaptureFixture) -> None:
    diverse = {"model": "l_diversity", "l": 2, "attribute": "s"}
    table = table_of({"a": Q, "s": S}, a=["x", "x", "y", "y"], s=["p", "p", "q", "q"])
    with pytest.raises(InfeasibleError):
        anonymize(table, {"a": flat("a", ["x", "y"])}, options(k=5))
    done = anonymize(table, {"a": flat("a", ["x", "y"])}, options(k=2, models=[diverse]))
    assert done.result.verified["models"][0]["reached"] >= 2
    assert capsys.readouterr().out == ""


def test_hierarchies_are_not_changed() -> None:
    hierarchies = {"a": flat("a", ["x", "y", "z"])}
    before = copy.deepcopy(hierarchies["a"])
    anonymize(table_of({"a": Q}, a=["x", "y", "z", "z"]), hierarchies, options(k=2))
    assert (hierarchies["a"].node_of == before.node_of).all() and hierarchies["a"].labels == before.labels


def test_same_contract_as_the_exact_engine() -> None:
    table, hierarchies = adult(["sex", "race", "education"], "occupation")
    diverse = {"model": "l_diversity", "l": 2, "attribute": "occupation"}
    greedy = anonymize(table, hierarchies, options(k=5, models=[diverse]))
    best = anonymize(table, hierarchies, AnonymizeOptions(k=5, models=[diverse]))
    assert greedy.result.engine == "anjana" and not greedy.result.optimal
    assert greedy.result.loss["value"] >= best.result.loss["value"]
    assert greedy.result.loss["value"] - greedy.result.gap <= best.result.loss["value"]
    assert set(greedy.result.to_json()) == set(best.result.to_json())
    for at, name in enumerate(greedy.quasi_identifiers):
        level = greedy.result.levels[name]
        expected = greedy.hierarchies[name].node_of[greedy.leaves[:, at], level]
        assert (expected == greedy.labels.nodes[:, at]).all()
    assert np.bincount(greedy.class_ids).min() == greedy.result.min_class_size >= 5


def with_idle_levels(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same table; every hierarchy has levels more that rename values and join none."""
    levels = []
    for column in problem.levels:
        longer: list[list[str]] = []
        for at, labels in enumerate(column):
            idle = [[f"{label}~{again}" for label in labels] for again in range(int(rng.integers(0, 3)))]
            longer += [labels, *(idle if at < len(column) - 1 else [])]
        levels.append(longer)
    return dataclasses.replace(problem, levels=levels)


def by_anjana_itself(problem: Problem, k: int, limit: float) -> list[tuple[str, ...]] | None:
    """Labels of the records that anjana keeps, called as its documentation says; None where it finds nothing."""
    names = problem.names
    frame = problem.table().frame[names].astype(str).astype(object)
    hierarchies = {
        name: {level: np.array(labels, dtype=object) for level, labels in enumerate(levels)}
        for name, levels in zip(names, problem.levels, strict=True)
    }
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            found = anjana.k_anonymity(frame, [], names, k, 100 * limit, hierarchies)
        except ValueError:
            return None
    return None if not len(found) else list(map(tuple, pd.DataFrame(found)[names].to_numpy()))


def test_labels_are_those_of_anjana_called_directly() -> None:
    """Of hierarchies with and without levels that join no values of the table."""
    compared = passed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = with_idle_levels(random_problem(seed), rng)
        k, limit = int(rng.integers(2, 9)), float(rng.choice([0.0, 0.1, 0.3]))
        expected = by_anjana_itself(problem, k, limit)
        if expected is None:
            continue
        done = anonymize(problem.table(), problem.hierarchies(), options(k=k, suppression_limit=limit))
        labels = done.labels.to_table().frame[problem.names].astype(str)
        assert list(map(tuple, labels.to_numpy())) == expected, seed
        assert done.result.loss["value"] - done.result.gap >= -1e-12
        compared += 1
        chosen = zip(problem.levels, done.result.levels.values(), strict=True)
        passed += any("~" in labels[0] for levels, level in chosen for labels in levels[:level])
    assert compared > 40 and passed > 20
