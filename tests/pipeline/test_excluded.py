"""Columns that a person leaves out: in no run, no text and no release, and said where the decision is signed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hybrid.base.errors import ConfigError
from hybrid.cli import app
from hybrid.constraints.checks import refuse_misfits
from hybrid.pipeline.config import load_config
from hybrid.pipeline.decided_roles import decided_roles
from tests.helpers.pages import report_text

CONFIG = """
version: 1
seed: 3
data:
  path: people.csv
  person: none
  columns:
    age: {role: quasi_identifier, kind: integer, hierarchy: age.yaml}
    remark: {role: excluded}
    illness: {role: sensitive, kind: categorical}
anonymize: {k: 5}
synthesize: {generator: cart}
evaluate: {metrics: [identical_match]}
roles: {decided_by: A. Meier, date: 2026-11-23}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 300), "remark": [f"called Mrs. Kowalski{i}" for i in range(300)]})
    frame["illness"] = rng.choice(["flu", "cold"], 300)
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "age.yaml").write_text("type: intervals\nwidths: [5, 10, 20]\n")
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def test_nothing_of_it_comes_out(folder: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(folder / "config.yaml"), "--out", str(folder / "run")])
    assert done.exit_code in (0, 1), done.output
    assert list(pd.read_csv(folder / "run" / "synthetic.csv").columns) == ["age", "illness"]
    for path in (folder / "run").rglob("*"):
        assert path.is_dir() or b"Kowalski" not in path.read_bytes(), path
    assert "left out: remark" in report_text(folder / "run")


def test_it_is_a_decision(folder: Path) -> None:
    config = load_config(folder / "config.yaml")
    roles = decided_roles(config, config.load_table())
    assert roles.undecided == () and roles.excluded == ("remark",)


def test_constraints_and_conditions_do_not_name_it(folder: Path) -> None:
    path = folder / "config.yaml"
    path.write_text(CONFIG + "constraints: [{combinations: [remark, illness]}]\n")
    config = load_config(path)
    with pytest.raises(ConfigError, match="excluded columns enter no run: remark"):
        refuse_misfits(config.constraints, config.load_all_columns().schema)
