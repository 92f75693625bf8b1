"""The epsilon of ``noisy``: what two neighbouring tables change in it, and the conditions of its statement."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.anonymize import anonymize
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.language import catalogue
from hybrid.evaluation.measure import Evaluation
from hybrid.hierarchy.build import from_rows
from hybrid.pipeline.config import load_config
from hybrid.pipeline.privacy_statements import StatementBasis
from hybrid.pipeline.promises import promises
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.transition.strategies import noisy
from tests.pipeline.sampled_first import CONFIG, write_people

NAMES = ("town", "job")
SCHEMA = Schema(
    (
        *(Column(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for name in NAMES),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
    )
)
TREES = {
    name: from_rows([[v, g, "*"] for v, g in zip("abcd", "NNSS", strict=True)], SCHEMA[name], False, name)
    for name in NAMES
}
FIXED = AnonymizeOptions(k=2, levels={"town": 1, "job": 1}, suppression_limit=1.0)


def labelled(rows: list[tuple[str, str]]) -> AnonymizedTable:
    frame = pd.DataFrame(rows, columns=list(NAMES)).astype("category")
    frame["ill"] = pd.Categorical(["yes" if at % 3 else "no" for at in range(len(rows))])
    return anonymize(Table(frame, SCHEMA), TREES, FIXED)


class Spent:
    """What a fit hands to its mechanisms."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tables: list[tuple[np.ndarray, float, float]] = []
        self.scores: list[tuple[np.ndarray, float, float]] = []

        def counted(counts, epsilon, sensitivity, rng):
            self.tables.append((counts, epsilon, sensitivity))
            return counts.astype(float)

        def chosen(scores, epsilon, sensitivity, rng):
            self.scores.append((scores, epsilon, sensitivity))
            return 0

        monkeypatch.setattr(noisy, "geometric", counted)
        monkeypatch.setattr(noisy, "exponential_choice", chosen)

    def of(self, table: AnonymizedTable, options: noisy.NoisyOptions) -> tuple[list[Any], list[Any]]:
        self.tables, self.scores = [], []
        noisy.Noisy().fit(table, options, np.random.default_rng(0))
        return self.tables, self.scores


def loss(one: tuple[list[Any], list[Any]], other: tuple[list[Any], list[Any]]) -> float:
    """Most privacy loss between two fits: noise of counts, and choices by scores (twice their scale)."""
    total = 0.0
    for (a, epsilon, scale), (b, _, _) in zip(one[0], other[0], strict=True):
        total += epsilon * np.abs(a - b).sum() / scale
    for (a, epsilon, scale), (b, _, _) in zip(one[1], other[1], strict=True):
        total += epsilon * np.abs(a - b).max() / scale
    return total


OPTIONS = [{"tables": "marginal"}, {"tables": "chow_liu"}, {"tables": "class"}, {"tables": "marginal", "given": "ill"}]
CELLS = st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"))
SIBLING = dict(zip("abcd", "badc", strict=True))


@settings(max_examples=6, deadline=None)
@given(rows=st.lists(CELLS, min_size=6, max_size=14), at=st.integers(0, 5), which=st.integers(0, 2))
def test_neighbours_within_labels_differ_by_epsilon_at_most(rows, at, which):
    """Every table of noisy counts and every choice of its tree, on the same budget."""
    changed = list(rows)
    town, job = rows[at]
    changed[at] = (SIBLING[town] if which != 1 else town, SIBLING[job] if which != 0 else job)
    first, second = labelled(rows), labelled(changed)
    assert (first.labels.nodes == second.labels.nodes).all() and first.class_ids.tolist() == second.class_ids.tolist()
    for options in OPTIONS:
        chosen = noisy.NoisyOptions(epsilon=0.8, **options)
        with pytest.MonkeyPatch.context() as patch:
            spent = Spent(patch)
            lost = loss(spent.of(first, chosen), spent.of(second, chosen))
            assert lost <= 0.8 + 1e-9


