"""Constraints between linked tables: found by init, held by a run, measured; no care before birth or after death."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from hybrid.cli import app
from hybrid.constraints import Rules
from hybrid.pipeline.child_draw import MOST_LEFT_OUT, Bounds, _held
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.starter.linked import guess_links
from hybrid.pipeline.starter.reading import read_folder
from hybrid.table import Kind, Table
from tests.constraints.small_tables import declared, table_of

N = 500
CODES = {"C1": "cold", "C2": "broken leg", "C3": "heart failure", "P1": "normal pregnancy", "P2": "second pregnancy"}


def ages(born: pd.Series, on: pd.Series) -> pd.Series:
    """Birthdays so far."""
    later = (on.dt.month < born.dt.month) | ((on.dt.month == born.dt.month) & (on.dt.day < born.dt.day))
    return on.dt.year - born.dt.year - later


def frames() -> dict[str, pd.DataFrame]:
    """Patients, of whom a tenth has died, and their visits: in life, and pregnancies of women."""
    rng = np.random.default_rng(6)
    number, sex = np.array([f"P{n:04d}" for n in rng.permutation(N)]), rng.choice(["f", "m"], N)
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 30_000, N), unit="D")
    end = pd.Timestamp("2023-12-31")
    died = pd.Series(born + pd.to_timedelta(rng.integers(300, 25_000, N), unit="D")).where(rng.random(N) < 0.15)
    died = died.where(died <= end)
    owners = np.repeat(np.arange(N), rng.poisson(3, N))
    life = (died.fillna(end) - born).dt.days.to_numpy()[owners]
    admitted = born[owners] + pd.to_timedelta((rng.random(len(owners)) * life).astype(int), unit="D")
    last = died.fillna(end).to_numpy()[owners]
    discharged = np.minimum(admitted + pd.to_timedelta(rng.poisson(4, len(owners)), unit="D"), last)
    code = np.where(sex[owners] == "f", rng.choice(list(CODES), len(owners)), rng.choice(list(CODES)[:3], len(owners)))
    visits = pd.DataFrame({"patient": number[owners], "admitted": admitted, "discharged": discharged})
    visits["nights"] = (visits["discharged"] - visits["admitted"]).dt.days
    visits["age"] = ages(pd.Series(born[owners]), visits["admitted"])
    visits = visits.assign(code=code, text=[CODES[one] for one in code])
    patients = pd.DataFrame({"patient": number, "born": born, "died": died, "sex": sex})
    return {"patients": patients, "visits": visits.sort_values("admitted")}


FOUND = (
    "{le: [admitted, patients.died]}",
    "{le: [patients.born, admitted]}",
    "{derived: {age: 'years(`patients.born`, admitted)'}}",
    "{derived: {nights: 'days(admitted, discharged)'}}",
    "{combinations: [patients.sex, code]}",
    "{le: [admitted, discharged]}",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables, and what `hybrid init` writes about them."""
    folder = tmp_path_factory.mktemp("life")
    (folder / "life").mkdir()
    for name, frame in frames().items():
        frame.to_csv(folder / "life" / f"{name}.csv", index=False, date_format="%Y-%m-%d")
    said = CliRunner().invoke(app, ["init", str(folder / "life"), "--out", str(folder / "config.yaml")])
    assert said.exit_code == 0, said.output
    return folder


def settings(folder: Path) -> dict[str, Any]:
    """The guessed configuration with every constraint that it suggests, and decided roles."""
    text = re.sub(r"^( *)# (constraints:)$", r"\1\2", (folder / "config.yaml").read_text(), flags=re.M)
    found: dict[str, Any] = yaml.safe_load(re.sub(r"^( *)#   (- \{(?:le|derived|comb))", r"\1  \2", text, flags=re.M))
    columns = {"born": "born.yaml", "sex": "sex.csv"}
    for table in found["tables"].values():
        for name, about in table["columns"].items():
            about["role"] = "quasi_identifier" if name in columns else "insensitive"
            about.pop("hierarchy", None)
            if name in columns:
                about["hierarchy"] = columns[name]
    (folder / "born.yaml").write_text(yaml.safe_dump({"type": "dates", "levels": ["year", "decade"]}))
    (folder / "sex.csv").write_text("f,*\nm,*\n")
    metrics = ["constraint_violations", "orphans"]
    found["evaluate"] = {"power": False, "baseline": False, "original": False, "metrics": metrics}
    return found | {"seed": 4, "split": {"control": 0.3}, "anonymize": {"k": 3, "suppression_limit": 0.1}}


def test_init_finds_what_holds_across_a_reference(folder: Path) -> None:
    text = (folder / "config.yaml").read_text()
    for constraint in FOUND:
        declared = constraint == "{le: [admitted, discharged]}"  # dates of one row, in order in all rows
        assert f"{'   ' if declared else '# '}  - {constraint}" in text, constraint
    patients, _ = guess_links(read_folder(folder / "life")).tables
    assert "{le: [born, died]}" in [one.constraint.text for one in patients.constraints]


