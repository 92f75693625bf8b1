"""A table with listed hierarchies, and the configuration that samples before it anonymizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

CONFIG: dict[str, Any] = {
    "version": 1,
    "data": {
        "path": "people.csv",
        "person": "pid",
        "max_rows": 1,
        "columns": {
            "pid": {"role": "identifier"},
            "age": {"role": "quasi_identifier", "hierarchy": "age.csv"},
            "region": {"role": "quasi_identifier", "hierarchy": "region.csv"},
        },
    },
    "roles": {"decided_by": "A. Muster", "date": "2026-11-01"},
    "split": {"control": 0.2},
    "protect": "off",
    "anonymize": {
        "k": 8,
        "suppression_limit": 1,
        "levels": {"age": 1, "region": 0},
        "beforehand": "code book of 2019",
    },
    "sample": {"method": "beta", "beta": 0.25, "order": "pre"},
    "transition": {"method": "uniform"},
    "synthesize": {"generator": "none"},
}


def write_people(folder: Path, config: dict[str, Any] = CONFIG, rows: int = 900) -> Path:
    """Write table, hierarchies and configuration; the path of the latter."""
    rng = np.random.default_rng(5)
    regions = rng.choice(["Nord", "Süd", "Ost"], rows, p=[0.6, 0.38, 0.02])
    people = pd.DataFrame({"pid": np.arange(rows) + 5000, "age": rng.integers(20, 60, rows), "region": regions})
    people.to_csv(folder / "people.csv", index=False)
    ages = [f"{age},{age // 20 * 20}-{age // 20 * 20 + 19},*" for age in range(100)]
    (folder / "age.csv").write_text("\n".join(ages) + "\n")
    (folder / "region.csv").write_text("Nord,*\nSüd,*\nOst,*\nAusland,*\n")
    (folder / "config.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    return folder / "config.yaml"
