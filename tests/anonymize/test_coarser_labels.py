"""Coarser labels instead of suppression: nobody is left out, k holds, the others keep their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hybrid.anonymize import AnonymizedTable, AnonymizeOptions, anonymize
from hybrid.anonymize.search.local_recoding import coarsen
from hybrid.anonymize.search.losses import LossScore
from hybrid.anonymize.search.problem import Recoding, prepare
from hybrid.base.errors import InfeasibleError
from hybrid.base.rng import rng_for
from hybrid.hierarchy import Hierarchy, flat_hierarchy
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.transition import REGISTRY, fit_transition

SCHEMA = Schema(
    (
        Column("origin", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
    )
)
COMMON = ["north"] * 30 + ["south"] * 20


def table(origins: list[str], sexes: list[str] | None = None) -> Table:
    n = len(origins)
    sex = sexes or ["f" if at % 2 else "m" for at in range(n)]
    ill = ["yes" if at % 3 else "no" for at in range(n)]
    columns = {"origin": origins, "sex": sex, "ill": ill}
    return Table(pd.DataFrame({name: pd.Categorical(values) for name, values in columns.items()}), SCHEMA)


def hierarchies(train: Table) -> Mapping[str, Hierarchy]:
    return {name: flat_hierarchy(SCHEMA[name], [train.frame[name]]) for name in SCHEMA.quasi_identifiers}


def coarsened(train: Table, **options: object) -> AnonymizedTable:
    chosen = {"k": 5, "suppression_limit": 0.3, "suppressed": "coarsen", **options}
    return anonymize(train, hierarchies(train), AnonymizeOptions.model_validate(chosen))


def texts(found: AnonymizedTable) -> list[tuple[str, ...]]:
    return list(found.labels.to_table().frame[SCHEMA.quasi_identifiers].astype(str).itertuples(index=False, name=None))


def test_the_left_over_get_a_class_of_their_own_and_the_others_keep_their_labels() -> None:
    train = table([*COMMON, *"abcdef"])
    found, without = coarsened(train), coarsened(train, suppressed="leave_out")
    assert (len(found), len(found.suppressed), found.result.coarsened) == (56, 0, 6)
    assert found.coarsened is not None
    assert np.flatnonzero(found.coarsened).tolist() == list(range(50, 56))
    assert len(set(texts(found)[50:])) == 1
    assert texts(found)[:50] == texts(without)
    assert len(without.suppressed) == 6


def test_too_few_left_over_are_joined_by_the_smallest_class() -> None:
    found = coarsened(table([*COMMON, "a", "b"]))
    assert len(found) == 52
    assert found.result.verified["k"] >= 5
    assert found.coarsened is not None
    assert 5 <= found.coarsened.sum() < 20


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from("abcdefg"), max_size=12), st.integers(2, 6))
def test_k_holds_for_every_table_and_nobody_is_lost(rare: list[str], k: int) -> None:
    train = table([*COMMON, *rare], None)
    found = coarsened(train, k=k)
    assert len(found) == len(train)
    assert np.bincount(found.class_ids).min() >= k
    assert found.result.min_class_size >= k


def test_models_hold_for_coarser_classes_too() -> None:
    model = {"model": "l_diversity", "l": 2, "attribute": "ill"}
    found = coarsened(table([*COMMON, *"abcdef"]), models=[model])
    assert all(one["holds"] for one in found.result.verified["models"])


@pytest.mark.parametrize("method", ["tree", "marginal", "conditional", "original"])
def test_values_that_only_the_left_over_have_come_out_of_no_transition(method: str) -> None:
    train = table([*COMMON, *"abcdef"])
    found = coarsened(train)
    strategy = REGISTRY[method]
    fitted = fit_transition(strategy, found, strategy.Options(), rng_for(1, "fit"))
    restored = fitted.restore(found.labels, rng_for(1, "restore")).table
    assert len(restored) == 56
    assert set(restored.frame["origin"]) <= {"north", "south"}


def test_a_label_without_donors_in_the_sample_is_restored_as_a_wider_one() -> None:
    found = coarsened(table([*COMMON, *"abcdef"]))
    some = found.take(np.array([0, 1, 2, 3, 50, 51, 52]))
    strategy = REGISTRY["tree"]
    restored = fit_transition(strategy, some, strategy.Options(), rng_for(1, "fit")).restore(
        some.labels, rng_for(1, "r")
    )
    assert set(restored.table.frame["origin"]) == {"north"}


@pytest.mark.parametrize("alone", [True, False])
def test_many_records_of_one_person_are_nobody_to_hide_among(alone: bool) -> None:
    """Six people of origin a are left over; six other records have that origin, of one person or of six."""
    origins = [*(f"o{at}" for at in range(40)), *"a" * 6, *"a" * 6]
    sexes = [*("f" if at % 2 else "m" for at in range(46)), *"uvwxyz"]
    persons = np.arange(52)
    if alone:
        persons[40:46] = 40
    found = coarsened(replace(table(origins, sexes), named_persons=persons))
    assert found.coarsened is not None
    assert np.flatnonzero(found.coarsened).tolist() == list(range(46, 52))
    assert {origin == "a" for origin, _ in texts(found)[46:]} == {not alone}


@pytest.mark.parametrize("others", [4, 5])
def test_k_other_people_of_a_value_are_enough_to_hide_among(others: int) -> None:
    origins = [*(f"o{at}" for at in range(40)), *"a" * others, *"a" * 6]
    found = coarsened(table(origins, [*("f" if at % 2 else "m" for at in range(40 + others)), *"uvwxyz"]))
    assert found.coarsened is not None
    assert np.flatnonzero(found.coarsened).tolist() == list(range(40 + others, 46 + others))
    assert {origin == "a" for origin, _ in texts(found)[40 + others :]} == {others == 5}


def test_records_without_a_key_are_nobody_to_hide_among() -> None:
    train = table([*COMMON, *"abcdef"])
    task = prepare(
        replace(train, named_persons=np.where(np.arange(56) < 47, -1, np.arange(56))),
        hierarchies(train),
        AnonymizeOptions(k=5, suppressed="coarsen"),
        None,
    )
    left = np.isin(np.arange(56), np.arange(50, 56))[np.unique(task.records.row_of, return_index=True)[1]]
    nodes = np.zeros((task.records.n_distinct, 2), dtype=np.int32)
    with pytest.raises(InfeasibleError, match="6 records are left over"):
        coarsen(task, Recoding(nodes, left, {}, LossScore(1.0, ()), 0.0))


def test_without_others_there_is_nobody_to_hide_among() -> None:
    train = table(["a", "b"] * 10)
    task = prepare(train, hierarchies(train), AnonymizeOptions(k=5, suppressed="coarsen"), None)
    everybody = np.ones(task.records.n_distinct, dtype=bool)
    nodes = np.zeros((task.records.n_distinct, 2), dtype=np.int32)
    with pytest.raises(InfeasibleError, match="20 records are left over"):
        coarsen(task, Recoding(nodes, everybody, {}, LossScore(1.0, ()), 0.0))


@pytest.mark.parametrize(
    "options", [{"recoding": "local"}, {"levels": {"sex": 0}}, {"known_rows": 2}, {"loss": {"name": "entropy"}}]
)
def test_options_that_do_not_fit_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="suppressed: coarsen"):
        AnonymizeOptions.model_validate({"suppressed": "coarsen", **options})
