"""What every transition must keep, whatever it learns."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.transition import REGISTRY
from hybrid.transition.protocol import Restored
from hybrid.transition.strategies.labels import UniformOptions
from tests.transition.choices import (
    CHOICES,
    assert_generalizes_back,
    changes_with_the_originals,
    every_choice,
    for_every_choice,
    restore,
    shuffled_combinations,
)
from tests.transition.transition_tables import mixed_table, random_tables


@for_every_choice
@settings(max_examples=15, deadline=None)
@given(anonymized=random_tables(), seed=st.integers(0, 1000))
def test_values_generalize_back_and_nothing_else_changes(name, options, anonymized, seed):
    for labels in (anonymized.labels, shuffled_combinations(anonymized.labels, seed)):
        restored = restore(anonymized, name, options, seed, labels)
        assert_generalizes_back(labels, restored.table)
        assert len(restored.table) == len(labels)
        assert restored.table.schema == anonymized.originals.schema
        rest = labels.rest.schema.names
        pd.testing.assert_frame_equal(restored.table.frame[rest], labels.rest.frame[rest])
        if restored.fallbacks:
            assert sum(restored.fallbacks.values()) == labels.nodes.size


@for_every_choice
def test_kinds_precision_and_missing_labels(name, options):
    anonymized = mixed_table(200)
    table = restore(anonymized, name, options).table
    original = anonymized.originals.frame
    for column in anonymized.quasi_identifiers:
        if column == "job":
            known = list(original[column].cat.categories)
            assert list(table.frame[column].cat.categories)[: len(known)] == known
        else:
            assert table.frame[column].dtype == original[column].dtype
        # No root labels here: missing in, missing out, and nothing else.
        pd.testing.assert_series_equal(table.frame[column].isna(), original[column].isna())
    pay = table.frame["pay"].dropna()
    assert (pay.round(1) == pay).all()
    assert (table.frame["born"].dropna() == table.frame["born"].dropna().dt.normalize()).all()


@for_every_choice
def test_same_seed_same_values_and_inputs_untouched(name, options):
    anonymized = mixed_table(150, local=True)
    before = copy.deepcopy(anonymized)
    first = restore(anonymized, name, options, seed=5)
    second = restore(anonymized, name, options, seed=5)
    pd.testing.assert_frame_equal(first.table.frame, second.table.frame)
    assert first.fallbacks == second.fallbacks
    np.testing.assert_array_equal(anonymized.labels.nodes, before.labels.nodes)
    np.testing.assert_array_equal(anonymized.leaves, before.leaves)
    np.testing.assert_array_equal(anonymized.class_ids, before.class_ids)
    pd.testing.assert_frame_equal(anonymized.originals.frame, before.originals.frame)
    pd.testing.assert_frame_equal(anonymized.labels.rest.frame, before.labels.rest.frame)
    for column, hierarchy in before.hierarchies.items():
        np.testing.assert_array_equal(anonymized.hierarchies[column].leaves, hierarchy.leaves)


@for_every_choice
def test_labels_that_travelled_through_a_generator(name, options):
    anonymized = mixed_table(120)
    labels = anonymized.labels.from_table(anonymized.labels.to_table())
    restored = restore(anonymized, name, options, seed=3, labels=labels)
    direct = restore(anonymized, name, options, seed=3)
    pd.testing.assert_frame_equal(restored.table.frame, direct.table.frame)


@for_every_choice
def test_a_sample_restores_rows_of_classes_it_lost(name, options):
    anonymized = mixed_table(200)
    part = anonymized.take(np.arange(0, 200, 40))
    restored = restore(part, name, options, labels=anonymized.labels)
    assert_generalizes_back(anonymized.labels, restored.table)


@for_every_choice
def test_no_rows(name, options):
    anonymized = mixed_table(50)
    restored = restore(anonymized, name, options, labels=anonymized.labels.take(np.arange(0)))
    assert len(restored.table) == 0
    assert restored.table.schema == anonymized.originals.schema


@for_every_choice
def test_everything_missing_stays_missing(name, options):
    anonymized = mixed_table(20, missing=1.0, levels={"age": 3, "job": 2, "pay": 2, "born": 3, "smoker": 1})
    table = restore(anonymized, name, options).table
    if name not in (
        "single",
        "uniform",
        "noisy",
        "blend",
    ):  # they choose from the domain, the others from the originals
        assert table.frame[anonymized.quasi_identifiers].isna().all(axis=None)
    assert table.frame[["pay", "born"]].isna().all(axis=None)  # domains without any value


def test_every_strategy_is_here_under_every_one_of_its_choices():
    assert {name for name, _ in CHOICES} == set(REGISTRY)
    estimators = {options.get("estimator", "histogram") for name, options in CHOICES if name == "conditional"}
    assert estimators == {"histogram", "joint", "kde", "given"}
    assert ("noisy", {"tables": "class", "given": "ill"}) not in CHOICES


@for_every_choice
def test_originals_decide_exactly_where_the_strategy_says_so(name, options):
    """Global and local recoding, labels that occur and combinations that do not."""
    tables = [mixed_table(150, seed=2), mixed_table(150, seed=3, local=True)]
    changes = [changes_with_the_originals(table, name, options, seed) for seed, table in enumerate(tables)]
    strategy = REGISTRY[name]
    assert any(changes) == strategy.reads_originals(strategy.Options(**options))


class Cheating:
    """Returns the first original record for every row, and denies it."""

    name = "cheating"
    Options = UniformOptions

    def reads_originals(self, options):
        return False

    def fit(self, anonymized, options, rng):
        class First:
            def restore(self, labels, rng):
                return Restored(anonymized.originals.take(np.zeros(len(labels), dtype=np.int64)))

        return First()


def test_a_strategy_that_denies_reading_originals_is_found_once_it_is_registered(monkeypatch):
    monkeypatch.setitem(REGISTRY, "cheating", Cheating())
    found = [options for name, options in every_choice() if name == "cheating"]
    assert len(found) == 2
    for options in found:
        with pytest.raises(AssertionError):
            test_originals_decide_exactly_where_the_strategy_says_so("cheating", options)
