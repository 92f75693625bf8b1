"""Differential privacy, the hybrid and a generator in one plan: promises, and the budget that private tables spend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from hybrid.cli import app
from hybrid.comparison.plan import load_plan
from hybrid.comparison.private_draws import spent_together
from hybrid.comparison.schedule import expand, schedule
from hybrid.pipeline.config import load_config
from hybrid.pipeline.promises import NOTHING
from hybrid.pipeline.table_run import TableRun
from hybrid.privacy.accounting import delta_of, rho_for

ROOT = Path(__file__).parents[2]
CONFIG: dict[str, Any] = {
    "data": {
        "path": "people.csv",
        "person": "none",
        "columns": {
            "age": {"role": "quasi_identifier", "kind": "integer", "hierarchy": "age.csv"},
            "ward": {"role": "quasi_identifier", "kind": "categorical", "hierarchy": "ward.csv"},
            "cost": {"kind": "integer"},
            "ill": {"role": "sensitive", "kind": "boolean", "target": True},
        },
    },
    "privacy": {
        "mode": "dp",
        "epsilon": 1.0,
        "delta": 1e-5,
        "columns": {"age": {"bounds": [0, 99]}, "cost": {"bounds": [0, 500]}},
    },
    "synthesize": {"options": {"iterations": 20}},
    "evaluate": {"metrics": ["inference_rest", "column_shapes"], "secrets": ["age", "cost"], "baseline": False},
}
ANONYMIZED = {"privacy": None, "anonymize": {"k": 5, "suppression_limit": 0.1}, "synthesize": {"generator": "cart"}}
STRATEGIES: dict[str, dict[str, Any]] = {
    "dp": {},
    "dp 3": {"privacy.epsilon": 3.0},
    "hybrid": ANONYMIZED | {"transition": {"method": "tree"}},
    "hybrid noisy": ANONYMIZED | {"protect": "off", "transition": {"method": "noisy", "epsilon": 0.7}},
    "careful": {"privacy": None, "synthesize": {"generator": "cart"}},
    "alone": {"privacy": None, "protect": "off", "synthesize": {"generator": "cart"}},
}
PROMISES = {
    "dp": "differential privacy, epsilon = 1 and delta = 1e-05",
    "dp 3": "differential privacy, epsilon = 3 and delta = 1e-05",
    "hybrid": "k-anonymous labels, k = 5; values of fewer than 5 people replaced",
    "hybrid noisy": "k-anonymous labels, k = 5; exact values below labels hidden, epsilon = 0.7",
    "careful": "values of fewer than 5 people replaced",
    "alone": NOTHING,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modes")
    rng, n = np.random.default_rng(0), 300
    ages = rng.integers(20, 60, n)
    people = {"age": ages, "ward": rng.choice(["ICU", "eye"], n), "cost": ages * 5, "ill": rng.random(n) < 0.4}
    pd.DataFrame(people).to_csv(folder / "people.csv", index=False)
    (folder / "age.csv").write_text("".join(f"{age},{age // 20 * 20}+,*\n" for age in range(100)))
    (folder / "ward.csv").write_text("ICU,*\neye,*\n")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    plan = {"base": "config.yaml", "name": "modes", "factors": {"strategy": STRATEGIES}, "seeds": [1], "runs": "none"}
    (folder / "plan.yaml").write_text(yaml.safe_dump(plan | {"set": {"split.independent": True}}, sort_keys=False))
    return folder


def test_each_strategy_names_its_promise_whatever_the_seed(folder: Path) -> None:
    plan = load_plan(folder / "plan.yaml")
    found = {each.factors["strategy"]: each.config for each in expand(plan, folder).configurations}
    assert {name: TableRun(config, seed=1).promises.names for name, config in found.items() if config} == PROMISES
    seeded = TableRun(found["dp"], seed=1)  # type: ignore[arg-type]
    assert not seeded.is_private


def test_sampled_labels_promise_their_own_numbers(folder: Path) -> None:
    changes: dict[str, Any] = {
        "privacy": None,
        "protect": "off",
        "data.columns.cost.role": "identifier",
        "data.columns.ill.role": "identifier",
        "anonymize": {"k": 9, "suppression_limit": 1, "levels": {"age": 1, "ward": 0}, "beforehand": "code book"},
        "sample": {"method": "beta", "beta": 0.1, "order": "pre"},
        "transition": {"method": "uniform"},
        "synthesize": {"generator": "none"},
        "evaluate": {},
    }
    promised = TableRun(load_config(folder / "config.yaml", changes), seed=1).promises.names
    assert promised.startswith("differential privacy, epsilon = ") and "delta <= " in promised


def test_every_private_table_pays(folder: Path) -> None:
    """Two tables a seed, of which one seed more draws two more; epsilon is that of the sum."""
    plan = load_plan(folder / "plan.yaml")
    spent = [
        spent_together(schedule(plan.model_copy(update={"seeds": seeds}), folder).planned) for seeds in ((1,), (1, 2))
    ]
    one, two = (each for each in spent if each is not None)
    assert (one.tables, two.tables) == (2, 4)
    assert one.rho == pytest.approx(rho_for(1.0, 1e-5) + rho_for(3.0, 1e-5)) == pytest.approx(two.rho / 2)
    assert one.epsilon > 3.0 and two.epsilon < 2 * one.epsilon
    assert delta_of(two.rho, two.epsilon) <= 0.9 * two.delta == pytest.approx(0.9 * 4e-5)
    rest = plan.model_copy(update={"factors": {"strategy": {"alone": STRATEGIES["alone"]}}})
    assert spent_together(schedule(rest, folder).planned) is None


def test_tables_that_trials_share_are_paid_once(folder: Path) -> None:
    plan = load_plan(folder / "plan.yaml")
    factors = {"privacy.epsilon": [1.0], "evaluate.tolerance": [0.05, 0.1]}
    planned = schedule(plan.model_copy(update={"factors": factors}), folder).planned
    spent = spent_together(planned)
    assert len(planned) == 2 and spent is not None and spent.tables == 1


def test_all_modes_end_in_one_table_and_page(folder: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["compare", str(folder / "plan.yaml"), "--dry-run"])
    assert run.exit_code == 0 and "2 different tables" in " ".join(run.stdout.split())
    # A ledger of its own: the budget of a year would be spent after fifteen runs of this test in one checkout.
    zones = ["--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    run = CliRunner().invoke(app, ["compare", str(folder / "plan.yaml"), *zones])
    assert run.exit_code == 0, run.stdout
    table = pd.read_csv(tmp_path / "out" / "comparison.csv").set_index("strategy")
    assert table["status"].eq("ok").all(), table["reason"]
    assert table["promise"].to_dict() == PROMISES
    # The cost is five times the age: who knows the untouched column knows the age, as far as its value was kept.
    assert {"synthetic.inference_rest.age", "synthetic.inference_rest.cost"} <= set(table.columns)
    content = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert content["privacy_budget"]["tables"] == 2
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert PROMISES["dp 3"] in page and "each pays its own budget" in page and NOTHING in page


def test_the_shipped_plan_is_sound() -> None:
    plan = load_plan(ROOT / "configs" / "dp_or_hybrid.yaml")
    found = expand(plan, ROOT / "configs")
    assert [each.problem for each in found.configurations] == [""] * 9 and found.left_out == ()
    splits = {each.config.split for each in found.configurations if each.config is not None}
    assert len(splits) == 1
