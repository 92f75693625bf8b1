"""The laboratory on a Dask scheduler: the same league as on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid.lab.plan import load_plan
from hybrid.lab.run import run_lab
from hybrid.store.cipher import KEY_VARIABLE, new_key
from tests.lab.lab_jobs import write_lab

pytest.importorskip("distributed", reason="needs the extra [dask]")
pytestmark = pytest.mark.slow


def league_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "league.json").read_text())
    for metric in found["metrics"]:
        del metric["cpu_seconds"]
    found["metrics"].sort(key=lambda metric: str(metric["name"]))
    return found


def test_the_same_league_on_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setenv(KEY_VARIABLE, new_key())
    small = {"risk": {"leaky": {"levels": [0, 1]}}, "metrics": ["identical_match"], "seeds": [1], "null_seeds": 1}
    path = write_lab(tmp_path, store=f"file://{tmp_path}/store", **small)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as dask:
        run_lab(load_plan(path), tmp_path, tmp_path / "there", scheduler=dask.scheduler_address)
    plan = load_plan(path).model_copy(update={"store": None})
    run_lab(plan, tmp_path, tmp_path / "here")
    assert league_of(tmp_path / "there") == league_of(tmp_path / "here")
