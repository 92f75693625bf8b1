"""Nights of linked tables of a database: all tables or none, one draw, and delivery of all into the same database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import hybrid
from hybrid.base.errors import ConfigError, DriftError, HybridError
from hybrid.cli import app
from hybrid.jobs import run as jobs_run
from hybrid.jobs.nightly import Night
from hybrid.jobs.places import Places
from hybrid.jobs.start import configuration
from hybrid.pipeline.pipeline import Pipeline, steps_of
from hybrid.publication.ledger import Ledger
from hybrid.publication.verify import verify
from tests.pipeline.tables.hospital import POLICY, content, frames, write

URL = "CLINIC_URL"
TARGET = {"url_env": URL, "table": "made_{table}"}


class Ward:
    """Linked tables of a database whose nights are run one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tables, self.database = folder, frames(60), folder / "clinic.sqlite"
        self.settings: dict[str, Any] = content() | {"policy": "policy.yaml", "nightly": {"deliver": {"sql": TARGET}}}
        self.settings["evaluate"] |= {"metrics": ["orphans"]}
        for name, table in self.settings["tables"].items():
            del table["path"]
            table["sql"] = {"url_env": URL, "table": name}
        self.places = Places(folder / "work", folder / "runs", folder / "releases")

    def write(self) -> Path:
        (self.folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
        with closing(sqlite3.connect(self.database)) as connection:
            for name, frame in self.tables.items():
                frame.to_sql(name, connection, index=False, if_exists="replace")
        return write(self.folder, {}, self.settings)

    def night(self, **options: Any) -> str:
        """The outcome."""
        run = Pipeline(configuration(self.write()), store=self.places.store, ledger_dir=self.places.work)
        return Night(run, self.places).run(**options).outcome

    @property
    def latest(self) -> str:
        release = (self.places.releases / "latest").resolve()
        assert verify(release) == []
        assert {path.stem for path in release.glob("*.parquet")} == set(self.tables)
        return release.name

    def delivered(self, name: str) -> pd.DataFrame:
        with closing(sqlite3.connect(self.database)) as connection:
            return pd.read_sql(f"select * from made_{name}", connection)


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ward:
    monkeypatch.setenv(URL, f"sqlite:///{tmp_path / 'clinic.sqlite'}")
    return Ward(tmp_path)


def test_nights_release_keep_stop_and_leave_the_last_release(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [f"--{name}={ward.folder / name}" for name in ("work", "runs", "releases")]
    first_night = CliRunner().invoke(app, ["nightly", str(ward.write()), *places])
    assert first_night.exit_code == 0, first_night.output
    first = ward.latest
    visits, patients = ward.delivered("visits"), ward.delivered("patients")
    assert len(patients) and visits["patient"].isin(patients["patient"]).all()
    (ward.places.releases / "latest").unlink()  # as after a kill before it was written
    assert ward.night() == "kept" and ward.latest == first
    assert len(list(ward.places.runs.iterdir())) == 1

    whole = ward.tables["visits"]
    ward.tables["visits"] = whole.assign(diagnosis="other")
    with pytest.raises(DriftError, match="visits: column 'diagnosis'"):
        ward.night()
    ward.tables["visits"] = whole[whole["visit"] != whole["visit"].max()]
    with monkeypatch.context() as patched:
        patched.setattr(jobs_run, "report_pages", lambda *_: (_ for _ in ()).throw(HybridError("the disk is full")))
        with pytest.raises(HybridError, match="disk is full"):
            ward.night(accept_drift=True)
    assert ward.latest == first and len(list(ward.places.runs.iterdir())) == 1
    ward.tables["drugs"] = ward.tables["drugs"][ward.tables["drugs"]["visit"].isin(ward.tables["visits"]["visit"])]
    assert ward.night(accept_drift=True) == "released"
    assert ward.latest != first
    assert {len(ward.delivered(name)) for name in ward.tables} == {
        len(pd.read_parquet(ward.places.releases / "latest" / f"{name}.parquet")) for name in ward.tables
    }
    events = [event.outcome for event in Ledger(ward.places.work).events("hospital")]
    assert events == ["released", "repaired", "kept", "stopped", "failed", "released"]
    certificate = json.loads((ward.places.releases / "latest" / "certificate.json").read_text())
    assert certificate["draw"]["number"] == 1, "new data: its first draw"


def test_a_place_for_one_table_takes_no_linked_tables(ward: Ward) -> None:
    ward.settings["nightly"]["deliver"]["sql"]["table"] = "made"
    with pytest.raises(ConfigError, match="4 tables would be delivered into made"):
        ward.night()
    checked = CliRunner().invoke(app, ["check", str(ward.write())])
    assert "4 tables would be delivered into made" in " ".join(checked.output.split())


def test_a_place_that_a_source_reads_is_refused(ward: Ward) -> None:
    ward.settings["nightly"]["deliver"]["sql"]["table"] = "{table}"
    with pytest.raises(ConfigError, match="the source reads patients"):
        ward.night()


def test_a_database_is_described_and_checked(ward: Ward) -> None:
    ward.write()
    config = ward.folder / "guessed" / "config.yaml"
    config.parent.mkdir()
    guessed = CliRunner().invoke(app, ["init", "--url-env", URL, "--out", str(config)])
    assert guessed.exit_code == 0, guessed.output
    found = yaml.safe_load(config.read_text())
    assert found["person"] == "patients" and found["tables"]["drugs"]["parent"]["table"] == "visits"
    assert found["tables"]["hospitals"]["public"] and found["tables"]["visits"]["sql"]["table"] == "visits"
    checked = CliRunner().invoke(app, ["check", str(config)])
    assert checked.exit_code == 0, checked.output


def test_a_release_asks_for_all_decisions_at_once(ward: Ward) -> None:
    del ward.settings["roles"]
    ward.settings["tables"]["visits"]["columns"]["diagnosis"]["role"] = "undecided"
    with pytest.raises(ConfigError, match=r"roles.decided_by is not set; undecided columns: visits.diagnosis"):
        hybrid.release(ward.write(), work=ward.places.work, runs=ward.places.runs, releases=ward.places.releases)


def test_steps_name_every_stage_of_every_table(ward: Ward) -> None:
    config = configuration(ward.write())
    steps = steps_of(config)
    assert steps[:2] == ("patients: read", "visits: read") and "drugs: synthesize" in steps
    assert steps.index("drugs: synthesize") < steps.index("patients: evaluate"), "references need all tables"
    assert "visits: anonymize" not in steps and "hospitals: read" not in steps
