"""A small clinic whose table is released with differential privacy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

COLUMNS = {
    "id": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "kind": "integer"},
    "ward": {"role": "sensitive", "kind": "categorical", "target": True},
    "since": {"role": "insensitive", "kind": "date"},
}
SHAPES = {"name": "shapes", "metric": "column_shapes", "direction": "higher", "review": 0.6, "block": 0.01}
POLICY = {"name": "house", "version": "1", "owner": "Grace Hopper", "rules": [SHAPES | {"reason": "Useful."}]}


def content(**changes: Any) -> dict[str, Any]:
    return {
        "name": "clinic",
        "data": {"path": "people.csv", "person": "id", "max_rows": 2, "columns": COLUMNS},
        "privacy": {
            "mode": "dp",
            "epsilon": 2.0,
            "delta": 1e-5,
            "columns": {"age": {"bounds": [0, 99]}, "since": {"bounds": ["2020-01-01", "2026-12-31"]}},
        },
        "synthesize": {"options": {"iterations": 20}},
        "evaluate": {"metrics": ["column_shapes", "tstr", "identical_match"]},
        "roles": {"decided_by": "Ada Lovelace", "date": "2026-01-01"},
        "publish": {"provenance": True},
        "policy": "house.yaml",
    } | changes


def people(n: int, seed: int, wards: tuple[str, ...] = ("ICU", "eye")) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{at // 2}" for at in range(n)],
            "age": rng.integers(20, 90, n),
            "ward": rng.choice(wards, n),
            "since": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 1500, n), unit="D"),
        }
    )


def write_clinic(folder: Path, frame: pd.DataFrame, policy: dict[str, Any] | None = None, **changes: Any) -> Path:
    """Write table, policy and configuration; gives the configuration's path."""
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "house.yaml").write_text(yaml.safe_dump(POLICY | (policy or {})))
    (folder / "config.yaml").write_text(json.dumps(content(**changes)))
    return folder / "config.yaml"
