"""A job that runs in seconds: simulated admissions, three metrics, a policy that lets it out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.helpers.whole_demo import write_whole_demo

POLICY: dict[str, Any] = {
    "name": "test",
    "version": "1",
    "owner": "tests",
    "anonymity": [{"name": "k", "quantity": "k", "block": 5, "reason": "classes are large"}],
    "rules": [
        {
            "name": "copies",
            "metric": "identical_match",
            "direction": "lower",
            "block": 0.5,
            "reason": "nobody is copied",
        }
    ],
}


def write_small_job(folder: Path, rows: int = 400, *, several: bool = False, **changes: Any) -> Path:
    """Write data, hierarchies, policy and configuration; top-level keys may be changed. Returns the config's path."""
    config = write_whole_demo(folder, rows=rows, seed=3, several=several)
    content = yaml.safe_load(config.read_text())
    content["evaluate"] = {"targets": ["readmitted"], "metrics": ["identical_match", "k_reached"], "baseline": False}
    content |= {"name": "small", "seed": 1, "policy": "policy.yaml", **changes}
    config.write_text(yaml.safe_dump(content))
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return config
