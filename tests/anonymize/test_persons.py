"""k and all privacy models in persons: the optimum, local recoding, the trade-off curve, and the verifier."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.models.measure import CheckInputs, check
from hybrid.anonymize.models.protocol import PrivacyModel
from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.known_rows import without_rare_pairs
from hybrid.anonymize.search.person_rows import PersonRows, matching_sizes
from hybrid.anonymize.search.problem import Infeasible, prepare
from hybrid.anonymize.search.tradeoff import tradeoff
from hybrid.anonymize.verify_table import verify
from hybrid.base.errors import ConfigError, InfeasibleError, VerificationError
from hybrid.table.persons import person_groups
from tests.anonymize.cases import random_problem
from tests.anonymize.slow_persons import best_node, most_different, random_persons, violating, with_persons

MODELS = [
    [],
    [{"model": "l_diversity", "l": 2}],
    [{"model": "l_diversity", "l": 3}],
    [{"model": "l_diversity", "kind": "entropy", "l": 1.7}],
    [{"model": "l_diversity", "kind": "recursive", "l": 2, "c": 2.0}],
    [{"model": "t_closeness", "t": 0.25}],
    [{"model": "t_closeness", "t": 0.3, "distance": "hierarchical"}],
    [{"model": "alpha_k", "alpha": 0.6}],
    [{"model": "beta_likeness", "beta": 1.0}],
    [{"model": "l_diversity", "l": 2}, {"model": "alpha_k", "alpha": 0.75}],
]
LIMITS = [0.0, 0.1, 0.3, 1.0]
LOSSES = [{"name": "loss"}, {"name": "precision"}, {"name": "entropy"}, {"name": "aecs"}, {"name": "discernibility"}]


def _options(number: int, models: list[dict], limit: float, **further) -> AnonymizeOptions:
    named = [{**model, "attribute": "secret"} for model in models]
    return AnonymizeOptions(k=1 + number % 5, suppression_limit=limit, models=named, **further)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss["name"])
def test_the_optimum(loss: dict, loops: str) -> None:
    feasible = 0
    for number, (models, limit) in enumerate(itertools.product(MODELS, LIMITS)):
        seed = 5000 * LOSSES.index(loss) + 2 * number + (loops == "numpy")
        problem = random_problem(seed)
        persons = random_persons(seed, len(problem.rows))
        options = _options(number, models, limit, loss=loss)
        expected = best_node(problem, persons, options)
        task = prepare(with_persons(problem, persons), problem.hierarchies(), options, None)
        checker, gone = task.checker(task.lattice), task.allowed_persons
        quick = exhaustive.search(checker, task.loss(task.lattice), task.allowed, persons=gone)
        anytime = branch_and_bound.search(checker, task.loss(task.lattice), task.allowed, 60, persons=gone)
        where = f"{models} limit {limit} k {options.k} seed {seed}"
        if expected is None:
            assert isinstance(quick, Infeasible) and isinstance(anytime, Infeasible), where
            continue
        feasible += 1
        assert isinstance(quick, type(anytime)), where
        assert quick.score.value == pytest.approx(expected[1], abs=2e-9, rel=1e-9), where
        assert anytime.score.value == pytest.approx(expected[1], abs=2e-9, rel=1e-9), where
    assert feasible >= 15


def _fewest_persons(found: AnonymizedTable) -> int:
    """Distinct persons of the smallest class, counted in plain Python."""
    members = defaultdict(set)
    persons = found.originals.persons
    assert persons is not None
    for nodes, person in zip(found.labels.nodes.tolist(), persons.tolist(), strict=True):
        members[tuple(nodes)] |= {person} if person >= 0 else set()
    return min(map(len, members.values()))


def test_no_class_has_fewer_than_k_persons() -> None:
    made = {"global": 0, "local": 0}
    for seed in range(40):
        problem = random_problem(seed)
        table = with_persons(problem, random_persons(seed, len(problem.rows)))
        for recoding in made:
            limit = 0.3 if recoding == "global" else 0.0
            options = AnonymizeOptions(k=2 + seed % 4, recoding=recoding, suppression_limit=limit)
            try:
                found = anonymize(table, problem.hierarchies(), options)
            except InfeasibleError:
                continue
            made[recoding] += 1
            assert _fewest_persons(found) >= options.k
            assert found.result.min_class_persons == _fewest_persons(found)
    assert min(made.values()) > 20


def test_local_recoding_meets_every_model_in_persons() -> None:
    made = 0
    for seed, models in enumerate(MODELS * 4):
        problem = random_problem(900 + seed)
        persons = random_persons(900 + seed, len(problem.rows))
        options = _options(1 + seed % 2, models, 0.0, recoding="local")
        try:
            found = anonymize(with_persons(problem, persons), problem.hierarchies(), options)
        except InfeasibleError:
            continue
        made += 1
        assert _fewest_persons(found) >= options.k
        secrets = found.originals.frame["secret"].tolist()
        held = defaultdict(list)
        for nodes, person, value in zip(found.labels.nodes.tolist(), persons, secrets, strict=True):
            held[tuple(nodes)].append((person, value))
        for model in options.models:
            if getattr(model, "kind", "") == "distinct":
                assert min(most_different(members) for members in held.values()) >= model.l
    assert made > 10


def test_without_persons_nothing_changes() -> None:
    problem = random_problem(3)
    options = _options(2, MODELS[1], 0.3)
    alone = anonymize(problem.table(), problem.hierarchies(), options)
    each = anonymize(with_persons(problem, list(range(len(problem.rows)))), problem.hierarchies(), options)
    np.testing.assert_array_equal(alone.labels.nodes, each.labels.nodes)
    assert "persons" not in alone.result.to_json()
    assert each.result.to_json()["persons"] == len(problem.rows)
    assert alone.result.loss == each.result.loss


def test_one_patient_with_many_rows_is_no_crowd() -> None:
    """400 patients with 5 admissions each: in rows every class of one patient would do for k = 5."""
    rng = np.random.default_rng(4)
    problem = random_problem(11)
    problem.rows = [problem.rows[at % len(problem.rows)] for at in range(80) for _ in range(5)]
    problem.secrets = rng.integers(0, problem.n_secrets, 400).tolist()
    persons = [at for at in range(80) for _ in range(5)]
    options = AnonymizeOptions(k=5, suppression_limit=0.1)
    found = anonymize(with_persons(problem, persons), problem.hierarchies(), options)
    assert _fewest_persons(found) >= 5
    assert found.result.suppressed == 5 * (found.result.suppressed_persons or 0)


def test_the_curve_is_that_of_single_searches() -> None:
    problem = random_problem(21)
    table = with_persons(problem, random_persons(21, len(problem.rows)))
    options, hierarchies = _options(0, MODELS[1], 0.0), problem.hierarchies()
    points = tradeoff(table, hierarchies, options, (1, 2, 3), (0.0, 0.1, 0.3))
    for point in points:
        alone = options.model_copy(update={"k": point.k, "suppression_limit": point.suppression_limit})
        task = prepare(table, hierarchies, alone, None)
        single = exhaustive.search(
            task.checker(task.lattice), task.loss(task.lattice), task.allowed, persons=task.allowed_persons
        )
        assert point.loss == (None if isinstance(single, Infeasible) else pytest.approx(single.score.value, abs=1e-9))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40))
def test_matchings_are_the_largest(held: list[tuple[int, int, int]]) -> None:
    classes, persons, values = np.array(held).T
    expected = [most_different([(p, v) for c, p, v in held if c == at]) for at in range(4)]
    assert matching_sizes(classes, persons, values, 4).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 6)), min_size=1, max_size=40), st.integers(0, 99))
def test_classes_of_few_persons(pairs: list[tuple[int, int]], seed: int) -> None:
    rows, persons = np.array(pairs).T
    persons = np.where(persons < 0, persons, person_groups(persons))
    pairs = list(zip(rows.tolist(), persons.tolist(), strict=True))
    class_of = np.random.default_rng(seed).integers(-1, 4, 10)
    found = PersonRows.of(rows, persons, 10)
    members = [{p for r, p in pairs if class_of[r] == at and p >= 0} for at in range(4)]
    inside = class_of >= 0
    shown = np.bincount(class_of[inside], found.shown[inside], 4)
    sizes = np.bincount(class_of[rows][class_of[rows] >= 0], minlength=4) * 1.0
    for least in (1, 2, 3):
        few = found.fewer(shown < least, sizes, least, lambda: class_of)
        assert few.tolist() == [len(one) < least for one in members]


def test_distinct_values_of_one_patient_are_one() -> None:
    """Two persons, one with both values: worked by hand, l = 2; with the second value gone, l = 1."""
    frame = pd.DataFrame({"q": ["a"] * 3, "secret": pd.Series([1, 2, 1], dtype="Int64")})
    options = AnonymizeOptions(models=[{"model": "l_diversity", "l": 2, "attribute": "secret"}]).models[0]
    assert isinstance(options, PrivacyModel)
    assert check(frame, ["q"], options, CheckInputs(persons=np.array([0, 0, 1]))).reached == 2
    assert check(frame, ["q"], options, CheckInputs(persons=np.array([0, 0, 0]))).reached == 1
    assert check(frame, ["q"], options, CheckInputs(persons=np.array([0, 0, -1]))).reached == 1


def test_entropy_weighs_persons_not_rows() -> None:
    """Nine rows of one person with value 1 and one row of another with value 2: as diverse as two rows."""
    frame = pd.DataFrame({"q": ["a"] * 10, "secret": pd.Series([1] * 9 + [2], dtype="Int64")})
    model = {"model": "l_diversity", "kind": "entropy", "l": 2, "attribute": "secret"}
    options = AnonymizeOptions(models=[model]).models[0]
    persons = np.array([0] * 9 + [1])
    assert check(frame, ["q"], options, CheckInputs(persons=persons)).reached == pytest.approx(2)
    assert check(frame, ["q"], options).reached == pytest.approx(1.38, abs=0.01)


def test_the_verifier_counts_persons_itself() -> None:
    problem = random_problem(3)
    persons = list(range(len(problem.rows)))
    task = prepare(
        with_persons(problem, persons), problem.hierarchies(), AnonymizeOptions(k=2, suppression_limit=0.3), None
    )
    found = anonymize(task.train, problem.hierarchies(), task.options)
    merged = replace(found.originals, named_persons=np.zeros(len(found), dtype=np.int64))
    with pytest.raises(VerificationError, match="the smallest class has 1 persons"):
        verify(replace(found, originals=merged), task)


def _pairs_are_shared(classes: list, persons: list[int], k: int) -> bool:
    """By brute force: every two rows of a person, and the persons who have two rows in the same classes."""
    rows = defaultdict(list)
    for label, person in zip(classes, persons, strict=True):
        if person >= 0:
            rows[person].append(label)
    holders = defaultdict(set)
    for person, own in rows.items():
        for pair in itertools.combinations(sorted(own), 2):
            holders[pair].add(person)
    return all(len(people) >= k for people in holders.values())


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_two_known_rows_by_brute_force(recoding: str) -> None:
    made = 0
    for seed in range(24):
        problem = random_problem(seed)
        table = with_persons(problem, random_persons(seed, len(problem.rows)))
        options = AnonymizeOptions(k=2, recoding=recoding, suppression_limit=0.8, known_rows=2, models=[
            {"model": "l_diversity", "l": 2, "attribute": "secret"}] if seed % 2 else [])  # fmt: skip
        try:
            found = anonymize(table, problem.hierarchies(), options)
        except InfeasibleError:
            continue
        made += 1
        persons = found.originals.persons
        assert persons is not None
        assert _pairs_are_shared(list(map(tuple, found.labels.nodes.tolist())), persons.tolist(), 2)
        assert _fewest_persons(found) >= 2
        one = anonymize(table, problem.hierarchies(), options.model_copy(update={"known_rows": 1}))
        assert found.result.suppressed >= one.result.suppressed
        assert found.result.loss["value"] >= one.result.loss["value"] - 1e-9
        assert found.result.optimal == (found.result.gap == 0.0)
    assert made > 8


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 5)), min_size=1, max_size=30), st.integers(1, 4))
def test_what_is_left_has_no_rare_pair(rows: list[tuple[int, int]], k: int) -> None:
    classes, persons = np.array(rows).T
    kept = without_rare_pairs(classes, persons, np.ones(len(rows), dtype=bool), k)
    assert _pairs_are_shared(classes[kept].tolist(), persons[kept].tolist(), k)
    if k == 1:
        assert kept.all()


def test_two_known_rows_beyond_the_limit_are_refused() -> None:
    problem = random_problem(2)
    table = with_persons(problem, random_persons(2, len(problem.rows)))
    options = AnonymizeOptions(k=4, suppression_limit=0.01, known_rows=2, levels={})
    with pytest.raises(InfeasibleError, match=r"known_rows: 2 with k = 4 leaves out"):
        anonymize(table, problem.hierarchies(), options)


def test_anjana_is_refused() -> None:
    problem = random_problem(2)
    table = with_persons(problem, random_persons(2, len(problem.rows)))
    with pytest.raises(ConfigError, match="anjana counts records"):
        anonymize(table, problem.hierarchies(), AnonymizeOptions(k=2, engine="anjana"))


def test_violations_fall_with_every_coarser_level() -> None:
    """Who is in a class of enough persons stays in one: what the search rests on."""
    for seed in range(20):
        problem = random_problem(seed)
        persons = random_persons(seed, len(problem.rows))
        options = _options(2, MODELS[seed % 3], 1.0)
        nodes = list(itertools.product(*[range(len(levels)) for levels in problem.levels]))
        bad = {node: violating(problem, persons, options, node) for node in nodes}
        for low, high in itertools.combinations(nodes, 2):
            if all(a <= b for a, b in zip(low, high, strict=True)):
                assert bad[high] <= bad[low]
