"""Plans and recipes of data sets to start from: each fits a table with its columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.lab.plan import load_plan
from hybrid.pipeline.config import load_config
from hybrid.table import Role
from hybrid.table.typed_table import read_frame

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
RECIPES = sorted((CONFIGS / "lab").glob("*.yaml"))
N_COLUMNS = {"bank_marketing": 17, "online_shoppers": 18, "uk_census_2011": 18, "texas_inpatients": 18}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: str(path.stem))
def test_a_recipe_reads_a_table_of_its_columns(path: Path) -> None:
    config = load_config(path)
    rng = np.random.default_rng(1)
    values = {"integer": rng.integers(0, 9, 40), "decimal": rng.random(40), "boolean": rng.random(40) < 0.5}
    columns = {
        name: values.get("" if each.kind is None else each.kind.value, pd.Series(np.arange(40) % 3).astype(str))
        for name, each in config.data.columns.items()
    }
    table = read_frame(pd.DataFrame(columns), config.data)
    assert len(table.schema.names) == N_COLUMNS[path.stem]
    roles = {column.role for column in table.schema}
    assert {Role.QUASI_IDENTIFIER, Role.SENSITIVE} <= roles and Role.UNDECIDED not in roles
    assert table.schema.targets


def test_the_plan_to_start_from_has_three_scales() -> None:
    plans = {scale: load_plan(CONFIGS / "lab.yaml", scale) for scale in (None, "quick", "paper")}
    n_risks = {scale: len(plan.risk_models) for scale, plan in plans.items()}
    assert n_risks == {None: 6, "quick": 3, "paper": 8}
    named = {path.stem for path in RECIPES}
    assert all(f"lab/{name}.yaml" in (CONFIGS / "lab.yaml").read_text() for name in named) and named == set(N_COLUMNS)


def test_the_plans_on_four_tables_try_the_same_metrics_on_tables_of_the_same_size() -> None:
    adult, three = (load_plan(CONFIGS / name) for name in ("lab_adult.yaml", "lab_three_tables.yaml"))
    assert adult.metrics == three.metrics and adult.split == three.split and adult.seeds == three.seeds
    assert adult.risk.leaky == three.risk.leaky and adult.risk.noisy == three.risk.noisy  # type: ignore[attr-defined]
    assert {choice.rows for plan in (adult, three) for choice in plan.data.values()} == {3000}
    bases = [CONFIGS / choice.base for plan in (adult, three) for name, choice in plan.data.items() if name != "demo"]
    assert len(bases) == 3 and all(base.is_file() for base in bases)
