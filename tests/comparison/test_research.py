"""Orders of stages that no release may have: measured by research plans, and nothing of them can be released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.manifest import MANIFEST
from hybrid.comparison import compare, load_plan
from hybrid.comparison.schedule import expand
from hybrid.comparison.trial import NOTE, PROMISE
from hybrid.jobs.release import release
from hybrid.pipeline.config import load_config
from tests.comparison.comparison_jobs import write_job, write_plan

LAST = ["synthesize", "anonymize", "transition"]
ORDERS: dict[str, Any] = {
    "order": {
        "anonymized first": {"stages": ["anonymize", "transition", "synthesize"]},
        "anonymized last": {"stages": LAST},
    }
}
PLAN: dict[str, Any] = {
    "set": {"sample.method": "none", "transition.method": "uniform", "evaluate.baseline": True},
    "factors": ORDERS,
    "seeds": [1],
    "research": True,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    compare(load_plan(write_job(folder, **PLAN)), folder, folder / "out")
    return folder


def problems(folder: Path, **plan: Any) -> list[str]:
    found = expand(load_plan(write_plan(folder, **(PLAN | plan))), folder).configurations
    return [each.problem for each in found]


def test_the_order_is_measured_beside_the_usual_one_and_told_apart(folder: Path) -> None:
    table = pd.read_csv(folder / "out" / "comparison.csv").set_index("order")
    assert set(table["status"]) == {"ok"}
    assert table.loc["anonymized last", "promise"] == PROMISE != table.loc["anonymized first", "promise"]
    assert table.loc["anonymized last", "verdict"] == "block"
    name = "total_variation"
    assert table[f"baseline.{name}"].nunique() == 1  # one generator, learned once
    assert table[f"synthetic.{name}"].nunique() == 2
    # Restored labels are no longer distributed as the generator's own rows.
    assert table.loc["anonymized last", f"synthetic.{name}"] > table.loc["anonymized last", f"baseline.{name}"]
    for page in ("comparison.html", "comparison.json"):
        assert NOTE in (folder / "out" / page).read_text()


def test_nothing_of_it_can_be_released(folder: Path, tmp_path: Path) -> None:
    """An attacker with the results, the plan and the command line."""
    out = folder / "out"
    numbers = {"comparison.csv", "comparison.html", "comparison.json", "left_out.csv", "rows.jsonl"}
    assert {path.name for path in out.rglob("*")} <= numbers | {MANIFEST, ".lock"}  # no table, nothing recommended
    with pytest.raises(HybridError):
        release(out, work=tmp_path / "work", runs=tmp_path / "runs", releases=tmp_path / "public")
    assert not list((tmp_path / "public").glob("*"))
    content = yaml.safe_load((folder / "config.yaml").read_text())
    for changes in ({"stages": LAST}, {"research": True}, {"stages": LAST, "research": True}):
        (folder / "own.yaml").write_text(yaml.safe_dump(content | changes))
        with pytest.raises(ConfigError):
            load_config(folder / "own.yaml")


def test_no_plan_keeps_a_table_of_it(folder: Path) -> None:
    with pytest.raises(ConfigError, match="runs: none"):
        load_plan(write_plan(folder, **(PLAN | {"runs": "all"})))
    first, last = problems(folder, research=False)
    assert not first and "anonymizing after synthesis is refused" in last
    scaled = {"scales": {"s": {"set": {"stages": LAST}}}, "scale": "s", "factors": {"anonymize.k": [5]}}
    with pytest.raises(ConfigError, match="anonymizing after synthesis is refused"):
        problems(folder, **scaled)


def test_what_cannot_run_in_this_order_says_so(folder: Path) -> None:
    usual = PLAN["set"]
    assert "set evaluate.baseline: true" in problems(folder, set=usual | {"evaluate.baseline": False})[1]
    assert "evaluate.retrain" in problems(folder, set=usual | {"evaluate.retrain": {"pool": 100}})[1]
    sampled = usual | {"sample.method": "simple", "sample.beta": 0.5}
    assert "[synthesize, anonymize, sample, transition]" in problems(folder, set=sampled)[1]