def test_check_suggests_for_rows_what_is_not_about_their_persons_alone(folder: Path) -> None:
    said = CliRunner().invoke(app, ["check", str(folder / "config.yaml")]).output.replace("\n", " ")
    of_visits = said.partition("visits: not declared")[2].partition("hint:")[0]
    assert "{le: [patients.born, admitted]}" in of_visits and "{le: [admitted, discharged]}" not in of_visits
    assert "born, died" not in of_visits and "born, patients.died" not in of_visits
    assert "others at their defaults: tabddpm" in said.partition("visits: training with cart")[2]
    assert "ctgan" not in said.partition("visits: training with cart")[2]


def test_a_run_from_the_command_line_breaks_none_of_them(folder: Path) -> None:
    (folder / "run.yaml").write_text(yaml.safe_dump(settings(folder), sort_keys=False))
    checked = CliRunner().invoke(app, ["check", str(folder / "run.yaml")])
    assert checked.exit_code == 0, checked.output
    said = CliRunner().invoke(app, ["run", str(folder / "run.yaml"), "--out", str(folder / "out")])
    assert "visits.csv" in said.output, said.output
    patients = pd.read_csv(folder / "out" / "patients.csv", parse_dates=["born", "died"])
    visits = pd.read_csv(folder / "out" / "visits.csv", parse_dates=["admitted", "discharged"])
    assert len(visits) > 600 and patients["died"].notna().sum() > 10
    assert not (patients["died"] < patients["born"]).any()
    both = visits.merge(patients, on="patient", validate="many_to_one")
    assert len(both) == len(visits)
    assert not ((both["admitted"] < both["born"]) | (both["discharged"] > both["died"])).any()
    assert not (both["code"].isin(["P1", "P2"]) & (both["sex"] == "m")).any()
    assert (both["code"].isin(["P1", "P2"])).mean() > 0.1
    assert ((both["discharged"] - both["admitted"]).dt.days == both["nights"]).all()
    assert (ages(both["born"], both["admitted"]) == both["age"]).all()
    found = json.loads((folder / "out" / "evaluation.json").read_text())["metrics"]
    shares = [one for one in found if one["name"] == "constraint_violations" and one["stage"] == "synthetic"]
    assert len(shares) == 2 and {one["value"] for one in shares} == {0}
    assert any(len(one["details"]["rules"]) >= 6 for one in shares)


def test_a_birth_restored_below_its_label_costs_no_visit(folder: Path) -> None:
    """Distances are learned from true births: a restored one may lie behind a visit, which was not learned then."""
    (folder / "run.yaml").write_text(yaml.safe_dump(settings(folder), sort_keys=False))
    visits = Pipeline(load_config(folder / "run.yaml"), seed=4).tables["visits"]
    born = visits.kept[0].frame["born"]
    assert (visits.kept[0].frame["admitted"] < born).sum() > 5
    assert visits.drawn.redrawn is not None and visits.drawn.redrawn.left_out == 0


def test_rows_are_mended_or_replaced_one_by_one_and_what_no_draw_can_mend_is_left_out() -> None:
    """Parents keep their numbers of rows; the one row whose parent allows none is left out, and counted."""
    rules = Rules.fit(declared({"formula": "value >= least"}), drawn(np.array([0]), np.zeros(1)), 1)
    limits = np.zeros(200)
    limits[7] = 2.0
    sizes = np.where(np.arange(200) == 7, 1, 20)

    def draw(places: np.ndarray, attempt: int) -> Table:
        return drawn(np.repeat(places, sizes[places]), limits, attempt)

    anywhere = Bounds((), drawn(np.arange(200), limits))
    table, counts = _held(draw, rules, anywhere, 200, {"least"}, seed=1)
    assert list(np.bincount(table.persons, minlength=200)) == list(np.where(np.arange(200) == 7, 0, 20))  # type: ignore[arg-type]
    assert not rules.broken(table).any() and counts.dropped == 1 <= MOST_LEFT_OUT * counts.rows
    assert 0.4 < counts.rate < 0.6
    assert counts.repaired == counts.broken - 1 and counts.thrown == 1
    replaced = _held(draw, rules, anywhere, 200, {"least", "value"}, seed=1)[1]
    assert (replaced.repaired, replaced.thrown, replaced.dropped) == (0, counts.broken, 1)


def drawn(owners: np.ndarray, limits: np.ndarray, attempt: int = 0) -> Table:
    """Rows of parents, half of which are below what their parent allows."""
    values = np.random.default_rng(attempt).uniform(-1, 1, len(owners))
    columns = {"value": (Kind.DECIMAL, list(values)), "least": (Kind.DECIMAL, list(limits[owners]))}
    return table_of(owners, **columns)
