"""Techniques: groups, values, promises, and what is refused."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.models.measure import CheckInputs, check
from hybrid.anonymize.models.t_closeness import TCloseness
from hybrid.anonymize.result import AnonymizationResult, AnonymizedTable
from hybrid.anonymize.steps import anonymize_in_steps
from hybrid.anonymize.techniques.loss import column_loss, eigenvalue_difference, il1s, masking_measures
from hybrid.anonymize.techniques.mdav import least_strata, mdav, stratified
from hybrid.anonymize.techniques.microaggregation import Microaggregation
from hybrid.anonymize.techniques.protocol import Masked, MaskingTask
from hybrid.anonymize.techniques.space import centroids, space_of
from hybrid.base.errors import ConfigError, InfeasibleError, VerificationError
from hybrid.hierarchy import from_levels
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.transition import REGISTRY as TRANSITIONS
from hybrid.transition import fit_transition
from hybrid.transition.disclosure import give_away
from tests.anonymize.cases import flat
from tests.anonymize.masked_tables import SCHOOLS, people, plain_mdav

NUMBERS = ["age", "pay", "born"]
RNG = np.random.default_rng


def _anonymized(table: Table, hierarchies: Any = None, **options: Any) -> AnonymizedTable:
    chosen = AnonymizeOptions.model_validate({"technique": "microaggregation", **options})
    return anonymize_in_steps(table, hierarchies or {}, chosen, RNG(1))


def _restored(anonymized: AnonymizedTable, method: str, seed: int = 0) -> Table:
    strategy = TRANSITIONS[method]
    fitted = fit_transition(strategy, anonymized, strategy.Options(), RNG(seed))
    return fitted.restore(anonymized.labels, RNG(seed)).table


@pytest.fixture(scope="module")
def masked() -> AnonymizedTable:
    return _anonymized(people(150), k=4)


@pytest.mark.parametrize(("n", "k"), [(120, 3), (121, 5), (35, 4), (7, 4)])
def test_mdav_is_that_of_the_paper(n: int, k: int) -> None:
    table = people(n, seed=n)
    space = space_of(table, NUMBERS, {})
    points = np.column_stack(space.numbers)
    groups, parts = mdav(space, k, np.arange(n), 1000)
    expected = np.empty(n, dtype=int)
    for number, members in enumerate(plain_mdav(points.tolist(), k)):
        expected[members] = number
    errors = []
    for own in (groups, expected):
        sizes = np.bincount(own)
        assert sizes.min() >= k and sizes.max() < 2 * k
        means = np.column_stack([np.bincount(own, axis) / sizes for axis in points.T])[own]
        errors.append((((points - means) ** 2).sum(), np.abs(points - means).mean() / np.sqrt(2)))
    assert parts == 1
    np.testing.assert_allclose(errors[0], errors[1], rtol=0.05)


@pytest.mark.parametrize(
    ("k", "by_il1s", "by_eigenvalues"),
    [(3, 0.139750591643, 0.454109363095), (5, 0.178151942879, 0.789325426534), (10, 0.236850007024, 0.910872475115)],
)
def test_losses_are_those_of_sdcmicro(k: int, by_il1s: float, by_eigenvalues: float) -> None:
    """Figures of the source of sdcMicro (commit cf32510: ``Mdav.cpp``, ``dUtility.R``) in R 4.2.2 on this table."""
    rng = RNG(7)
    points = np.column_stack([rng.normal(50, 10, 150), rng.lognormal(3, 1, 150), rng.integers(0, 20, 150)]).round(3)
    points = np.column_stack([points, (points[:, 0] * 2 + rng.normal(0, 5, 150)).round(3)])
    schema = Schema(tuple(Column(name, Role.QUASI_IDENTIFIER, Kind.DECIMAL) for name in "abcd"))
    table = Table(pd.DataFrame(points, columns=list("abcd")), schema, None)
    values = Microaggregation().mask(MaskingTask(table, tuple("abcd"), k), RNG(0)).values
    assert il1s(table, values, "abcd") == pytest.approx(by_il1s)
    assert eigenvalue_difference(table, values, "abcd") == pytest.approx(by_eigenvalues)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([0.0, 0.2]), st.sampled_from([0, 20]))
def test_groups_have_k_persons_who_are_equal(seed: int, k: int, missing: float, persons: int) -> None:
    table = people(45, seed, missing=missing, persons=persons)
    found = _anonymized(table, k=k)
    restored = _restored(found, "single").frame[found.quasi_identifiers]
    members = defaultdict(set)
    whose = table.persons
    for row, person in zip(restored.astype(object).astype(str).itertuples(index=False), whose, strict=True):
        members[tuple(row)] |= {person} - {-1}
    assert min(map(len, members.values())) >= k
    assert found.result.smallest == min(map(len, members.values())) and found.result.k_anonymous
    assert len(found) == 45 and found.result.suppressed == 0


def test_values_of_a_group_by_hand() -> None:
    table = people(6).take(np.arange(6))
    frame = table.frame.assign(
        age=pd.Series([20, 21, 23, 60, None, 70], dtype="Int64"),
        school=pd.Series(["none", "degree", "primary", "degree", "degree", "none"]).astype("category"),
        town=pd.Series(["Ulm", "Bonn", "Bonn", None, None, "Kiel"]).astype("category"),
    )
    space = space_of(replace(table, frame=frame), ["age", "school", "town"], {"school": SCHOOLS})
    groups = np.array([0, 0, 0, 1, 1, 1])
    values = [centroids(axis, groups, 2, np.arange(6)).tolist() for axis in space.axes]
    assert values[0] == [21, 65]
    assert values[1] == ["primary", "degree"]
    assert values[2][0] == "Bonn" and pd.isna(values[2][1])
    one_maker = centroids(space.axes[0], groups, 2, np.array([0, 1, 2, 3, 4, 3]))
    assert one_maker[0] == 21 and pd.isna(one_maker[1]), "60 and 70 are the ages of one person"


def test_of_equally_frequent_categories_the_common_one_is_the_group_s() -> None:
    table = people(8).only(["town"])
    towns = pd.Series(["Aachen", "Ulm", "Bonn", "Ulm", "Ulm", "Bonn", "Ulm", "Ulm"]).astype("category")
    (axis,) = space_of(replace(table, frame=table.frame.assign(town=towns)), ["town"], {}).axes
    values = centroids(axis, np.array([0, 0, 0, 1, 1, 1, 1, 1]), 2, np.arange(8)).tolist()
    assert values == ["Ulm", "Ulm"], "Aachen is first by name, and one person's"


def test_large_tables_are_cut_and_the_number_of_parts_is_stated() -> None:
    found = _anonymized(people(200), k=3, technique={"name": "microaggregation", "block": 60})
    assert found.result.steps is not None and found.result.steps[0]["facts"]["parts"] == 4
    assert found.result.min_class_size >= 3


@pytest.mark.parametrize("persons", [0, 60])
def test_groups_are_merged_until_models_hold(persons: int) -> None:
    table = people(100, persons=persons)
    models = [
        {"model": "t_closeness", "t": 0.3, "attribute": "illness"},
        {"model": "l_diversity", "l": 2, "attribute": "illness"},
    ]
    free, held = _anonymized(table, k=4), _anonymized(table, k=4, models=models)
    assert held.result.classes < free.result.classes
    closeness = TCloseness(model="t_closeness", t=0.3, attribute="illness")
    inputs = CheckInputs(persons=table.persons, reference_persons=table.persons)
    frames = [one.originals.frame.assign(group=one.class_ids) for one in (free, held)]
    assert not check(frames[0], ["group"], closeness, inputs).holds
    assert check(frames[1], ["group"], closeness, inputs).holds
    with pytest.raises(InfeasibleError, match="one group"):
        _anonymized(table, k=4, models=[{"model": "l_diversity", "l": 9, "attribute": "illness"}])


CLOSE = {"model": "t_closeness", "t": 0.15, "attribute": "illness", "distance": "ordered"}


@pytest.mark.parametrize(
    ("n", "k", "t", "least"),
    [(1000, 3, 0.1, 5), (1000, 10, 0.1, 10), (10, 1, 0.05, 6), (50, 2, 0.0, 50), (9, 2, 1, 2)],
)
def test_least_strata_by_hand(n: int, k: int, t: float, least: int) -> None:
    assert least_strata(n, k, t) == least
    assert (n - least) / (2 * (n - 1) * least) <= t


@pytest.mark.parametrize("block", [1000, 40])
def test_strata_bound_the_distance_of_every_group(block: int) -> None:
    """The bound of the paper, on values that all differ and groups of equal size."""
    n, k = 120, 5
    space, values = space_of(people(n, seed=4), NUMBERS, {}), RNG(0).permutation(n)
    groups, parts = stratified(space, values, k, block)
    assert parts == (1 if block == 1000 else 4) and np.bincount(groups).tolist() == [k] * (n // k)
    below = [np.mean(values[groups == group][:, None] <= np.arange(n), axis=0) for group in range(n // k)]
    distances = np.abs(below - (np.arange(n) + 1) / n)[:, :-1].sum(axis=1) / (n - 1)
    assert (np.bincount(groups * k + values * k // n, minlength=n) == 1).all(), "one record of every stratum"
    assert distances.max() <= (n - k) / (2 * (n - 1) * k)


def test_closeness_first_meets_the_model_and_loses_less_than_merging() -> None:
    table = people(400, seed=5)
    ages = table.frame["age"].rank(method="first").astype(int).astype(str).str.zfill(3).astype("category")
    table = replace(table, frame=table.frame.assign(illness=ages))
    first = {"name": "microaggregation", "closeness": "first"}
    merged, strata = (_anonymized(table, k=3, models=[CLOSE], technique=one) for one in ("microaggregation", first))
    closeness = TCloseness.model_validate(CLOSE)
    for found in (merged, strata):
        frame = found.originals.frame.assign(group=found.class_ids)
        assert check(frame, ["group"], closeness).holds and found.result.min_class_size >= 3
    assert strata.result.loss["value"] < merged.result.loss["value"]


def test_closeness_first_needs_its_model_and_different_persons() -> None:
    first = {"name": "microaggregation", "closeness": "first"}
    with pytest.raises(ValidationError, match="needs one model t_closeness"):
        AnonymizeOptions.model_validate({"technique": first})
    with pytest.raises(InfeasibleError, match="records of different persons"):
        _anonymized(people(60, persons=20), k=3, models=[CLOSE], technique=first)


def test_suppression_leaves_out_small_classes_and_nothing_else() -> None:
    table = people(120)
    columns = {"name": "suppression", "columns": ["school", "town"]}
    own = table.frame.groupby(["school", "town"], observed=True)["age"].transform("size").to_numpy()
    hierarchies = {"school": flat("school", list(SCHOOLS)), "town": flat("town", ["Bonn", "Kiel", "Ulm"])}
    two = table.only(["school", "town", "illness"])
    found = _anonymized(two, hierarchies, k=8, technique="suppression", suppression_limit=1)
    assert 0 < len(found) < 120
    np.testing.assert_array_equal(np.sort(own[own >= 8]), np.sort(np.bincount(found.class_ids)[found.class_ids]))
    assert _restored(found, "single").frame["town"].tolist() == table.frame["town"][own >= 8].tolist()
    with pytest.raises(InfeasibleError):
        _anonymized(two, hierarchies, k=8, technique="suppression", suppression_limit=0)
    both = _anonymized(
        table,
        hierarchies,
        k=8,
        suppression_limit=1,
        technique=[columns, {"name": "microaggregation", "columns": NUMBERS}],
    )
    assert not both.result.k_anonymous and len(both) == int((own >= 8).sum())
    assert both.result.household is None and both.result.population_risk is None


def test_a_combination_is_k_anonymous_only_where_one_step_masks_all(masked: AnonymizedTable) -> None:
    names = masked.quasi_identifiers
    halves = [{"name": "microaggregation", "columns": part} for part in (names[:2], names[2:])]
    apart = _anonymized(people(150), k=4, technique=halves)
    assert masked.result.k_anonymous and not apart.result.k_anonymous
    frame = _restored(apart, "single").frame[names]
    assert frame.groupby(names, dropna=False, observed=True).size().min() < 4, "the promise would have been false"


def test_transitions_keep_or_draw_among_members(masked: AnonymizedTable) -> None:
    kept, drawn = _restored(masked, "single"), _restored(masked, "conditional")
    assert kept.frame.groupby(masked.quasi_identifiers, observed=True).size().min() >= 4
    for at, name in enumerate(masked.quasi_identifiers):
        for group in np.unique(masked.class_ids)[:8]:
            rows = masked.class_ids == group
            assert set(drawn.frame[name][rows]) <= set(masked.originals.frame[name][rows])
        assert kept.frame[name].dtype == masked.originals.frame[name].dtype, (at, name)
    found = give_away(masked, kept, same_records=True)
    assert found.per_attribute is not None
    for hits in found.per_attribute.values():
        assert hits.share == pytest.approx(hits.chance), "one value per label: nothing is drawn"


def test_loss_by_hand() -> None:
    table = people(4).only(["age", "town"])
    frame = pd.DataFrame({"age": pd.Series([1, 2, 3, 4], dtype="Int64"), "town": pd.Categorical(list("aabb"))})
    table = replace(table, frame=frame)
    pairs = pd.Series([1.5, 1.5, 3.5, 3.5])
    assert column_loss(table, pairs, "age") == pytest.approx(4 * 0.25 / 5)
    assert column_loss(table, pd.Series(pd.Categorical(list("abbb"))), "town") == 0.25
    assert il1s(table, {"age": pairs}, ["age", "town"]) == pytest.approx(
        0.5 / (np.sqrt(2) * np.std([1, 2, 3, 4], ddof=1))
    )
    assert il1s(table, {}, ["town"]) is None
    towns = pd.Series(pd.Categorical(list("abbb")))
    measures = masking_measures(table, {"age": pairs, "town": towns}, np.array([0, 1, 2, 2]), suppressed=2)
    assert measures == pytest.approx(
        {"il1s": 0.274, "squared_error": 0.2, "changed": 0.25, "average_class_size": 6 / 4, "discernibility": 18},
        abs=1e-5,
    )


def test_eigenvalues_by_hand() -> None:
    table = people(4).only(["age", "pay"])
    table = replace(
        table,
        frame=pd.DataFrame({"age": pd.Series([0, 1, 0, 1], dtype="Int64"), "pay": [0.0, 0.0, 1.0, 1.0]}),
    )
    same = {"age": pd.Series([0, 0, 1, 1]), "pay": table.frame["pay"]}
    names = ["age", "pay"]
    assert eigenvalue_difference(table, dict(table.frame.items()), names) == pytest.approx(0)
    assert eigenvalue_difference(table, same, names) == pytest.approx(2), "1 and 1 became 2 and 0"
    assert eigenvalue_difference(table, same, ["age"]) is None


def test_results_that_break_their_promise_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(self: Microaggregation, task: Any, rng: Any) -> Masked:
        values = {name: task.table.frame[name] for name in task.columns}
        return Masked(values | {"age": values["age"] + 1})

    def untouched(self: Microaggregation, task: Any, rng: Any) -> Masked:
        return Masked({name: task.table.frame[name] for name in task.columns})

    def fewer(self: Microaggregation, task: Any, rng: Any) -> Masked:
        return Masked({name: task.table.frame[name].head(3) for name in task.columns})

    real = Microaggregation.mask

    def pairs(self: Microaggregation, task: Any, rng: Any) -> Masked:
        return real(self, replace(task, k=2), rng)

    for wrong, said in (
        (moved, "another mean"),
        (untouched, "'pay' is the value of one person"),
        (pairs, "the smallest group has 2, not 5"),
        (fewer, "other rows"),
    ):
        monkeypatch.setattr(Microaggregation, "mask", wrong)
        with pytest.raises(VerificationError, match=said):
            _anonymized(people(60))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"technique": "magic"}, "magic"),
        ({"technique": []}, "at least 1"),
        ({"technique": ["microaggregation", "suppression"]}, "each needs its columns"),
        (
            {"technique": [{"name": "suppression", "columns": ["a"]}, {"name": "microaggregation", "columns": ["a"]}]},
            "once",
        ),
        (
            {"technique": [{"name": "microaggregation", "columns": ["a"]}, {"name": "suppression", "columns": ["b"]}]},
            "before",
        ),
        (
            {"technique": [{"name": "generalization", "columns": ["a"]}, {"name": "suppression", "columns": ["b"]}]},
            "together",
        ),
        ({"technique": "microaggregation", "known_rows": 2}, "known_rows"),
        (
            {"technique": "microaggregation", "models": [{"model": "k_map", "k": 3}], "population": "p.csv"},
            "population",
        ),
        ({"technique": "microaggregation", "levels": {"a": 1}}, "levels"),
        ({"technique": "microaggregation", "beforehand": "code book"}, "beforehand"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        AnonymizeOptions.model_validate(options)


@pytest.mark.parametrize(
    ("technique", "said"),
    [
        ({"name": "microaggregation", "columns": ["age"]}, "no step masks"),
        ({"name": "microaggregation", "columns": ["age", "shoe"]}, "none of the table: shoe"),
        ({"name": "microaggregation", "columns": ["illness"]}, "illness is none"),
        ({"name": "microaggregation", "ordinal": {"age": ["1"]}}, "no column of categories"),
        ({"name": "microaggregation", "ordinal": {"town": ["Ulm", "Ulm"]}}, "twice"),
    ],
)
def test_columns_that_do_not_fit_are_refused(technique: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _anonymized(people(30), technique=technique)


def test_values_stay_out_of_messages() -> None:
    with pytest.raises(InfeasibleError, match="3 categories of 'school' are not listed") as caught:
        _anonymized(people(30), technique={"name": "microaggregation", "ordinal": {"school": ["degree"]}})
    assert "primary" not in str(caught.value) and "primary" in (caught.value.problems[0].values or "")
    with pytest.raises(InfeasibleError, match="groups of 50 records"):
        _anonymized(people(30), k=50)


def test_a_result_is_read_back_and_an_unknown_promise_is_none(masked: AnonymizedTable) -> None:
    content = masked.result.to_json()
    assert AnonymizationResult.from_json(content | {"new": 1}) == masked.result
    unknown = [{"options": {"name": "magic"}, "columns": ["age"]}]
    assert not AnonymizationResult.from_json(content | {"steps": unknown}).k_anonymous


def test_generalization_is_the_default_and_says_nothing_of_steps() -> None:
    assert (
        AnonymizeOptions().generalizes and AnonymizeOptions.model_validate({"technique": "generalization"}).generalizes
    )
    ages = np.arange(18, 80)
    tree = from_levels("age", Kind.INTEGER, ages, [[f"{age // 20}" for age in ages], ["*"] * len(ages)])
    found = _anonymized(people(60).only(["age", "illness"]), {"age": tree}, technique="generalization")
    assert found.result.steps is None and "steps" not in found.result.to_json() and found.result.k_anonymous
