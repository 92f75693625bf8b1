"""Linked tables of several formats: each comes out as it came in, a public one without what may name people."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyreadstat
import yaml

from hybrid.jobs.places import Places
from hybrid.jobs.release import write_candidate
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from tests.pipeline.tables.hospital import POLICY, content, frames, write


def test_each_table_has_the_format_of_its_source(tmp_path: Path) -> None:
    tables, settings = frames(), content()
    config = write(tmp_path, tables, settings | {"policy": "policy.yaml"})
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    pyreadstat.write_dta(tables["patients"].assign(age=tables["patients"]["age"].astype("int32")), tmp_path / "p.dta")
    tables["visits"].to_excel(tmp_path / "v.xlsx", sheet_name="visits", index=False)
    labels = {"beds": {100: "large", 20: "middle", 5: "small", 1: "Ann"}}
    hospitals = tmp_path / "h.dta"
    pyreadstat.write_dta(tables["hospitals"], hospitals, file_label="By Ann", variable_value_labels=labels)
    settings["tables"]["patients"]["path"] = "p.dta"
    settings["tables"]["visits"] |= {"path": "v.xlsx", "sheet": "visits"}
    settings["tables"]["hospitals"]["path"] = "h.dta"
    config.write_text(yaml.safe_dump(settings | {"policy": "policy.yaml"}, sort_keys=False))
    found = load_config(config)
    places = Places(tmp_path / "work", tmp_path / "runs", tmp_path / "releases")
    folder = write_candidate(Pipeline(found), places).folder
    patients, visits = pd.read_stata(folder / "patients.dta"), pd.read_excel(folder / "visits.xlsx")
    assert list(patients) == list(tables["patients"]) and list(visits) == list(tables["visits"])
    assert set(visits["patient"]) <= set(patients["patient"]) and (folder / "drugs.csv").is_file()
    public = folder / "hospitals.dta"
    assert pd.read_stata(public)["beds"].tolist() == ["large", "middle", "small"] and b"Ann" not in public.read_bytes()
