"""What every transition must keep, whatever it learns."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.transition import REGISTRY
from tests.transition.transition_tables import mixed_table, random_tables

CHOICES = [
    ("single", {}),
    ("single", {"numeric": "mean", "categorical": "mode"}),
    ("single", {"numeric": "median", "categorical": "mode"}),
    ("uniform", {}),
    ("uniform", {"leaves": "observed"}),
    ("conditional", {"estimator": "histogram"}),
    ("conditional", {"estimator": "kde"}),
    ("conditional", {"estimator": "joint"}),
    ("conditional", {"estimator": "given"}),
    ("tree", {"min_records": 5}),
    ("tree", {"min_records": 20, "sensitive": False}),
    ("marginal", {}),
    ("marginal", {"given": "ill"}),
    ("marginal", {"given": "visits"}),
    ("chow_liu", {"min_records": 3}),
    ("chow_liu", {"min_records": 3, "given": "ill"}),
    ("noisy", {"tables": "marginal"}),
    ("noisy", {"tables": "marginal", "given": "ill", "mechanism": "laplace"}),
    ("noisy", {"tables": "chow_liu", "epsilon": 5.0}),
    ("noisy", {"tables": "class"}),
    ("blend", {}),
    ("shrunk", {}),
]
NAMES = ["-".join([name, *map(str, options.values())]) for name, options in CHOICES]
every_choice = pytest.mark.parametrize(("name", "options"), CHOICES, ids=NAMES)


def restore(anonymized, name, options, seed=0, labels=None):
    strategy = REGISTRY[name]
    rng = np.random.default_rng(seed)
    fitted = strategy.fit(anonymized, strategy.Options(**options), rng)
    return fitted.restore(anonymized.labels if labels is None else labels, rng)


def assert_generalizes_back(labels, table):
    for at, name in enumerate(labels.quasi_identifiers):
        assert labels.hierarchies[name].contains(labels.nodes[:, at], table.frame[name]).all(), name


def shuffled_combinations(labels, seed=1):
    """Rows as a generator makes them: labels that occur, in combinations that no class need have."""
    rng = np.random.default_rng(seed)
    nodes = np.column_stack([rng.permutation(column) for column in labels.nodes.T])
    return type(labels)(nodes, labels.rest, labels.schema, labels.hierarchies)


@every_choice
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


@every_choice
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


@every_choice
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


@every_choice
def test_labels_that_travelled_through_a_generator(name, options):
    anonymized = mixed_table(120)
    labels = anonymized.labels.from_table(anonymized.labels.to_table())
    restored = restore(anonymized, name, options, seed=3, labels=labels)
    direct = restore(anonymized, name, options, seed=3)
    pd.testing.assert_frame_equal(restored.table.frame, direct.table.frame)


@every_choice
def test_a_sample_restores_rows_of_classes_it_lost(name, options):
    anonymized = mixed_table(200)
    part = anonymized.take(np.arange(0, 200, 40))
    restored = restore(part, name, options, labels=anonymized.labels)
    assert_generalizes_back(anonymized.labels, restored.table)


@every_choice
def test_no_rows(name, options):
    anonymized = mixed_table(50)
    restored = restore(anonymized, name, options, labels=anonymized.labels.take(np.arange(0)))
    assert len(restored.table) == 0
    assert restored.table.schema == anonymized.originals.schema


@every_choice
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
