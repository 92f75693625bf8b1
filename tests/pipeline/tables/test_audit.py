"""Audit of folders of linked tables: the views of a run, one verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from hybrid.base.errors import ConfigError, DataError
from hybrid.cli import app
from hybrid.jobs.audited import AuditedTables
from hybrid.jobs.audited_folders import links_config, read_audited_links
from tests.pipeline.tables.hospital import POLICY, content, frames, write

Frames = dict[str, pd.DataFrame]


def of_patients(tables: Frames, patients: pd.Series) -> Frames:
    """Rows of these patients, and public tables."""
    visits = tables["visits"][tables["visits"]["patient"].isin(patients)]
    drugs = tables["drugs"][tables["drugs"]["visit"].isin(visits["visit"])]
    own = tables["patients"][tables["patients"]["patient"].isin(patients)]
    return {"patients": own, "visits": visits, "drugs": drugs, "hospitals": tables["hospitals"]}


def broken(tables: Frames) -> Frames:
    """A visit of a patient who does not exist, and one in a hospital that does not."""
    visits = tables["visits"].copy()
    visits.iloc[0, visits.columns.get_loc("patient")] = "P9999"
    visits.iloc[1, visits.columns.get_loc("hospital")] = "77"
    return tables | {"visits": visits}


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Train, control and a synthetic set with broken references, in Parquet beside CSV."""
    tables = frames(120)
    people = tables["patients"]["patient"]
    parts = {"train": people[:50], "control": people[50:90], "synthetic": people[90:]}
    found = {}
    for name, chosen in parts.items():
        found[name] = tmp_path / name
        found[name].mkdir()
        part = of_patients(tables, chosen)
        for table, frame in (broken(part) if name == "synthetic" else part).items():
            frame.to_csv(found[name] / f"{table}.csv", index=False)
    pd.read_csv(found["synthetic"] / "drugs.csv").to_parquet(found["synthetic"] / "drugs.parquet")
    (found["synthetic"] / "drugs.csv").unlink()
    (found["control"] / "hospitals.csv").unlink()
    settings = content() | {"policy": "policy.yaml"}
    settings["evaluate"] |= {"metrics": ["orphans", "children_per_parent", "identical_match"]}
    write(tmp_path, {}, settings)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return found


@pytest.fixture
def read(folders: dict[str, Path], tmp_path: Path) -> Callable[[], AuditedTables]:
    """Reads the folders."""
    config = links_config(tmp_path / "config.yaml", tuple(folders.values()))
    return lambda: read_audited_links(folders["train"], folders["control"], folders["synthetic"], config)


def test_broken_references_block_and_pages_are_those_of_a_run(folders: dict[str, Path], tmp_path: Path) -> None:
    places: list[Any] = [text for name, folder in folders.items() for text in (f"--{name}", str(folder))]
    how = ["--config", str(tmp_path / "config.yaml"), "--out", str(tmp_path / "audit"), "--seed", "1"]
    done = CliRunner().invoke(app, ["audit", *places, *how])
    assert done.exit_code == 0, done.output
    assert "note    visits: few rows" in done.output
    found = json.loads((tmp_path / "audit" / "evaluation.json").read_text())
    values = {(m["name"], m["table"], m["stage"]): m for m in found["metrics"]}
    visits = pd.read_csv(folders["synthetic"] / "visits.csv")
    lost = values["orphans", "visits", "synthetic"]["value"]
    assert lost == pytest.approx(2 / (len(visits) - 1)), "the row without a patient is left out, and counted"
    assert values["orphans", "visits", "original"]["value"] == 0
    assert values["children_per_parent", "drugs", "synthetic"]["state"] == "ok"
    assert found["verdict"]["status"] == "block"
    assert {check["table"] for check in found["verdict"]["checks"]} >= {"patients", "visits", "drugs"}
    page = (tmp_path / "audit" / "report.html").read_text()
    for name in ("patients", "visits", "drugs"):
        assert f'href="report-{name}.html"' in page and (tmp_path / "audit" / f"report-{name}.html").is_file()
    assert not [key for key in visits["patient"] if key in page]


def test_views_have_the_columns_of_persons_and_parents_by_keys(read: Callable[[], AuditedTables]) -> None:
    audited = read()
    drugs = audited.tables["drugs"]
    assert drugs.train.schema.names == ["given", "drug", "age", "sex"] == drugs.synthetic.schema.names
    parents = audited.parentage["drugs"]["synthetic"]
    assert len(parents["table"].owners) == len(drugs.synthetic) and (parents["table"].owners >= 0).all()
    assert parents["control"].table is audited.tables["visits"].control
    assert not drugs.synthetic.rows_are_persons and drugs.synthetic.persons.max() < len(
        audited.tables["patients"].synthetic
    )


def test_what_is_wrong_with_the_folders_is_said_at_once(
    folders: dict[str, Path], read: Callable[[], AuditedTables], tmp_path: Path
) -> None:
    visits = pd.read_csv(folders["synthetic"] / "visits.csv")
    (folders["train"] / "drugs.csv").unlink()
    visits.to_parquet(folders["synthetic"] / "visits.parquet")
    with pytest.raises(DataError) as caught:
        read()
    said = [problem.message for problem in caught.value.problems]
    assert [text.partition(":")[0] for text in said] == ["tables.visits", "tables.drugs"]
    assert "several files: visits.csv, visits.parquet" in said[0]
    config = tmp_path / "config.yaml"
    with pytest.raises(ConfigError) as refused:
        links_config(None, (folders["train"], None, config), has_roles=True)
    assert len(refused.value.problems) == 3
