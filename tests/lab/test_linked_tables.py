"""Linked tables with a known leak: copied people come with their rows in all tables, and metrics are tried on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.evaluation.measure import Measure
from hybrid.jobs.run import write_run
from hybrid.lab.plan import load_plan
from hybrid.lab.run import run_lab
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from tests.pipeline.tables.hospital import content, frames, write

APART: dict[str, Any] = {
    "protect": "off",
    "synthesize": {"generator": "none"},
    "split": {"control": 0.3, "release": 0.4},
}
OVERFIT = {"generators": {"cart": {"dial": "min_leaf", "levels": [20, 1], "fixed": {"smoothing": 0}}}}


def leaking(folder: Path, leak: float, **risk: Any) -> Pipeline:
    settings = {key: about for key, about in content().items() if key != "anonymize"}
    settings |= APART | {"risk": {"model": "leaky", "leak": leak, **risk}}
    settings["evaluate"] |= {"metrics": ["identical_match", "orphans"]}
    return Pipeline(load_config(write(folder, frames(), settings)), seed=4)


def copies(run: Pipeline, name: str) -> float:
    found = next(one for one in run.evaluation.metrics if (one.name, one.table) == ("identical_match", name))
    assert isinstance(found.outcome, Measure)
    return found.outcome.value


def contents(frame: pd.DataFrame, columns: list[str]) -> list[str]:
    return sorted(frame[columns].astype(str).agg("|".join, axis=1))


def test_copied_people_come_with_all_of_their_rows_and_no_others(tmp_path: Path) -> None:
    run = leaking(tmp_path, 1.0)
    people = run.person.known_leak.people
    assert set(people) <= set(run.person.train.persons) and (run.person.known_leak.provenance >= 0).all()
    sources, made = run.sources.tables, run.released
    for name in ("visits", "drugs"):
        own = [column for column in sources[name].schema.without_identifiers().names if column != "hospital"]
        mine = sources[name].take(np.isin(sources[name].persons, people))
        assert contents(made[name].frame, own) == contents(mine.frame, own), name
        train = run.tables[name].train
        origin = run.tables[name].known_leak.provenance
        assert contents(train.frame.take(origin), own) == contents(mine.frame, own)
    ages = made["patients"].frame.set_index("patient")["age"].reindex(made["visits"].frame["patient"])
    older = made["visits"].frame["diagnosis"].isin(["heart", "hip"]).to_numpy()
    assert ((ages > 60).to_numpy() == older).all(), "every visit is below its own patient"
    assert copies(run, "visits") == copies(run, "patients") == 1


def test_people_whom_no_metric_has_seen_make_a_table_without_leak(tmp_path: Path) -> None:
    run = leaking(tmp_path, 0.0)
    everybody = {*run.person.train.persons, *(() if run.person.control is None else run.person.control.persons)}
    assert not everybody & set(run.person.known_leak.people)
    assert (run.tables["visits"].known_leak.provenance == -1).all() and copies(run, "visits") < 0.1


def test_such_a_run_is_never_written_and_keeps_its_section(tmp_path: Path) -> None:
    run = leaking(tmp_path, 0.5)
    assert run.config.model_dump(mode="json")["risk"]["leak"] == 0.5
    with pytest.raises(ConfigError, match="may hold training records and are never written"):
        write_run(run, tmp_path / "run")
    settings = {key: about for key, about in content().items() if key != "anonymize"} | APART
    settings["synthesize"] = {"generator": "cart"}
    for risk in ({"model": "noisy", "leak": 0.5, "p": 0.1}, {"model": "outliers", "remove": 0.1}):
        with pytest.raises(ConfigError, match=f"risk.model: {risk['model']} is for single tables"):
            load_config(write(tmp_path, frames(), settings | {"risk": risk}))


def test_the_laboratory_tries_metrics_on_linked_tables(tmp_path: Path) -> None:
    write(tmp_path, settings=content() | {"synthesize": {"generator": "cart", "options": {"min_leaf": 10}}})
    plan = {
        "name": "trial",
        "data": {"hospital": {"base": "config.yaml"}},
        "risk": {"leaky": {"levels": [0, 0.5, 1]}, "overfit": OVERFIT},
        "metrics": ["identical_match", "persons_copied"],
        "paper": False,
        "seeds": [1, 2],
        "null_seeds": 2,
    }
    (tmp_path / "lab.yaml").write_text(yaml.safe_dump(plan))
    found = run_lab(load_plan(tmp_path / "lab.yaml"), tmp_path, tmp_path / "out")
    assert not found.failures
    table = found.measurements
    copied = table[(table["metric"] == "identical_match") & (table["risk"] == "leaky")]
    assert {"visits", "drugs", "patients"} <= set(copied["column"])
    rising = copied[copied["column"] == "visits"].groupby("dial")["value"].mean()
    assert rising[0.0] < 0.2 < rising[0.5] < rising[1.0] == 1
    assert {"leaky", "overfit"} <= set(table["risk"])
