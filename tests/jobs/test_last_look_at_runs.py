"""A patient with many visits, whose remark, diagnosis and amount are hers alone, is in no file of a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hybrid
from hybrid.base.errors import GateRefused
from hybrid.demo.several_tables import write_linked_demo
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.certificate import Acceptance

CANARIES = ("Mustermann", "0170-5551234", "CANARYdiag", "98765432.17", "98,765,432", "CANARYroute")
POLICY = """name: mild
version: "1"
owner: the tests
anonymity:
  - {name: k-anonymity, quantity: k, review: 3, block: 2, reason: test}
"""
CONFIG = """version: 1
name: visits
data:
  path: visits.csv
  person: pid
  columns:
    pid: {role: identifier}
    age: {role: quasi_identifier, kind: integer, hierarchy: age.yaml}
    sex: {role: quasi_identifier, kind: categorical, hierarchy: sex.csv}
    diagnosis: {role: sensitive, kind: categorical}
    remark: {role: insensitive, kind: categorical}
    amount: {role: sensitive, kind: decimal}
roles: {decided_by: the tests, date: 2026-11-20}
split: {control: 0.3, stable: true}
anonymize: {k: 5, suppression_limit: 0.05}
transition: {method: tree, order: pre}
synthesize: {generator: cart}
evaluate: {metrics: [identical_match, rare_values], baseline: false, original: false, power: false}
policy: policy.yaml
"""


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """400 visits of 395 patients, six of them of one."""
    rng, n = np.random.default_rng(5), 400
    table = pd.DataFrame({"pid": [f"P{at:05d}" for at in range(n)], "age": rng.integers(20, 80, n)})
    table["sex"], table["diagnosis"] = rng.choice(["m", "f"], n), rng.choice(["flu", "copd", "burn"], n)
    table["remark"] = rng.choice(["stable", "seen again", "sent home"], n)
    table["amount"] = rng.lognormal(6, 1, n).round(2)
    table.loc[:5] = ["P00000", 44, "f", "CANARYdiag", "Erika Mustermann 0170-5551234", 98765432.17]
    table.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "age.yaml").write_text("type: intervals\nwidths: [10, 20, 40]\n")
    (tmp_path / "sex.csv").write_text("m;*\nf;*\n")
    return tmp_path


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """Linked tables in which all prescriptions of the patient with most of them have a route of their own."""
    write_linked_demo(tmp_path, 1200)
    drugs, stays = (pd.read_csv(tmp_path / f"{name}.csv", dtype=str) for name in ("prescriptions", "admissions"))
    owner = drugs["admission_id"].map(stays.set_index("admission_id")["patient_id"])
    drugs.loc[owner == owner.value_counts().index[0], "route"] = "CANARYroute"
    assert (drugs["route"] == "CANARYroute").sum() > 5
    drugs.to_csv(tmp_path / "prescriptions.csv", index=False)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def release(folder: Path) -> Path:
    places = {name: folder / name for name in ("work", "runs", "releases")}
    few = {"metrics": ["identical_match", "rare_values"], "baseline": False, "original": False, "power": False}
    settings = {"policy": str(folder / "policy.yaml")} | {f"evaluate.{key}": value for key, value in few.items()}
    accepted = Acceptance("Ada Lovelace", "the remark looks like an identifier, and has been looked at", "2026-11-20")
    return hybrid.release(folder / "config.yaml", seed=1, overrides=settings, accept=accepted, **places).folder


def charts_of_rows(patched: pytest.MonkeyPatch) -> None:
    """Charts as they were: of the records before protection, and counting rows."""
    patched.setattr("hybrid.table.cells.row_holders", lambda table: np.arange(len(table)))
    patched.setattr(TableRun, "charted", property(lambda self: self.compared))


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.suffix != ".parquet"}


@pytest.mark.slow
@pytest.mark.parametrize("source", ["visits", "linked"])
def test_no_file_has_what_one_person_has_in_many_rows(
    source: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = request.getfixturevalue(source)
    found = texts(release(folder))
    assert len(found) > 8
    assert not [(name, canary) for name, text in found.items() for canary in CANARIES if canary in text]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "columns"), [("visits", {"diagnosis", "remark"}), ("linked", {"prescriptions.route"})]
)
def test_a_chart_that_counted_rows_would_not_be_published(
    source: str, columns: set[str], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = request.getfixturevalue(source)
    charts_of_rows(monkeypatch)
    with pytest.raises(GateRefused) as refused:
        release(folder)
    messages = [problem.message for problem in refused.value.problems]
    assert all(any(f"column {column!r}" in message for message in messages) for column in columns), messages
    assert all("report" in message for message in messages)
    assert not list((folder / "releases").glob("2*")) and "ustermann" not in str(refused.value)
