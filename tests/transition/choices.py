"""Every registered transition with options that cover its model, and what holds of each."""

from __future__ import annotations

import types
from itertools import product
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo
from scipy import stats

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.errors import ConfigError
from hybrid.base.options import Options
from hybrid.transition import REGISTRY
from hybrid.transition.protocol import Transition
from tests.transition.transition_tables import mixed_table, with_other_originals

COLUMNS = (None, "ill", "visits")
"""What an option that names a column beside the quasi-identifiers of ``mixed_table`` can be: a category or a number."""


def every_choice() -> list[tuple[str, dict[str, Any]]]:
    """Every strategy with all combinations of its choices, and each number at its default and its inclusive ends.

    Combinations that the strategy refuses as contradictory are left out.
    """
    found, table = [], mixed_table(30)
    for name, strategy in REGISTRY.items():
        possible = [options for options in combinations(strategy.Options) if _accepted(strategy, options, table)]
        assert possible, f"{name} refuses all of its options"
        found += [(name, options) for options in possible]
    return found


def combinations(model: type[Options]) -> list[dict[str, Any]]:
    """Options of a model, without those that are at their defaults."""
    fields = {name: _values(field) for name, field in model.model_fields.items()}
    chosen = {name: values for name, (numeric, values) in fields.items() if not numeric}
    grid = [dict(zip(chosen, values, strict=True)) for values in product(*chosen.values())]
    ends = [{name: end} for name, (numeric, values) in fields.items() if numeric for end in values]
    defaults = {name: field.get_default() for name, field in model.model_fields.items()}
    small = [{name: value for name, value in options.items() if value != defaults[name]} for options in [*grid, *ends]]
    return [options for at, options in enumerate(small) if options not in small[:at]]


def _values(field: FieldInfo) -> tuple[bool, tuple[Any, ...]]:
    """Whether an option is a number, and the values to try."""
    kind = field.annotation
    if get_origin(kind) is Literal:
        return False, get_args(kind)
    if kind is bool:
        return False, (True, False)
    if get_origin(kind) in (Union, types.UnionType) and set(get_args(kind)) == {str, type(None)}:
        return False, COLUMNS
    if set(get_args(kind)) == {int, type(None)}:
        kind = int
    assert kind in (int, float), f"say here which values of {kind} to try"
    ends = [one.ge for one in field.metadata if isinstance(one, Ge)] + [
        one.le for one in field.metadata if isinstance(one, Le)
    ]
    return True, tuple(kind(end) for end in ends)


def _accepted(strategy: Transition, options: dict[str, Any], table: AnonymizedTable) -> bool:
    try:
        strategy.fit(table, strategy.Options(**options), np.random.default_rng(0))
    except ConfigError:
        return False
    return True


CHOICES = every_choice()
"""Made once: each is tried on a table."""
for_every_choice = pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, options, id="-".join([name, *(f"{key}={value}" for key, value in options.items())]))
        for name, options in CHOICES
    ],
)


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


def drawn(anonymized, name, options=None, seed=11, column="x"):
    return restore(anonymized, name, options or {}, seed).table.frame[column]


def assert_frequencies(values, expected, p=1e-3):
    """Chi-square test of the values against probabilities; seeds are fixed, so it never flickers."""
    counts = values.value_counts().reindex(list(expected), fill_value=0)
    assert counts.sum() == len(values), "a value that should not occur"
    assert stats.chisquare(counts, np.array(list(expected.values())) * len(values)).pvalue > p


def changes_with_the_originals(anonymized, name, options, seed=0) -> bool:
    """Whether other original values under the same labels change what is restored."""
    others = with_other_originals(anonymized, seed)
    for labels in (anonymized.labels, shuffled_combinations(anonymized.labels, seed)):
        frames = [restore(one, name, options, seed, labels).table.frame for one in (anonymized, others)]
        if not frames[0].astype(object).equals(frames[1].astype(object)):
            return True
    return False
