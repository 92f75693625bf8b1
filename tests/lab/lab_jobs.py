"""A small plan of the laboratory on simulated patients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.helpers.whole_demo import write_whole_demo

METRICS = ["identical_match", "hitting_rate", "dcr_share"]
PLAN: dict[str, Any] = {
    "name": "trial",
    "data": {"patients": {"base": "config.yaml"}},
    "risk": {
        "leaky": {"levels": [0, 0.2, 0.6, 1]},
        "overfit": {"generators": {"cart": {"dial": "min_leaf", "levels": [20, 1], "fixed": {"smoothing": 0}}}},
    },
    "metrics": METRICS,
    "seeds": [1, 2, 3],
    "null_seeds": 2,
}


def write_lab(folder: Path, **changes: Any) -> Path:
    """Data, configuration and plan in a folder; gives the plan's path."""
    if not (folder / "config.yaml").exists():
        write_whole_demo(folder, rows=240, seed=3, several=False)
    path = folder / "lab.yaml"
    path.write_text(yaml.safe_dump(PLAN | changes, sort_keys=False))
    return path
