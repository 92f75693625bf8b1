"""Techniques of values: what stays, what moves by how much, and what is claimed of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.steps import anonymize_in_steps
from hybrid.anonymize.techniques.coding import Coding
from hybrid.anonymize.techniques.noise import Noise
from hybrid.anonymize.techniques.pram import Pram, invariant, local_epsilon
from hybrid.anonymize.techniques.protocol import Masked, MaskingTask, ValueTechnique
from hybrid.anonymize.techniques.rank_swapping import RankSwapping
from hybrid.anonymize.techniques.registry import technique_of
from hybrid.base.errors import ConfigError, InfeasibleError, VerificationError
from hybrid.table import Table
from tests.anonymize.masked_tables import people

RNG = np.random.default_rng
TOWNS = {"values": ["Bonn", "Kiel", "Ulm"], "rows": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]}


def _task(table: Table, *columns: str, k: int = 5) -> MaskingTask:
    return MaskingTask(table, columns, k)


def _mask(technique: ValueTechnique, task: MaskingTask, seed: int = 0) -> Masked:
    found = technique.mask(task, RNG(seed))
    assert technique.failures(task, found) == []
    return found


def _anonymized(table: Table, **options: Any) -> AnonymizedTable:
    return anonymize_in_steps(table, {}, AnonymizeOptions.model_validate(options), RNG(3))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_an_invariant_matrix_keeps_the_expected_counts(seed: int, n: int) -> None:
    rng = RNG(seed)
    stated = rng.dirichlet(np.ones(n), n)
    counts = rng.integers(0, 30, n)
    made = invariant(stated, counts)
    np.testing.assert_allclose(counts @ made, counts, atol=1e-9)
    np.testing.assert_allclose(made.sum(axis=1), 1)
    assert (made >= 0).all()


def test_pram_by_hand() -> None:
    stated = np.array([[0.8, 0.2], [0.4, 0.6]])
    made = invariant(stated, np.array([30, 10]))
    back = np.array([[24 / 28, 4 / 28], [6 / 12, 6 / 12]])
    np.testing.assert_allclose(made, stated @ back)
    assert local_epsilon(stated) == pytest.approx(math.log(3))
    assert local_epsilon(np.array([[1.0, 0.0], [0.5, 0.5]])) == math.inf
    assert local_epsilon(np.full((3, 3), 1 / 3)) == 0


def test_pram_draws_by_its_matrix_and_says_so_if_it_drew_otherwise() -> None:
    task = _task(people(4000), "town", "school")
    plain = Pram(invariant=False, keep=0.7, matrices={"town": TOWNS})  # type: ignore[dict-item]
    found = _mask(plain, task)
    before, after = task.table.frame["town"].astype(object), found.values["town"].astype(object)
    shares = pd.crosstab(before, after, normalize="index").to_numpy()
    np.testing.assert_allclose(shares, TOWNS["rows"], atol=0.06)
    assert found.facts["epsilon"] == {"town": pytest.approx(math.log(8), abs=1e-4)}, (
        "school's categories are not stated"
    )
    kept = _mask(Pram(keep=0.7), task)
    counts = [one.value_counts().sort_index().to_numpy() for one in (kept.values["town"], task.table.frame["town"])]
    np.testing.assert_allclose(counts[0], counts[1], atol=160)
    assert not kept.facts["epsilon"], "an invariant matrix depends on the records"
    assert "counts" in plain.failures(task, Masked({name: task.table.frame[name] for name in task.columns}))[0]


def test_columns_without_a_value_stay_without_one() -> None:
    table = people(30)
    empty = pd.Series(pd.Categorical([None] * 30, ["Ulm"]))
    ages = pd.Series([pd.NA] * 30, dtype="Int64")
    table = replace(table, frame=table.frame.assign(town=empty, age=ages))
    for technique, name in ((Pram(), "town"), (Noise(), "age"), (RankSwapping(), "age"), (Coding(), "age")):
        found = technique.mask(_task(table, name), RNG(0))
        assert found.values[name].isna().all() and technique.failures(_task(table, name), found) == []


@pytest.mark.parametrize("seed", range(3))
def test_rare_draws_are_no_errors(seed: int) -> None:
    """A hit where 0.05 are expected is chance; with few records it is 4 standard deviations and more."""
    rare = {"values": ["Bonn", "Kiel", "Ulm"], "rows": [[0.999, 0.0005, 0.0005], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]}
    rare["rows"][1][0] = 1e-12  # type: ignore[index]
    table = people(100).only(["town"])
    table = replace(table, frame=table.frame.assign(town=pd.Categorical(["Bonn"] * 100, ["Bonn", "Kiel", "Ulm"])))
    technique = Pram(invariant=False, matrices={"town": rare})  # type: ignore[dict-item]
    one = table.frame["town"].astype(object).mask(np.arange(100) == seed, "Ulm")
    hit = Masked({"town": pd.Series(pd.Categorical(one, ["Bonn", "Kiel", "Ulm"]))})
    assert technique.failures(_task(table, "town"), hit) == []
    far = Masked({"town": pd.Series(pd.Categorical(["Ulm"] * 100, ["Bonn", "Kiel", "Ulm"]))})
    assert "far from the expected" in technique.failures(_task(table, "town"), far)[0]


def test_matrices_that_give_a_value_away_are_refused() -> None:
    for rows in ([[1, 0], [0, 1]], [[0, 1], [1, 0]], [[1, 0], [0.5, 0.5]]):
        with pytest.raises(ValidationError, match="only one category becomes"):
            Pram.model_validate({"matrices": {"a": {"values": ["x", "y"], "rows": rows}}})
    table = people(60)
    pair = table.frame["town"].astype(object).replace({"Ulm": "Bonn"}).astype("category")
    with pytest.raises(InfeasibleError, match="anybody undoes"):
        _mask(Pram(keep=0), _task(replace(table, frame=table.frame.assign(town=pair)), "town"))


def test_missing_values_void_the_local_epsilon_and_stay_missing() -> None:
    task = _task(people(300, missing=0.2), "town")
    found = _mask(Pram(invariant=False, matrices={"town": TOWNS}), task)  # type: ignore[dict-item]
    assert not found.facts["epsilon"]
    assert (found.values["town"].isna() == task.table.frame["town"].isna()).all()


def test_sentences_claim_the_local_epsilon_alone() -> None:
    said = Pram(invariant=False).words("town", {"epsilon": {"town": 2.0795}})
    assert "epsilon = 2.0795 and delta = 10^-9 (" in said and "no k-anonymity" in said
    assert "epsilon" not in Pram().words("town", {"epsilon": {}})
    for technique in (Pram(), RankSwapping(), Noise(), Noise(kind="multiplicative")):
        assert "it is no k-anonymity" in technique.words("a", {})


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([0.02, 0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.3]))
def test_swapped_values_are_the_same_and_near(seed: int, n: int, share: float, missing: float) -> None:
    task = _task(people(n, seed, missing=missing), "age", "pay", "born")
    technique = RankSwapping(share=share)
    found = _mask(technique, task, seed)
    for name in task.columns:
        pd.testing.assert_series_equal(
            found.values[name].sort_values(ignore_index=True), task.table.frame[name].sort_values(ignore_index=True)
        )


def test_swapping_moves_nearly_all_values_and_far_moves_are_noticed() -> None:
    task = _task(people(400), "pay")
    pay = task.table.frame["pay"]
    moved = _mask(RankSwapping(share=0.05), task).values["pay"]
    assert (moved != pay).mean() > 0.9
    assert np.corrcoef(pay.rank(), moved.rank())[0, 1] > 0.98
    far = Masked({"pay": pay.sort_values(ascending=False, ignore_index=True)[pay.rank(method="first").astype(int) - 1]})
    far = Masked({"pay": far.values["pay"].reset_index(drop=True)})
    assert "more ranks" in RankSwapping(share=0.05).failures(task, far)[0]
    assert "other values" in RankSwapping().failures(task, Masked({"pay": pay + 1}))[0]


def test_noise_has_the_stated_strength_and_correlation() -> None:
    task = _task(people(3000), "age", "pay", "born")
    found = _mask(Noise(signal_to_noise=4), task)
    frame = task.table.frame
    errors = {name: (found.values[name] - frame[name]).astype(float) for name in ("age", "pay")}
    for name, error in errors.items():
        assert error.std() / frame[name].astype(float).std() == pytest.approx(0.5, rel=0.06)
    own = np.corrcoef(frame["age"].astype(float), frame["pay"])[0, 1]
    assert np.corrcoef(errors["age"], errors["pay"])[0, 1] == pytest.approx(own, abs=0.08)
    alone = _mask(Noise(signal_to_noise=4, correlated=False), task)
    apart = [(alone.values[name] - frame[name]).astype(float) for name in ("age", "pay")]
    assert abs(np.corrcoef(*apart)[0, 1]) < 0.08
    assert found.values["born"].dt.normalize().equals(found.values["born"]), "dates are whole days"
    wrong = Masked({name: frame[name] for name in task.columns})
    assert "not as strong" in Noise(signal_to_noise=4).failures(task, wrong)[0]


def test_sentences_say_how_many_values_stayed() -> None:
    """Noise below the rounding of a column, and swaps of equal values, mask nothing."""
    table = people(200)
    ages = pd.Series(np.where(np.arange(200) % 4 == 0, 31, 30), dtype="Int64")
    task = _task(replace(table, frame=table.frame.assign(age=ages)), "age")
    for technique, most in ((Noise(signal_to_noise=100), 0), (RankSwapping(share=0.01), 0.05)):
        found = _mask(technique, task)
        assert found.facts["changed"]["age"] <= most
        assert (found.values["age"] != ages).mean() == pytest.approx(found.facts["changed"]["age"], abs=0.01)
        said = technique.words("age", found.facts)
        assert f"age {100 * found.facts['changed']['age']:.0f} %; the rest stayed" in said
    assert "age beyond stated limits" in Noise(limits={"age": (0, 90)}).words("age", {})


def test_coding_says_how_many_persons_and_what_it_removed() -> None:
    few = people(40, missing=0.85).only(["age", "pay"])
    found = _anonymized(few, k=10, technique="coding")
    (step,) = found.result.steps or ()
    said = technique_of(step["options"]).words("age, pay", step["facts"])
    assert "at least 10 persons each" in said and ("all values were removed" in said) == bool(step["facts"]["emptied"])
    assert step["facts"]["emptied"]
    assert found.labels.to_table().frame[step["facts"]["emptied"]].eq("(missing)").all(axis=None)


def test_factors_have_mean_one_and_limits_hold() -> None:
    task = _task(people(3000), "pay", "age")
    found = _mask(Noise(kind="multiplicative", spread=0.2, limits={"age": (0, 90)}), task)
    ratio = found.values["pay"] / task.table.frame["pay"]
    assert ratio.mean() == pytest.approx(1, abs=0.02) and ratio.std() == pytest.approx(0.2, rel=0.08)
    assert found.values["age"].max() <= 90 and (ratio > 0).all()


@pytest.mark.parametrize("persons", [0, 40])
def test_both_ends_are_those_of_k_persons(persons: int) -> None:
    table = people(120, persons=persons)
    found = _anonymized(table.only(["age", "pay"]), k=4, technique="coding")
    pay = found.labels.to_table().frame["pay"].astype(float)
    whose = pd.Series(table.persons)
    for end in (pay.min(), pay.max()):
        assert whose[(pay == end) & (whose >= 0)].nunique() >= 4
    changed = pay != table.frame["pay"]
    assert set(pay[changed]) <= {pay.min(), pay.max()}


def test_steps_of_values_run_together_and_promise_nothing() -> None:
    steps = [
        {"name": "microaggregation", "columns": ["age"]},
        {"name": "noise", "columns": ["pay"]},
        {"name": "rank_swapping", "columns": ["born"]},
        {"name": "pram", "columns": ["town", "school"]},
    ]
    table = people(80)
    found = _anonymized(table, k=4, technique=steps)
    assert not found.result.k_anonymous and found.result.min_class_size < 4 and found.result.k == 1
    assert [step["options"]["name"] for step in found.result.steps or ()] == [step["name"] for step in steps]
    again = _anonymized(table, k=4, technique=steps)
    np.testing.assert_array_equal(found.labels.nodes, again.labels.nodes)
    assert found.result.loss["value"] > 0


@pytest.mark.parametrize("technique", ["microaggregation", "noise", "rank_swapping", "coding"])
def test_columns_that_no_step_masks_stay_as_they_are(technique: str) -> None:
    table = people(80).only(["age", "pay", "illness"])
    found = _anonymized(table, k=4, technique=technique)
    kept = found.labels.to_table().frame
    assert kept["illness"].tolist() == table.frame["illness"].tolist()
    assert (kept["pay"].astype(float) != table.frame["pay"]).any()


@pytest.mark.parametrize(
    ("technique", "said"),
    [
        ({"name": "pram"}, "numbers or dates"),
        ({"name": "pram", "columns": ["town"], "matrices": {"age": TOWNS}}, "no column of the step"),
        ({"name": "rank_swapping"}, "categories, which have no ranks"),
        ({"name": "noise"}, "no column of numbers"),
        ({"name": "noise", "columns": ["age"], "limits": {"born": [0, 1]}}, "no column of numbers of the step"),
        ({"name": "coding"}, "categories, which have no ends"),
    ],
)
def test_columns_that_a_technique_cannot_mask_are_refused(technique: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _anonymized(people(30), technique=technique)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "pram", "matrices": {"a": {"values": ["x", "x"], "rows": [[1, 0], [0, 1]]}}}, "twice"),
        ({"name": "pram", "matrices": {"a": {"values": ["x", "y"], "rows": [[1, 0]]}}}, "2 times 2"),
        (
            {"name": "pram", "matrices": {"a": {"values": ["x", "y"], "rows": [[1.5, -0.5], [0, 1]]}}},
            "no probabilities",
        ),
        (
            {"name": "pram", "matrices": {"a": {"values": ["x", "y"], "rows": [[0.5, 0.4], [0, 1]]}}},
            "does not sum to 1",
        ),
        ({"name": "noise", "kind": "multiplicative", "correlated": False}, "are for additive"),
        ({"name": "noise", "spread": 0.2}, "is for multiplicative"),
        ({"name": "noise", "limits": {"a": [3, 2]}}, "a smaller and a larger"),
        ({"name": "noise", "models": []}, "models"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        AnonymizeOptions.model_validate({"technique": options})
    with pytest.raises(ValidationError, match="no step makes any"):
        AnonymizeOptions.model_validate(
            {"technique": "noise", "models": [{"model": "l_diversity", "attribute": "illness"}]}
        )


def test_categories_that_a_matrix_does_not_list_are_refused_without_naming_them() -> None:
    short = {"values": ["Bonn", "Kiel"], "rows": [[0.9, 0.1], [0.1, 0.9]]}
    with pytest.raises(InfeasibleError, match="1 categories of 'town'") as caught:
        _mask(Pram(matrices={"town": short}), _task(people(50), "town"))  # type: ignore[dict-item]
    assert "Ulm" not in str(caught.value) and caught.value.problems[0].values == "Ulm"


def test_a_masking_that_breaks_its_property_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noise, "_terms", lambda self, plain, rng: np.zeros(plain.shape))
    with pytest.raises(VerificationError, match="noise does not keep what it promised"):
        _anonymized(replace(people(60).only(["age", "pay"])), technique="noise")
