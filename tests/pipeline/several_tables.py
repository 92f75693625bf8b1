"""Small linked tables as others write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def uuids(rng: np.random.Generator, n: int) -> list[str]:
    return [
        f"{a:08x}-{b:04x}-4d5e" for a, b in zip(rng.integers(2**32, size=n), rng.integers(2**16, size=n), strict=True)
    ]


def write_clinic(folder: Path) -> None:
    """Tables in the manner of Synthea: keys Id, references by the table's name, two paths to the patient."""
    rng = np.random.default_rng(1)
    patients, encounters, organizations = uuids(rng, 60), uuids(rng, 150), uuids(rng, 5)
    owner = rng.integers(50, size=150)
    treated = rng.integers(150, size=200)
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(1000, size=150), "D")
    tables = {
        "patients": {
            "Id": patients,
            "BIRTHDATE": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(20_000, size=60), "D"),
            "GENDER": rng.choice(["F", "M"], 60),
        },
        "encounters": {
            "Id": encounters,
            "START": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "PATIENT": np.array(patients)[owner],
            "ORGANIZATION": rng.choice(organizations, 150),
            "COST": np.round(rng.lognormal(5, 1, 150), 2),
        },
        "medications": {
            "PATIENT": np.array(patients)[owner[treated]],
            "ENCOUNTER": np.array(encounters)[treated],
            "CODE": rng.choice([860975, 310798, 314076], 200),
        },
        "organizations": {"Id": organizations, "NAME": [f"Clinic {i}" for i in "abcde"], "CITY": ["Boston"] * 5},
        "claims_transactions": {"note": [f"text {i}" for i in range(30)]},
    }
    for name, columns in tables.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
