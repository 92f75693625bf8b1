"""Tables measured together score as each measured on its own, and what is switched off is not measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hybrid.evaluation.measure import Measure, MetricResult
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.policy import Policy
from hybrid.store import Store
from tests.helpers.whole_demo import write_whole_demo

FEW = {"evaluate.metrics": ["dcr_share", "k_reached", "mmd"], "evaluate.power": False}


def _without_seconds(results: tuple[MetricResult, ...]) -> list[MetricResult]:
    return [replace(result, seconds=0.0) for result in results]


def test_tables_measured_together_score_as_each_on_its_own(tmp_path: Path) -> None:
    write_whole_demo(tmp_path / "demo", 400)
    config = load_config(tmp_path / "demo" / "config.yaml", FEW)
    together = TableRun(config, 1, Store(tmp_path / "store"))
    alone = TableRun(config, 1)
    subjects = ("original", "anonymized", "synthetic", "baseline")
    each = [result for subject in subjects for result in alone.evaluated(subject).metrics]
    assert _without_seconds(together.evaluation.metrics) == _without_seconds(tuple(each))
    again = TableRun(config, 1, Store(tmp_path / "store"))
    assert again.evaluation == together.evaluation
    cheap = load_config(
        tmp_path / "demo" / "config.yaml", {**FEW, "evaluate.original": False, "evaluate.baseline": False}
    )
    night = TableRun(cheap, 1, Store(tmp_path / "store"))
    assert {result.stage for result in night.evaluation.metrics} == {"anonymized", "synthetic"}
    assert night.keys["evaluate-synthetic"] == together.keys["evaluate-synthetic"]


def test_folds_measure_the_stages_that_the_rules_are_about(tmp_path: Path) -> None:
    """And the store keeps the one apart from the other."""
    write_whole_demo(tmp_path / "demo", 400)
    chosen = {"evaluate.metrics": ["identical_match"], "evaluate.power": False, "evaluate.baseline": False}
    config = load_config(tmp_path / "demo" / "config.yaml", chosen | {"split": {"control": "cross", "folds": 2}})
    rule = {
        "metric": "identical_match",
        "direction": "lower",
        "compare": "excess",
        "review": 0.5,
        "reason": "No copies.",
    }
    for stage, others in (("synthetic", {}), ("anonymized", {"anonymized": 2})):
        run = TableRun(config, 1, Store(tmp_path / "store"))
        head = {"name": "own", "version": "1", "owner": "the tests"}
        run.policy = Policy.model_validate(head | {"rules": [rule | {"name": "copies", "stage": stage}]})
        assert run.policy.stages == {"synthetic", stage}
        found = ((one.stage, one.outcome) for one in run.evaluation.metrics)
        folds = {name: outcome.details.get("folds") for name, outcome in found if isinstance(outcome, Measure)}
        assert folds == {"original": None, "anonymized": None, "synthetic": 2} | others


def test_leaks_are_planted_only_where_the_verdict_is_asked_for(tmp_path: Path) -> None:
    write_whole_demo(tmp_path / "demo", 300)
    chosen = {"evaluate.metrics": ["identical_match"], "evaluate.original": False, "evaluate.baseline": False}
    config = load_config(tmp_path / "demo" / "config.yaml", chosen)
    found = TableRun(config, 1).power
    assert found is not None and {leak.kind for leak in found.leaks} >= {"copy", "near"}
    assert TableRun(config, 1, judge_power=False).power is None
    switched_off = load_config(tmp_path / "demo" / "config.yaml", chosen | {"evaluate.power": False})
    assert TableRun(switched_off, 1).power is None
