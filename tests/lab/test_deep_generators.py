"""Plans with generators that need an extra or an environment of their own, run to the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hybrid.lab.plan import load_plan
from hybrid.lab.run import run_lab
from hybrid.synthesize.isolation.environments import install
from tests.lab.lab_jobs import write_lab

SHORT = {"seeds": [1], "null_seeds": 1, "metrics": ["dcr_share"]}


def numbers_of(folder: Path, risk: dict[str, Any]) -> pd.DataFrame:
    """The trials of a plan of one risk model, which all must have ended well."""
    (name,) = risk
    found = run_lab(load_plan(write_lab(folder, risk=risk, **SHORT)), folder, folder / "out")
    assert not found.failures
    numbers = found.measurements
    return numbers[(numbers["risk"] == name) & (numbers["contestant"] == "dcr_share")]


@pytest.mark.generators
def test_levels_of_overfitting_are_snapshots_of_one_training(tmp_path: Path) -> None:
    pytest.importorskip("realtabformer", reason="needs the extra [realtabformer]")
    small = {"n_embd": 12, "n_layer": 1, "epochs": 60, "batch_size": 16, "lr": 0.03}
    dial = {"dial": "overfit", "levels": [1.001, 1.02], "fixed": small}
    found = numbers_of(tmp_path, {"overfit": {"generators": {"realtabformer": dial}}})
    assert list(found["dial"]) == [0.0, 1.001, 1.02]
    assert found["excess"].between(-0.5, 0.5).all()


@pytest.mark.engines
@pytest.mark.slow
def test_budgets_of_generators_in_their_environments(tmp_path: Path) -> None:
    assert install("synthcity").state == "ready"
    fixed = {"pategan": {"epochs": 2, "rounds": 2, "layers": [16], "batch_size": 50}}
    found = numbers_of(tmp_path, {"dp": {"generators": ["mst", "pategan"], "levels": [1, 10], "fixed": fixed}})
    assert list(found["series"]) == ["mst"] * 3 + ["pategan"] * 3
    assert list(found["dial"]) == [0.0, 1.0, 10.0] * 2
