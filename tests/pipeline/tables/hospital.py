"""A small hospital in four tables: patients, their visits, the drugs of each visit, and public hospitals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

SEX = "m,*\nf,*\n"
WARD = "heart,inner,*\nhip,outer,*\nleg,outer,*\nlung,inner,*\n"
DRUG = "a,*\nb,*\n"
DAY = {"type": "dates", "levels": ["month", "year"]}
AGE = {"type": "intervals", "widths": [10, 20], "bottom": 20, "top": 80}


RULE = {
    "name": "whole references",
    "metric": "orphans",
    "direction": "lower",
    "block": 0,
    "applies_if": ["parents"],
    "reason": "every reference leads to a row",
}
POLICY = {"name": "test", "version": "1", "owner": "tests", "rules": [RULE]}
"""A policy that lets a whole set out."""
METRICS = ["identical_match", "persons_copied", "orphans", "children_per_parent", "parent_child_association"]


def frames(n: int = 160) -> dict[str, pd.DataFrame]:
    """The tables; a third of the patients have no visit, and drugs are given within the visit."""
    rng = np.random.default_rng(5)
    age, sex = rng.integers(18, 90, n), rng.choice(list("fm"), n)
    patients = np.array([f"P{number:04d}" for number in rng.permutation(n)])
    owners = np.repeat(np.arange(n), rng.poisson(np.where(age > 60, 3, 1)))
    m = len(owners)
    gaps = pd.Series(rng.integers(1, 60, m)).groupby(owners).cumsum().to_numpy()
    admitted = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 300, n)[owners] + gaps, unit="D")
    discharged = admitted + pd.to_timedelta(rng.poisson(3, m), unit="D")
    diagnosis = np.where(age[owners] > 60, rng.choice(["heart", "hip"], m), rng.choice(["leg", "lung"], m))
    visits = rng.permutation(m) + 1000
    of_visit = np.repeat(np.arange(m), rng.poisson(1.2, m))
    given = admitted[of_visit] + pd.to_timedelta(rng.integers(0, 3, len(of_visit)), unit="D")
    return {
        "patients": pd.DataFrame({"patient": patients, "age": age, "sex": sex}),
        "visits": pd.DataFrame(
            {
                "visit": visits,
                "patient": patients[owners],
                "hospital": rng.choice(["01", "02"], m),
                "admitted": admitted.strftime("%Y-%m-%d"),
                "discharged": discharged.strftime("%Y-%m-%d"),
                "diagnosis": diagnosis,
            }
        ).sample(frac=1, random_state=1),
        "drugs": pd.DataFrame(
            {
                "visit": visits[of_visit],
                "given": given.strftime("%Y-%m-%d"),
                "drug": rng.choice(["a", "b"], len(of_visit)),
            }
        ).sample(frac=1, random_state=2),
        "hospitals": pd.DataFrame({"id": ["01", "02", "03"], "beds": [100, 20, 5]}),
    }


def content() -> dict[str, Any]:
    """The configuration, with every role decided."""
    return {
        "name": "hospital",
        "seed": 3,
        "person": "patients",
        "tables": {
            "patients": {
                "path": "patients.csv",
                "key": "patient",
                "columns": {
                    "age": {"role": "quasi_identifier", "hierarchy": "age.yaml"},
                    "sex": {"role": "quasi_identifier", "hierarchy": "sex.csv"},
                },
            },
            "visits": {
                "path": "visits.csv",
                "key": "visit",
                "parent": {"table": "patients", "column": "patient"},
                "order": "admitted",
                "references": {"hospital": "hospitals"},
                "columns": {"diagnosis": {"role": "sensitive"}},
                "constraints": [{"le": ["admitted", "discharged"]}],
            },
            "drugs": {"path": "drugs.csv", "parent": {"table": "visits", "column": "visit"}, "order": "given"},
            "hospitals": {"path": "hospitals.csv", "key": "id", "public": True},
        },
        "roles": {"decided_by": "A Person", "date": "2026-01-01"},
        "anonymize": {"k": 3},
        "synthesize": {"options": {"min_leaf": 10}},
        "evaluate": {"power": False, "baseline": False, "original": False, "metrics": METRICS},
    }


def with_labels_below(**anonymize: Any) -> dict[str, Any]:
    """The configuration, with quasi-identifiers in all three tables about people."""
    settings = content()
    visits, drugs = settings["tables"]["visits"], settings["tables"]["drugs"]
    visits["columns"] = {
        "admitted": {"role": "quasi_identifier", "hierarchy": "day.yaml"},
        "diagnosis": {"role": "quasi_identifier", "hierarchy": "ward.csv"},
    }
    drugs["columns"] = {"drug": {"role": "quasi_identifier", "hierarchy": "drug.csv"}}
    settings["anonymize"] = {"k": 3, "suppression_limit": 0.3, **anonymize}
    return settings


def write(folder: Path, tables: dict[str, pd.DataFrame] | None = None, settings: dict[str, Any] | None = None) -> Path:
    """Write tables, hierarchies and configuration; the path of the latter."""
    for name, frame in (tables or frames()).items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    (folder / "sex.csv").write_text(SEX)
    (folder / "age.yaml").write_text(yaml.safe_dump(AGE))
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(settings or content(), sort_keys=False))
    for name, hierarchy in {"day.yaml": yaml.safe_dump(DAY), "ward.csv": WARD, "drug.csv": DRUG}.items():
        if name in path.read_text():  # A folder of tables holds no other file that looks like one.
            (folder / name).write_text(hierarchy)
    return path
