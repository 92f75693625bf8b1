"""The transition of the person table reads what the rows of a person say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from tests.pipeline.tables.hospital import content, write


def test_values_are_restored_by_what_the_rows_of_a_person_say(tmp_path: Path) -> None:
    """Six towns with a hospital each; the label of a town says nothing."""
    rng, n = np.random.default_rng(3), 600
    town = rng.integers(0, 6, n)
    whose = np.repeat(np.arange(n), 2)
    near = np.where(rng.random(2 * n) < 0.9, town[whose], rng.integers(0, 6, 2 * n))
    tables = {
        "patients": pd.DataFrame(
            {
                "patient": [f"P{one}" for one in range(n)],
                "town": [f"t{one}" for one in town],
                "job": [f"j{one}" for one in rng.integers(0, 6, n)],
            }
        ),
        "visits": pd.DataFrame(
            {
                "visit": np.arange(2 * n),
                "patient": [f"P{one}" for one in whose],
                "hospital": [f"h{one}" for one in near],
            }
        ),
    }
    for name in ("town", "job"):
        (tmp_path / f"{name}.csv").write_text("".join(f"{name[0]}{one},*\n" for one in range(6)))
    anonymize = {"k": 20, "loss": {"name": "loss", "weights": {"town": 0.1}}}
    settings = content() | {"anonymize": anonymize, "transition": {"method": "tree", "min_records": 40}}
    visits = {"path": "visits.csv", "key": "visit", "parent": {"table": "patients", "column": "patient"}}
    patients = {"path": "patients.csv", "key": "patient"}
    settings["tables"] = {
        "patients": patients
        | {"columns": {name: {"role": "quasi_identifier", "hierarchy": f"{name}.csv"} for name in ("town", "job")}},
        "visits": visits | {"columns": {"hospital": {"role": "insensitive"}}},
    }
    run = Pipeline(load_config(write(tmp_path, tables, settings)))
    assert run.anonymized is not None and run.anonymized.result.levels == {"town": 1, "job": 0}
    restored, people = run.person.kept
    assert restored.schema.names == ["town", "job"], "summaries are read, and do not come out"
    real = run.table.frame["town"].astype(str).to_numpy()[people]
    assert (restored.frame["town"].astype(str).to_numpy() == real).mean() > 0.5
    found = run.give_away
    assert found is not None and found.seeds is not None and found.seeds.least < 20
