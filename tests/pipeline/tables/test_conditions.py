"""Linked tables under a condition on their persons: from the configuration, and from the model that a run kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import hybrid
import hybrid.synthesize.kept
from hybrid.base.errors import ConfigError, HybridError
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from tests.cli.cli_jobs import exit_code
from tests.pipeline.tables.hospital import METRICS, POLICY, content, frames, write

OLD = "age >= 60"


def settings() -> dict[str, Any]:
    evaluate = content()["evaluate"] | {"metrics": [*METRICS, "total_variation"]}
    return content() | {"policy": "policy.yaml", "evaluate": evaluate}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration, its run ``first``, and the private zone ``work`` that keeps its models."""
    folder = tmp_path_factory.mktemp("made")
    config = write(folder, frames(300), settings())
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    work = folder / "work"
    assert exit_code("run", config, "--out", folder / "first", "--work", work, "--store", work / "store") == 0
    return folder


def read(folder: Path) -> dict[str, pd.DataFrame]:
    return {name: pd.read_csv(folder / f"{name}.csv") for name in ("patients", "visits", "drugs")}


def test_persons_who_meet_it_come_with_their_rows_in_all_tables(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(*_: Any) -> None:
        raise AssertionError("a model was trained")

    monkeypatch.setattr(hybrid.synthesize.kept, "fit", train)
    work = made / "work"
    assert exit_code("sample", made / "first", "--where", OLD, "--out", made / "old", "--work", work) == 0
    assert "second draw" in capsys.readouterr().out
    found, real = read(made / "old"), frames(300)
    assert (found["patients"]["age"] >= 60).all() and len(found["patients"]) > 30
    assert set(found["visits"]["patient"]) <= set(found["patients"]["patient"])
    assert set(found["drugs"]["visit"]) <= set(found["visits"]["visit"])
    # Older people have more visits, of other kinds: rows are drawn given their persons.
    rate = len(found["visits"]) / len(found["patients"])
    older = real["patients"]["age"] > 60
    expected = real["visits"]["patient"].isin(real["patients"]["patient"][older]).sum() / older.sum()
    assert rate == pytest.approx(expected, rel=0.3)
    assert found["visits"]["diagnosis"].isin(["heart", "hip"]).mean() > 0.8
    manifest = json.loads((made / "old" / "manifest.json").read_text())
    assert manifest["config"]["synthesize"]["where"] == OLD and manifest["draw"] == 2
    report = (made / "old" / "report.html").read_text()
    assert "whose row in patients meets a condition" in report


def test_utility_compares_with_those_who_meet_it(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, frames(300), settings() | {"policy": "default"}))
    run = Pipeline(config.with_values({"synthesize.where": OLD}), seed=3, judge_power=False)
    people, visits = run.tables["patients"], run.tables["visits"]
    met, control = visits.compared
    assert (people.compared[0].frame["age"] >= 60).all()
    assert (met.frame["age"] >= 60).all() and len(met) < len(visits.train)
    assert control is not None and (control.frame["age"] >= 60).all()
    parents = visits.parentage["original"]["train"]
    assert len(parents.table) == len(people.compared[0]) and (np.asarray(parents.owners) >= 0).all()
    assert np.array_equal(parents.table.frame["age"].to_numpy()[parents.owners], met.frame["age"].to_numpy())
    # Privacy still asks about everybody.
    asked = run.evaluation.find("identical_match", "synthetic", table="visits")
    assert asked is not None and len(visits.train) > len(met)


def test_nobody_is_singled_out(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eldest = frames(300)["patients"]["age"].max()
    for where in (f"age >= {eldest}", f"age < {eldest}", "diagnosis = 'hip'", "patient = 'P0001'"):
        out = made / "nobody"
        assert exit_code("sample", made / "first", "--where", where, "--out", out, "--work", made / "work") == 2
        assert not out.exists()
    said = capsys.readouterr().err
    assert "fewer than 5 training" in said and "identifiers are never learned" in said and "diagnosis" in said


def test_without_the_models_nothing_is_drawn(tmp_path: Path) -> None:
    config, tables = write(tmp_path, frames(120), settings()), frames(120)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    how: dict[str, Any] = {"work": tmp_path / "work", "data": tables}
    hybrid.run(config, out=tmp_path / "first", store=tmp_path / "work" / "store", **how)
    from hybrid.jobs.sample_run import sample_run

    with pytest.raises(ConfigError, match="made of a DataFrame"):
        sample_run(tmp_path / "first", OLD, out=tmp_path / "old", work=tmp_path / "work")
    for entry in (tmp_path / "work" / "store").glob("model-*"):
        entry.rename(entry.with_name(f"gone-{entry.name}"))
    with pytest.raises(HybridError, match="keeps no model of this run any more"):
        sample_run(tmp_path / "first", OLD, out=tmp_path / "old", **how)


def test_persons_near_a_real_one_are_left_out_with_their_rows(tmp_path: Path) -> None:
    chosen = settings() | {
        "synthesize": {"options": {"min_leaf": 10}, "filter": {"score": "alpha", "below": 1.2, "action": "drop"}}
    }
    config = write(tmp_path, frames(300), chosen)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    run = hybrid.run(config, out=tmp_path / "out", work=tmp_path / "work")
    people, visits = run.tables["patients"], run.tables["visits"]
    assert people.filtered is not None and sum(people.filtered.removed) > 0 and visits.filtered is None
    found = read(tmp_path / "out")
    assert len(found["patients"]) == sum(people.filtered.drawn) - sum(people.filtered.removed)
    assert set(found["visits"]["patient"]) <= set(found["patients"]["patient"])
    # No metric sees the people who gave the scale of distances.
    assert people.control is not None and visits.control is not None
    assert set(visits.control.persons) <= set(people.control.persons)
    report = (tmp_path / "out" / "report-details.html").read_text()
    assert "whose row in patients lies" in report


def test_persons_are_drawn_with_other_shares_and_come_with_their_rows(made: Path, tmp_path: Path) -> None:
    about = "--balance", "sex", "--out", made / "balanced", "--work", made / "work"
    assert exit_code("sample", made / "first", *about) == 0
    found = read(made / "balanced")
    person, rows = found["patients"], found["visits"]
    counts = person["sex"].value_counts()
    assert counts.max() - counts.min() <= 1
    assert set(rows["patient"]) <= set(person["patient"]) and len(rows) > 0


def test_rows_of_the_person_table_alone_are_completed(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, work = tmp_path / "rows.csv", ("--work", made / "work")
    frames(300)["visits"].head(3).to_csv(rows, index=False)
    assert exit_code("sample", made / "first", "--impute", rows, *work) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "have no column of the draw" in told and "rows of patients alone are completed" in told
    rows.write_text("sex,age\nf,\n,80\n")
    assert exit_code("sample", made / "first", "--impute", rows, "--out", tmp_path / "draw", *work) == 0
    done, drawn = pd.read_csv(tmp_path / "draw-imputed.csv"), read(tmp_path / "draw")["patients"]
    assert done.notna().all(axis=None) and done["sex"][0] == "f" and done["age"][1] == 80
    # All empty cells of a row are those of one drawn person.
    assert set(done["age"][:1]) <= set(drawn["age"][drawn["sex"] == "f"])
