"""Jobs that run in seconds: simulated admissions or a small survey, few metrics, a policy that lets them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
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
HIERARCHIES = {"age": "yaml", "sex": "csv"}


def write_small_job(folder: Path, rows: int = 400, *, several: bool = False, **changes: Any) -> Path:
    """Write data, hierarchies, policy and configuration; top-level keys may be changed. Returns the config's path."""
    config = write_whole_demo(folder, rows=rows, seed=3, several=several)
    content = yaml.safe_load(config.read_text())
    content["evaluate"] = {"targets": ["readmitted"], "metrics": ["identical_match", "k_reached"], "baseline": False}
    content |= {"name": "small", "seed": 1, "policy": "policy.yaml", **changes}
    config.write_text(yaml.safe_dump(content))
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return config


def write_survey(folder: Path, people: pd.DataFrame, columns: dict[str, Any], **changes: Any) -> Path:
    """Write people with ``age``, ``sex`` and these columns; top-level keys may be changed. Gives the config's path."""
    people.to_csv(folder / "survey.csv", index=False)
    (folder / "age.yaml").write_text("type: intervals\nwidths: [10, 30]\n")
    (folder / "sex.csv").write_text("f;*\nm;*\n")
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    known = {name: {"role": "quasi_identifier", "hierarchy": f"{name}.{end}"} for name, end in HIERARCHIES.items()}
    config = {
        "name": "survey",
        "seed": 3,
        "anonymize": {"k": 5, "suppression_limit": 0.1},
        "synthesize": {"generator": "cart"},
        "policy": "policy.yaml",
        **changes,
    }
    config["data"] = {"path": "survey.csv", "columns": columns | known, **changes.get("data", {})}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path
