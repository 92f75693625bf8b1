"""The model in an attacker's hands: its metric, its way through a run, and what the guarantee says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from hybrid.base.arrays import Array
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.context import KeptModel, Making
from hybrid.evaluation.measure import Evaluation, MetricResult, NotComputable, Outcome, Subject
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.store import Store
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people

NAME = "membership_whitebox"


def measured(train: Table, control: Table, model: KeptModel | None) -> Outcome | None:
    options = EvaluateOptions(families=("privacy",), metrics=None if model is None else (NAME,))
    making: dict[Subject, Making] = {"synthetic": Making(model=model)}
    found = evaluate(train, control, {"synthetic": train}, options, np.random.default_rng(1), making=making)
    result = found.find(NAME, "synthetic")
    return None if result is None else result.outcome


@pytest.fixture(scope="module")
def people() -> tuple[Table, Table]:
    rng = np.random.default_rng(1)
    return make_people(40, rng), make_people(40, rng)


def test_who_is_known_by_a_model_is_found(people: tuple[Table, Table]) -> None:
    train, control = people
    ages, asked = set(train.frame["height"].dropna()), []

    def ask(records: Table, reference: Table) -> Array:
        asked.append((len(records), len(reference)))
        return records.frame["height"].isin(ages).to_numpy(dtype=float)

    found = measured(train, control, KeptModel("cart", ask))
    assert isinstance(found, Measure)
    mine, other = (np.mean(table.frame["height"].isin(ages)) for table in people)
    assert found.value == pytest.approx(0.5 + (mine - other) / 2), "two scores: the AUC of a yes or no"
    assert found.details["generator"] == "cart"
    assert asked == [(20, 20)] * 4, "each half of control is the reference of the other"


def test_a_person_counts_once_by_the_mean_of_the_rows(people: tuple[Table, Table]) -> None:
    train, control = (
        replace(table, frame=table.frame.assign(age=np.arange(40) % 2), named_persons=np.arange(40) // 2)
        for table in people
    )
    heights = set(train.frame["height"].dropna())

    def ask(records: Table, reference: Table) -> Array:
        known = records.frame["height"].isin(heights).mean() > 0.5
        first = records.frame["age"].to_numpy() == 0
        return np.where(first, 5.0, 0.0) if known else np.where(first, 4.0, 3.0)

    found = measured(train, control, KeptModel("cart", ask))
    assert isinstance(found, Measure)
    assert (found.n, found.details["non_members"]) == (20, 20)
    assert found.value == 0, (
        "means of 2.5 and 3.5: every stranger is ahead, though the highest rows are of training people"
    )


def test_what_cannot_be_asked_has_a_reason(people: tuple[Table, Table]) -> None:
    found = measured(*people, KeptModel("ctgan", None, "no attack here asks a model of ctgan about people"))
    assert not isinstance(found, Measure)
    assert found is not None
    assert found.lacks == "model"
    assert measured(*people, None) is None, "where no model is kept there is nothing to say"


def config_of(people: Table, folder: Path, **more: Any) -> RunConfig:
    people.frame.to_csv(folder / "people.csv", index=False)
    content = {
        "version": 1,
        "seed": 3,
        "data": {"path": "people.csv", "unlisted": "insensitive"},
        "split": {"control": 0.5},
        "protect": "off",
        "synthesize": {"options": {"min_leaf": 5, "smoothing": 0}},
        "evaluate": {"families": ["privacy"], "power": False, "original": False, "baseline": False},
        **more,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return load_config(folder / "config.yaml")


def told(evaluation: Evaluation) -> str:
    said = guarantee_sentence(None, {}, evaluation)
    return said[said.index("The run keeps") :] if "The run keeps" in said else ""


def test_a_run_whose_store_keeps_the_model_says_what_it_gives_away(tmp_path: Path) -> None:
    config = config_of(make_people(600, np.random.default_rng(5)), tmp_path)
    pipeline = TableRun(config, store=Store(tmp_path / "store"))
    result = pipeline.evaluation.find(NAME, "synthetic")
    assert result is not None
    assert isinstance(result.outcome, Measure)
    assert result.outcome.low is not None
    assert result.outcome.low > 0.8, "leaves of five people hold their numbers"
    assert pipeline.evaluation.find(NAME, "original") is None
    value = f"{result.outcome.value:.2f}"
    assert told(pipeline.evaluation).startswith(
        "The run keeps its trained model, which no release contains: whoever holds it, and knows all values of a "
        f"person, tells training people from people never seen with an AUC of {value} ("
    )


def test_a_run_without_a_store_keeps_no_model(tmp_path: Path) -> None:
    evaluation = TableRun(config_of(make_people(300, np.random.default_rng(5)), tmp_path)).evaluation
    assert evaluation.find(NAME, "synthetic") is None
    assert told(evaluation) == ""


def test_a_model_that_nobody_asks_is_said_to_be_untried() -> None:
    reason = NotComputable("no attack here asks a model of ctgan about people", lacks="model")
    result = MetricResult(NAME, "privacy", "synthetic", "lower", reason)
    assert told(Evaluation((result,))) == (
        "The run keeps its trained model, which no release contains: how well whoever holds it finds training people "
        "was not tried (no attack here asks a model of ctgan about people)."
    )
