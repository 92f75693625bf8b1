"""Every result of an evaluation as it was looked at once: values, bounds and details, to five digits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid.evaluation import REGISTRY, EvaluateOptions, evaluate
from hybrid.evaluation.context import Making
from hybrid.evaluation.measure import Lacking, Subject
from hybrid.table import Schema, Table
from tests.evaluation.known_generators import half
from tests.evaluation.simulated_people import make_people
from tests.helpers.kept import assert_kept

RETRAIN = {
    "canaries": 10,
    "records": 2,
    "shadows": 10,
    "tests": 10,
    "bagging": 10,
    "rows": 50,
    "halves": 20,
    "looks": 1,
}


def rounded(value: Any) -> Any:
    """The same with five significant digits, so that sums in another order do not matter."""
    match value:
        case float() | np.floating():
            return float(f"{value:.5g}")
        case dict():
            return {str(key): rounded(one) for key, one in value.items()}
        case list() | tuple():
            return [rounded(one) for one in value]
    return value


def results(train: Table, control: Table, table: Table, **options: Any) -> str:
    """One line per metric: its JSON form without its times."""
    chosen = EvaluateOptions.model_validate({"secrets": ("illness", "cost"), "paper": True, **options})
    making: dict[Subject, Making] | None = {"synthetic": Making(again=half)} if chosen.retrain else None
    found = evaluate(train, control, {"synthetic": table}, chosen, np.random.default_rng(5), making=making)
    lines = []
    for one in found.metrics:
        said = {key: rounded(each) for key, each in one.to_json().items() if "seconds" not in key}
        lines.append(json.dumps(said, sort_keys=True, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def named(*needs: Lacking) -> list[str]:
    """Metrics that need one of these, or nothing that is switched on, and no network."""
    return [
        name
        for name, metric in REGISTRY.items()
        if metric.mechanism != "embedding"
        and name not in ("membership_flow", "target_attention")
        and (
            set(needs) & set(metric.needs)
            if needs
            else not {"retraining", "trainings", "persons", "model"} & set(metric.needs)
        )
    ]


def visits(n: int, rng: np.random.Generator) -> Table:
    """People with one to four visits, of sex and place as at the first, ordered by day."""
    people = np.repeat(np.arange(n), rng.integers(1, 5, n))
    rows, first = make_people(len(people), rng), make_people(n, rng).take(people)
    frame = rows.frame.assign(sex=first.frame["sex"], place=first.frame["place"])
    schema = Schema(tuple(replace(column, order=column.name == "admitted") for column in rows.schema))
    return Table(frame, schema, people)


def test_results_on_records_are_kept() -> None:
    rng = np.random.default_rng(3)
    train, control = make_people(450, rng), make_people(300, rng)
    found = results(train, control, half(train, 4), metrics=named(), privacy_score={})
    assert_kept("results_of_records.json", found)


def test_results_on_a_sample_of_the_records_are_kept() -> None:
    rng = np.random.default_rng(4)
    train, control = make_people(400, rng), make_people(90, rng)
    names = [name for name in named() if REGISTRY[name].family == "privacy"]
    found = results(train, control, half(train, 4), metrics=names, max_records=130)
    assert_kept("results_of_a_sample.json", found)


def test_results_on_rows_of_persons_are_kept() -> None:
    rng = np.random.default_rng(5)
    train, control = visits(150, rng), visits(80, rng)
    drawn = Table(half(train, 4).frame, train.schema, train.persons)
    names = [*named("persons"), "rare_values", "dcr_share", "nnaa", "membership_subgroups", "inference", "singling_out"]
    found = results(train, control, drawn, metrics=names)
    assert_kept("results_of_persons.json", found)


def test_results_of_attacks_with_training_are_kept() -> None:
    rng = np.random.default_rng(6)
    train, control = make_people(120, rng), make_people(120, rng)
    found = results(train, control, half(train, 4), metrics=named("retraining", "trainings"), retrain=RETRAIN)
    assert_kept("results_of_trainings.json", found)
