"""A small job and plan on simulated people, and comparisons of two results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tests.helpers.whole_demo import write_whole_demo

METRICS = ["identical_match", "total_variation", "k_reached"]
COLUMNS = ["patient_id", "age", "sex", "postcode", "diagnosis", "ward", "readmitted"]
RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.9, "reason": "nobody is copied"}
POLICY = {"name": "test", "version": "1", "owner": "tests", "rules": [RULE]}
FACTORS: dict[str, Any] = {
    "anonymize.k": [5, 10],
    "sample.method": ["none", "simple"],
    "transition": {
        "PRE uniform": {"transition.method": "uniform", "transition.order": "pre"},
        "POST uniform": {"transition.method": "uniform", "transition.order": "post"},
    },
}


def write_job(folder: Path, **plan: Any) -> Path:
    """Data, configuration, policy and plan in a folder; gives the plan's path."""
    write_whole_demo(folder, rows=300, seed=3)
    pd.read_csv(folder / "admissions.csv", dtype=str, usecols=COLUMNS).to_csv(folder / "admissions.csv", index=False)
    content = yaml.safe_load((folder / "config.yaml").read_text())
    content["data"]["columns"] = {name: content["data"]["columns"][name] for name in COLUMNS}
    content |= {"evaluate": {"targets": ["readmitted"], "metrics": METRICS}, "policy": "policy.yaml"}
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    # These tests are about counting trials; of 300 people's diagnoses the protection would leave one value.
    content["protect"] = "off"
    # Which combinations are allowed depends on k, and with them everything that k else leaves alone.
    del content["constraints"]
    (folder / "config.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return write_plan(folder, **plan)


def write_plan(folder: Path, **plan: Any) -> Path:
    """A plan beside the configuration; gives its path."""
    path = folder / "plan.yaml"
    whole = {"version": 1, "base": "config.yaml", "seeds": [1, 2], "runs": "none", "set": {"sample.beta": 0.5}} | plan
    if "configurations" not in whole:
        whole.setdefault("factors", FACTORS)
    path.write_text(yaml.safe_dump(whole, sort_keys=False))
    return path


def start(plan: Path, out: Path, *options: str) -> subprocess.Popen[bytes]:
    """The real command in a process group of its own."""
    command = [sys.executable, "-m", "hybrid", "compare", str(plan), "--out", str(out), *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def n_rows(out: Path) -> int:
    """Finished rows."""
    path = out / "rows.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def without_timings(out: Path) -> pd.DataFrame:
    """The results but for seconds, in an order of their own."""
    table = pd.read_csv(out / "comparison.csv")
    table = table[[name for name in table.columns if not name.startswith(("cpu.", "seconds."))]]
    return table.sort_values(["configuration", "seed"], ignore_index=True)
