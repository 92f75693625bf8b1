"""Verification does not lean on the search: a wrong rule of the search is found out by the check of the result."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.models import REGISTRY, alpha_k, beta_likeness, describe, l_diversity, t_closeness
from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.households import Households
from hybrid.anonymize.models.k_map import KMap
from hybrid.anonymize.models.measure import CheckInputs, check, class_counts
from hybrid.anonymize.models.protocol import ClassRule, SensitiveModel
from hybrid.anonymize.search.distinct_rows import value_numbers
from hybrid.anonymize.search.problem import SearchProblem
from hybrid.base.errors import VerificationError
from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.jobs.anonymize_file import write_from_files
from hybrid.pipeline.config import load_config
from hybrid.table import Kind, Table
from tests.anonymize.cases import MODELS, Q, S, flat, table_of
from tests.anonymize.people_job import people, write_job
from tests.anonymize.slow_search import Problem, holds, problems

FORMULAS = {
    "l_diversity distinct": ({"model": "l_diversity", "l": 2}, l_diversity, "distinct_l"),
    "l_diversity entropy": ({"model": "l_diversity", "kind": "entropy", "l": 1.5}, l_diversity, "entropy_l"),
    "l_diversity recursive": (
        {"model": "l_diversity", "kind": "recursive", "l": 2, "c": 2},
        l_diversity,
        "recursive_c",
    ),
    "t_closeness equal": ({"model": "t_closeness", "t": 0.2}, t_closeness, "equal_distance"),
    "t_closeness ordered": (
        {"model": "t_closeness", "t": 0.2, "distance": "ordered"},
        t_closeness,
        "ordered_distance",
    ),
    "t_closeness hierarchical": (
        {"model": "t_closeness", "t": 0.2, "distance": "hierarchical"},
        t_closeness,
        "hierarchical_distance",
    ),
    "alpha_k": ({"model": "alpha_k", "alpha": 0.5}, alpha_k, "largest_share"),
    "beta_likeness basic": ({"model": "beta_likeness", "beta": 0.5, "kind": "basic"}, beta_likeness, "relative_gain"),
    "beta_likeness enhanced": ({"model": "beta_likeness", "beta": 0.5}, beta_likeness, "enhanced_gain"),
}
"""Each formula of the search: options that the whole table meets and its two halves do not, and where it is."""


def test_every_model_of_the_registry_is_tried() -> None:
    tried = {type(options_of(options, "global").models[0]) for options, _, _ in FORMULAS.values()}
    assert tried | {Households, KMap} == set(REGISTRY), "tests/anonymize/test_households.py tries the first of these"


def halves() -> tuple[Table, dict[str, Hierarchy]]:
    """Two values, each with a secret of its own: at level 0 every model is violated, at the root all hold."""
    table = table_of({"a": Q, "s": S}, a=["x"] * 4 + ["y"] * 4, s=["p"] * 4 + ["q"] * 4)
    return table, {"a": flat("a", ["x", "y"]), "s": flat("s", ["p", "q"])}


def options_of(model: dict[str, Any], recoding: str) -> AnonymizeOptions:
    return AnonymizeOptions(k=2, suppression_limit=0, recoding=recoding, models=[{**model, "attribute": "s"}])


def patch_rules(monkeypatch: pytest.MonkeyPatch, cls: type[SensitiveModel], **changes: Any) -> None:
    """Change the rules that the search gets of one model."""
    honest = cls.rule
    monkeypatch.setattr(cls, "rule", lambda *arguments: replace(honest(*arguments), **changes))


@pytest.mark.parametrize("recoding", ["global", "local"])
@pytest.mark.parametrize("name", FORMULAS)
def test_a_broken_formula_of_the_search_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str, recoding: str) -> None:
    model, module, formula = FORMULAS[name]
    honest = anonymize(*halves(), options_of(model, recoding))
    assert honest.result.classes == 1 and honest.result.verified["models"][0]["holds"]
    safe = np.inf if name.endswith(("distinct", "entropy")) else -np.inf
    monkeypatch.setattr(module, formula, lambda histogram, *_: np.full(histogram.n_classes, safe))
    patch_rules(monkeypatch, type(options_of(model, recoding).models[0]), least_distinct=1, record_monotone=False)
    with pytest.raises(VerificationError, match="is not met"):
        anonymize(*halves(), options_of(model, recoding))


@pytest.mark.parametrize("name", FORMULAS)
def test_a_broken_comparison_of_the_search_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(ClassRule, "holds", lambda _, histogram: np.ones(histogram.n_classes, dtype=bool))
    with pytest.raises(VerificationError, match="is not met"):
        anonymize(*halves(), options_of(FORMULAS[name][0], "local"))


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_broken_counts_of_people_are_found_out(monkeypatch: pytest.MonkeyPatch, recoding: str) -> None:
    table, hierarchies = halves()
    population = table_of({"a": Q}, a=["x"] * 2 + ["y"] * 6)
    options = AnonymizeOptions(k=2, models=[{"model": "k_map", "k": 4}], recoding=recoding, suppression_limit=0)
    assert anonymize(table, hierarchies, options, population=population).result.classes == 1
    monkeypatch.setattr(SearchProblem, "population_k", 0)
    with pytest.raises(VerificationError, match="4-map is not met: 2 instead of 4"):
        anonymize(table, hierarchies, options, population=population)


def test_a_broken_class_size_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table, hierarchies = halves()
    checker = SearchProblem.checker
    monkeypatch.setattr(SearchProblem, "checker", lambda self, lattice: replace(checker(self, lattice), k=1))
    with pytest.raises(VerificationError, match="the smallest class has 4 records, not 5"):
        anonymize(table, hierarchies, AnonymizeOptions(k=5, suppression_limit=0))


OF_FILES = [
    {"model": "l_diversity", "l": 4, "attribute": "diagnosis"},
    {"model": "l_diversity", "kind": "entropy", "l": 3.5, "attribute": "diagnosis"},
    {"model": "l_diversity", "kind": "recursive", "l": 3, "c": 1.2, "attribute": "diagnosis"},
    {"model": "t_closeness", "t": 0.1, "distance": "ordered", "attribute": "severity"},
    {"model": "t_closeness", "t": 0.1, "distance": "hierarchical", "attribute": "severity"},
    {"model": "alpha_k", "alpha": 0.35, "attribute": "diagnosis"},
    {"model": "beta_likeness", "beta": 0.3, "attribute": "diagnosis"},
]


@pytest.mark.parametrize("model", OF_FILES, ids=lambda model: "-".join(map(str, model.values())))
def test_a_broken_rule_of_the_search_over_files_is_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: dict[str, Any]
) -> None:
    config = load_config(write_job(tmp_path, people(300, seed=1), models=[model]))
    cls = type(config.anonymize.models[0])
    patch_rules(monkeypatch, cls, least_distinct=1, record_monotone=False)
    monkeypatch.setattr(ClassRule, "holds", lambda _, histogram: np.ones(histogram.n_classes, dtype=bool))
    with pytest.raises(VerificationError, match="is not met"):
        write_from_files(config, tmp_path / "out", seed=None)
    assert not (tmp_path / "out").exists()


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), MODELS)
def test_search_and_verification_agree_with_the_definitions(problem: Problem, model: dict[str, Any]) -> None:
    options = AnonymizeOptions(models=[{**model, "attribute": "secret"}]).models[0]
    assert isinstance(options, SensitiveModel)
    frame = problem.table().frame
    hierarchy = problem.secret_hierarchy()
    inputs = CheckInputs(hierarchies={"secret": hierarchy})
    checked = check(frame, problem.names, options, inputs)
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, secret in zip(problem.rows, problem.secrets, strict=True):
        groups.setdefault(row, []).append(secret)
    overall = Counter(problem.secrets)
    assert checked.holds == all(holds(options, secrets, overall) for secrets in groups.values())

    numbers, known = value_numbers(frame["secret"])
    classes = class_counts(frame, problem.names, "secret", inputs)
    rule = options.rule(hierarchy, hierarchy.encode(known))
    labels = {row: at for at, row in enumerate(groups)}
    histogram = Histogram.of(
        np.array([labels[row] for row in problem.rows]),
        numbers,
        np.ones(len(numbers)),
        len(groups),
        np.bincount(numbers) / len(numbers),
    )
    reached = rule.reached(histogram)
    assert checked.reached == pytest.approx(reached.min() if rule.larger_is_safer else reached.max())
    assert bool(rule.holds(histogram).all()) == checked.holds
    assert classes.cells["records"].sum() == len(frame)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=40), st.data())
def test_hierarchical_distance_of_uneven_trees(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    """Nodes that stay the same over several levels cost nothing there, in either form."""
    middle = data.draw(st.lists(st.sampled_from("abc"), min_size=6, max_size=6))
    parent = {letter: data.draw(st.sampled_from("uv")) for letter in "abc"}
    levels = [middle, [parent[letter] for letter in middle], ["*"] * 6]
    hierarchy = from_levels("s", Kind.INTEGER, np.arange(6), levels)
    table = table_of({"a": Q, "s": S}, a=[a for a, _ in rows], s=[s for _, s in rows])
    model = AnonymizeOptions(
        models=[{"model": "t_closeness", "t": 0.5, "distance": "hierarchical", "attribute": "s"}]
    ).models[0]
    assert isinstance(model, SensitiveModel)
    numbers, known = value_numbers(table.frame["s"])
    labels = {a: at for at, a in enumerate(sorted({a for a, _ in rows}))}
    histogram = Histogram.of(
        np.array([labels[a] for a, _ in rows]),
        numbers,
        np.ones(len(rows)),
        len(labels),
        np.bincount(numbers) / len(rows),
    )
    expected = model.rule(hierarchy, hierarchy.encode(known)).reached(histogram).max()
    inputs = CheckInputs(hierarchies={"s": hierarchy})
    assert check(table, ["a"], model, inputs).reached == pytest.approx(expected, abs=1e-12)


def test_models_in_words() -> None:
    assert describe({"model": "l_diversity", "l": 2, "attribute": "pay"}) == "distinct l-diversity of pay with l = 2"
    assert describe({"model": "k_map", "k": 7}) == "k_map (k = 7)"
    text = describe({"model": "t_closeness", "t": 0.2, "distance": "equal", "attribute": "pay"})
    assert text == (
        "t_closeness of pay (t = 0.2, distance = equal; compared with all records that were anonymized, suppressed "
        "ones included)"
    )
    assert "; compared with all records" in describe({"model": "beta_likeness", "beta": 1, "attribute": "pay"})


def test_closeness_is_to_the_whole_table_with_the_suppressed() -> None:
    """Li et al. 2007: the stated number is that of all records; against those that remain it is another."""
    rows = [("a", "flu")] * 6 + [("a", "cold")] * 4 + [("b", "flu")] * 5 + [("b", "cold")] * 4 + [("c", "rare")] * 1
    table = table_of({"a": Q, "s": S}, a=[a for a, _ in rows], s=[s for _, s in rows])
    model = {"model": "t_closeness", "t": 0.3, "attribute": "s"}
    done = anonymize(table, {"a": flat("a", list("abc"))}, AnonymizeOptions(k=5, suppression_limit=0.2, models=[model]))
    assert len(done.suppressed) == 1 and done.result.levels == {"a": 0}

    def largest(reference: list[str]) -> float:
        shares = pd.Series(reference).value_counts(normalize=True)
        gaps = []
        for label in "ab":
            inside = pd.Series([s for a, s in rows if a == label]).value_counts(normalize=True)
            gaps.append(0.5 * float(inside.sub(shares, fill_value=0).abs().sum()))
        return max(gaps)

    (stated,) = [float(one["reached"]) for one in done.result.verified["models"]]
    assert stated == pytest.approx(largest([s for _, s in rows]))
    assert stated != pytest.approx(largest([s for a, s in rows if a != "c"]))
    (words,) = [describe(found) for found in done.result.models]
    assert "compared with all records that were anonymized, suppressed ones included" in words
