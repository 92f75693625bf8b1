"""``paper: true``: the formulas as printed, with the faults that made others necessary."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure
from hybrid.evaluation.context import Context, Making
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people

PRINTED = {
    "singling_out_univariate",
    "singling_out",
    "linkability",
    "inference",
    "inference_worst",
    "inference_exposed",
    "inference_model",
    "identical_match",
    "dcr_score",
    "knn_share",
    "nndr",
    "nnaa",
    "hitting_rate",
    "gtcap",
    "zcap",
    "gcap",
    "air",
    "close_value",
    "hidden_rate",
    "mir",
    "membership_density",
    "membership_exposed",
    "discriminator",
    "wasserstein",
    "total_variation",
}
"""Canaries train: tests/evaluate/test_retraining.py. Improvement: test_improvement.py."""


def measured(train: Table, control: Table, table: Table, paper: bool = True) -> dict[str, Measure]:
    options = EvaluateOptions(paper=paper, secrets=("cost", "illness"), attacks=200, singling_out_columns=(3, 4))
    origin = np.arange(len(table))  # A copy in the order of the records.
    context, found = Context(train, control, table, options, 1, making=Making(origin=origin)), {}
    for metric in REGISTRY.values():
        outcome = metric.measure(context, metric.columns(context)[0]).outcome
        if isinstance(outcome, Measure):
            found[metric.name] = outcome
    return found


@pytest.fixture(scope="module")
def people() -> tuple[Table, Table]:
    rng = np.random.default_rng(3)
    return make_people(400, rng), make_people(400, rng)


@pytest.fixture(scope="module")
def of_a_copy(people: tuple[Table, Table]) -> dict[str, Measure]:
    train, control = people
    return measured(train, control, train)


def test_printed_formulas_stand_beside_the_corrected_ones(
    people: tuple[Table, Table], of_a_copy: dict[str, Measure]
) -> None:
    assert {name for name, measure in of_a_copy.items() if "paper" in measure.details} == PRINTED
    plain = measured(*people, people[0], paper=False)
    for name, measure in plain.items():
        assert "paper" not in measure.details
        assert measure.value == of_a_copy[name].value


def test_what_the_printed_formulas_say_of_a_copy(of_a_copy: dict[str, Measure]) -> None:
    paper = {name: measure.details.get("paper", {}) for name, measure in of_a_copy.items()}
    assert paper["identical_match"]["IMS"] == 1
    assert paper["nndr"]["NNDR"] == 1  # as if safest; corrected 0
    assert of_a_copy["nndr"].value == 0
    assert paper["nnaa"]["NNAA'"] == 1
    assert paper["knn_share"]["PS"] < 0.5  # a copy has one distance of zero in five (METRICS B3)
    assert paper["discriminator"]["accuracy"] < 0.4  # twins on both sides of the split push it below chance
    assert paper["wasserstein"]["W"] == 0
    assert paper["hitting_rate"]["HitR"] >= of_a_copy["hitting_rate"].value == 1
    assert paper["linkability"]["successes"] <= of_a_copy["linkability"].details["successes"] == 400
    sizes = [paper["singling_out"][size]["risk"] for size in ("3", "4")]
    assert 0 <= min(sizes) <= max(sizes) == paper["singling_out"]["risk"] <= 1


def test_numbers_of_privacy_are_declared_for_the_laboratory(of_a_copy: dict[str, Measure]) -> None:
    privacy = {name for name in PRINTED if REGISTRY[name].family == "privacy"}
    found = {name for name, measure in of_a_copy.items() if REGISTRY[name].printed_numbers(measure)}
    assert found == privacy
    for metric in REGISTRY.values():
        forms = {*metric.printed, *metric.printed_safe}
        if {"retraining", "trainings"} & set(metric.needs):
            continue  # tests/evaluation/test_membership_trained.py
        assert not forms or forms == set(metric.printed_numbers(of_a_copy[metric.name]))


def test_sets_pairs_units_and_halves_by_hand(people: tuple[Table, Table]) -> None:
    train, control = people
    doubled = Table(pd.concat([train.take(np.arange(100)).frame] * 2, ignore_index=True), train.schema)
    shifted = Table(doubled.frame.assign(cost=doubled.frame["cost"] + 40), train.schema)
    found = measured(train, control, doubled)
    assert found["identical_match"].details["paper"] == {"IMS": 1.0, "CRP": pytest.approx(0.25)}
    assert found["hitting_rate"].details["paper"]["HitR"] >= 2 * 0.25
    assert found["total_variation"].details["paper"]["TVD"] == 2 * found["total_variation"].value
    moved = measured(train, control, shifted)["wasserstein"].details
    one = {name: row["value"] for name, row in moved["columns"].items()}
    days = train.frame["admitted"]
    units = {name: np.ptp(train.frame[name].dropna().to_numpy(float)) for name in ("age", "cost", "height")}
    units["admitted"] = (days.max() - days.min()).total_seconds()
    assert moved["paper"]["W"] == pytest.approx(np.mean([one[name] * units[name] for name in one]))