def test_the_bound_is_reached_and_half_the_noise_is_noticed(monkeypatch):
    rows = [("a", "c")] * 5 + [("b", "d")] * 5
    first, second = labelled(rows), labelled([("b", "d"), *rows[1:]])
    chosen, spent = noisy.NoisyOptions(epsilon=0.8), Spent(monkeypatch)
    assert loss(spent.of(first, chosen), spent.of(second, chosen)) == pytest.approx(0.8)
    monkeypatch.setattr(noisy, "SENSITIVITY", 1.0)
    assert loss(spent.of(first, chosen), spent.of(second, chosen)) == pytest.approx(1.6)


def content(**changes: Any) -> dict[str, Any]:
    found = copy.deepcopy(CONFIG) | {"sample": {"method": "none"}, "transition": {"method": "noisy", "epsilon": 0.7}}
    return found | changes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("people"), content(), rows=120).parent


def explained(folder: Path, seed: int | None = None, **changes: Any) -> TableRun:
    return TableRun(load_config(folder / "config.yaml", changes), seed)


def of_values(pipeline: TableRun) -> Any:
    (found,) = [one for one in pipeline.promises.explanations if one.of_values]
    return found


def test_states_its_epsilon_without_claiming_privacy_of_the_table(folder):
    pipeline = explained(folder)
    said = of_values(pipeline)
    assert said.holds and "epsilon = 0.7" in said.text and "choose the levels" not in said.text
    assert not pipeline.is_private and not pipeline.promises.explanation.is_private
    assert said.text in str(pipeline.promises.text)
    sentence = guarantee_sentence(None, pipeline.config.model_dump(mode="json"), Evaluation(()), private=False)
    assert "No differential privacy is claimed." in sentence


@pytest.mark.parametrize("levels", [{}, {"age": 1}])
def test_with_searched_levels_it_holds_for_tables_with_the_same_labels(folder, levels):
    said = of_values(explained(folder, **{"anonymize.levels": levels}))
    assert said.holds and "where both tables get the same labels" in said.text


GERMAN = catalogue("de")
PREFIX = "values of noisy: "
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "noise of real numbers": ({"transition.mechanism": "laplace"}, "whole numbers"),
    "protected": ({"protect": {}}, "protected by counting"),
    "several rows": ({"data.max_rows": None}, "every person has one record"),
    "stable split": ({"split.stable": True}, "split.stable"),
    "strata of values": ({"sample": {"method": "stratified", "by": ["age"], "beta": 0.5}}, "sampled by its quasi"),
    "learned constraint": ({"constraints": [{"combinations": ["age", "region"]}]}, "constraint"),
    "condition": ({"synthesize": {"generator": "cart", "where": "age > 30"}}, "counting the records that meet it"),
    "filter": ({"synthesize": {"generator": "cart", "filter": {}}}, "distance to a training record"),
}


@pytest.mark.parametrize(("changes", "named"), BROKEN.values(), ids=BROKEN)
def test_each_condition_alone_voids_it(folder, changes, named):
    said = of_values(explained(folder, **changes))
    missing = [one.text for one in said.conditions if not one.met]
    assert not said.holds and len(missing) == 1 and named in missing[0] and missing[0].startswith(PREFIX)
    assert missing[0].removeprefix(PREFIX) in said.text and "no statement follows" in said.text
    assert "Werte folgt daraus nichts" in GERMAN.say(said.text) and GERMAN.say(missing[0]).startswith("Werte von noisy")


def test_a_chosen_seed_and_a_domain_of_the_records_void_it(folder, tmp_path):
    assert not of_values(explained(folder, seed=3)).holds
    path = write_people(tmp_path, content(), rows=120)
    (tmp_path / "age.yaml").write_text("type: intervals\nwidths: [10]\n")
    found = of_values(TableRun(load_config(path, {"data.columns.age.hierarchy": "age.yaml"})))
    assert not found.holds and "(not so: 'age')" in found.text


def test_linked_tables_void_it(folder):
    config = load_config(folder / "config.yaml")
    alone, linked = (promises(StatementBasis(config, SCHEMA, linked=flag), ())[1] for flag in (False, True))
    assert alone.holds and not linked.holds
    (missing,) = (one.text for one in linked.conditions if not one.met)
    assert missing.startswith(f"{PREFIX}no other table is linked")


def test_strata_of_other_columns_and_classes_keep_it(folder):
    assert of_values(explained(folder, sample={"method": "stratified", "beta": 0.5})).holds
