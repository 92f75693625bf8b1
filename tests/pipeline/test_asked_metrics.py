"""A run, and each linked table, is measured by what is asked for, which changes no number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, MetricResult
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.asked import asked_by
from hybrid.publication.policy import load_policy, packaged_policies
from tests.helpers.whole_demo import write_whole_demo
from tests.pipeline.tables import hospital

CHEAP = {"evaluate.families": ["fidelity"], "evaluate.power": False, "evaluate.baseline": False}
"""Of privacy and utility the same function chooses; nothing is planted."""
ASKED = {name for name in asked_by(load_policy()) if REGISTRY[name].family == "fidelity"}

PARENTS = {name for name in ASKED if "parents" in REGISTRY[name].needs}


def results(found: Evaluation) -> dict[tuple[Any, ...], MetricResult]:
    return {(one.stage, one.name, one.column, one.table): replace(one, seconds=0.0) for one in found.metrics}


@pytest.mark.parametrize("several", [False, True])
def test_a_run_is_measured_by_what_is_asked_for_and_no_number_depends_on_that(tmp_path: Path, several: bool) -> None:
    path = write_whole_demo(tmp_path / "demo", 300, several=several)
    config = load_config(path, CHEAP)
    run = TableRun(config, 1)
    usual = results(run.evaluation)
    everything = results(TableRun(load_config(path, CHEAP | {"evaluate.also": "all"}), 1).evaluation)
    compared = results(TableRun(config, 1, judge_power=False).evaluation)
    assert {name for _, name, *_ in usual} == ASKED - PARENTS
    assert usual == {key: everything[key] for key in usual}
    assert everything == compared
    assert ("synthetic", "within_person", None, None) in everything or not several
    assert ("synthetic", "mmd", None, None) in everything


def test_a_kept_evaluation_is_used_again_where_as_much_is_asked_for(tmp_path: Path) -> None:
    path = write_whole_demo(tmp_path / "demo", 300)
    rule = {"name": "own", "metric": "mmd", "direction": "lower", "review": 0.5, "reason": "Tried."}
    text = yaml.safe_dump({"extends": "default", "name": "own", "version": "1", "owner": "A Person", "rules": [rule]})
    (tmp_path / "demo" / "own.yaml").write_text(text)
    keys = [
        TableRun(load_config(path, {"policy": policy, **changes}), 1).keys["evaluate-synthetic"]
        for policy, changes in (("default", {}), ("statistics_office", {}), ("own.yaml", {}))
    ]
    office = asked_by(load_policy(packaged_policies()["statistics_office"]))
    assert (keys[0] == keys[1]) == (office == asked_by(load_policy()))
    assert keys[2] not in keys[:2]


def test_linked_tables_are_measured_by_what_is_asked_for(tmp_path: Path) -> None:
    settings = hospital.content()
    settings["evaluate"] = {"families": ["fidelity"], "power": False, "original": False, "baseline": False}
    config = load_config(hospital.write(tmp_path, settings=settings))
    run = Pipeline(config, 1)
    names: dict[str | None, set[str]] = {}
    for one in run.evaluation.metrics:
        names.setdefault(one.table, set()).add(one.name)
    assert set(names) >= {"patients", "visits"}
    assert names["patients"] == ASKED - PARENTS
    assert names["visits"] == ASKED
    assert not [finding for finding in diagnose(config) if finding.level == "error"]
