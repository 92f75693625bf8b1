"""Draws under a condition from the model of a run, through the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hybrid.cli import main
from hybrid.jobs.sample_run import sample_run
from hybrid.publication.finished_run import read_run
from hybrid.publication.ledger import Ledger
from hybrid.store import Store
from tests.jobs.small_job import write_small_job

WARD = "Internal medicine"
Hybrid = Callable[..., int]


def _hybrid(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a job, its run in ``first`` and the private zone ``work``."""
    folder = tmp_path_factory.mktemp("made")
    changes = {"evaluate": {"metrics": ["identical_match", "total_variation"], "baseline": False}}
    config = write_small_job(folder / "job", rows=600, several=True, constraints=[{"formula": "cost >= 0"}], **changes)
    work = folder / "work"
    assert _hybrid("run", config, "--out", folder / "first", "--work", work, "--store", work / "store") == 0
    return folder


@pytest.fixture
def zone(made: Path, tmp_path: Path) -> Path:
    """A copy of the folder, in which a test may do what it likes."""
    copied = tmp_path / "zone"
    shutil.copytree(made, copied)
    for path in (copied / "work" / "origins").iterdir():  # the store and the configuration have moved
        path.write_text(path.read_text().replace(str(made), str(copied)))
    return copied


def _sample(zone: Path, where: str, *options: object, run: str = "first", out: str = "icu") -> int:
    return _hybrid("sample", zone / run, "--where", where, "--out", zone / out, "--work", zone / "work", *options)


def test_a_balanced_draw_is_a_run_of_its_own(zone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = "--balance", "sex", "--out", zone / "balanced", "--work", zone / "work"
    assert _hybrid("sample", zone / "first", *about) == 0
    assert "second draw of this data under this policy" in capsys.readouterr().out
    people = pd.read_csv(zone / "balanced" / "synthetic.csv").groupby("patient_id")["sex"].first().value_counts()
    assert people.max() - people.min() <= 1 and len(people) > 1
    report = (zone / "balanced" / "report.html").read_text()
    assert "given other shares than real people have" in report and "were kept for the shares of sex" in report
    assert _hybrid("sample", zone / "first", "--balance", "ward", "--out", zone / "no", "--work", zone / "work") == 2
    assert _hybrid("sample", zone / "first", "--balance", "sex=f", "--out", zone / "no") == 2
    assert "differs between the rows of a person" in capsys.readouterr().err


def test_rows_are_completed_from_the_run_s_own_table(zone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        pd.read_csv(zone / "first" / "synthetic.csv")
        .dropna()
        .head(40)
        .reset_index(drop=True)
        .assign(ward=None, patient_id=range(40))
    )
    rows.to_csv(zone / "rows.csv", index=False)
    about = "--impute", zone / "rows.csv", "--out", zone / "draw", "--work", zone / "work"
    assert _hybrid("sample", zone / "first", *about) == 0
    said = capsys.readouterr().out
    assert "40 cells of 40 rows completed from a draw" in said and "Not judged: your rows" in said
    made = pd.read_csv(zone / "draw-imputed.csv")
    known = pd.read_csv(zone / "first" / "synthetic.csv")
    assert made.drop(columns="ward").equals(rows.drop(columns="ward")) and set(made["ward"]) <= set(known["ward"])
    assert (zone / "draw-imputed.csv").stat().st_mode & 0o077 == 0 and _draws(zone) == 1
    rows.assign(other=1).to_csv(zone / "rows.csv", index=False)
    assert _hybrid("sample", zone / "first", *about) == 2


def _draws(zone: Path) -> int:
    run = read_run(zone / "first")
    about = run.data_set, _tag(zone), run.policy.sha256
    return Ledger(zone / "work").count_draw(*about, "looked at by a test").number - 1


def _tag(zone: Path) -> str:
    from hybrid.publication.key import data_tag, release_key

    fingerprint = read_run(zone / "first").manifest["data_fingerprint"]
    return data_tag(release_key(zone / "work"), {"data_fingerprint": fingerprint})


def test_a_draw_under_a_condition_is_a_run_of_its_own(zone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sample(zone, f"ward = '{WARD}'", "--rows", 150) == 0
    said = capsys.readouterr().out
    assert "second draw of this data under this policy" in said and "condition        met by about" in said
    rows = pd.read_csv(zone / "icu" / "synthetic.csv")
    meets = (rows["ward"] == WARD).groupby(rows["patient_id"]).any()
    assert meets.all() and len(rows) == pytest.approx(150, rel=0.2) and (rows["cost"].dropna() >= 0).all()
    manifest = json.loads((zone / "icu" / "manifest.json").read_text())
    assert manifest["draw"] == 2 and manifest["config"]["synthesize"]["where"] == f"ward = '{WARD}'"
    report = (zone / "icu" / "report.html").read_text()
    assert "drawn under a condition that" in report and "Only made-up people with a row that meets" in report
    stages = [entry.stage for entry in Store(zone / "work" / "store").entries()]
    assert stages.count("model") == 1 and stages.count("synthesize") == 2
    # The same command again is the same draw; further conditions are further draws.
    before = (zone / "icu" / "synthetic.csv").read_bytes()
    assert _sample(zone, f"ward = '{WARD}'", "--rows", 150) == 0
    assert (zone / "icu" / "synthetic.csv").read_bytes() == before
    assert "second draw" in capsys.readouterr().out
    assert _sample(zone, "emergency", run="icu", out="both") == 0
    assert "third draw" in capsys.readouterr().out
    both = json.loads((zone / "both" / "manifest.json").read_text())["config"]["synthesize"]["where"]
    assert both == f"(ward = '{WARD}') and (emergency)"
    assert _hybrid("release", zone / "icu", "--out", zone / "releases", "--work", zone / "work") == 0
    certificate = json.loads((zone / "releases" / "latest" / "certificate.json").read_text())
    assert certificate["draw"]["number"] == 2 and certificate["config"]["synthesize"]["where"] == f"ward = '{WARD}'"
    assert "synthetic persons with a row that meets a condition" in certificate["guarantee"]


def test_nobody_is_singled_out(zone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An attacker knows somebody's values and asks for whatever else the model has of such people."""
    known = pd.read_csv(zone / "job" / "admissions.csv").iloc[5]
    somebody = (
        f"age = {known['age']} and postcode = '{known['postcode']}' and admission_date = '{known['admission_date']}'"
    )
    everybody_else = f"not ({somebody})"
    for where in (somebody, everybody_else):
        assert _sample(zone, where) == 2
        said = capsys.readouterr().err
        assert "fewer than 5 training persons" in said and str(known["postcode"]) not in said
    assert _sample(zone, f"patient_id = '{known['patient_id']}'") == 2
    assert "identifiers are never learned" in capsys.readouterr().err
    assert not (zone / "icu").exists() and _draws(zone) == 1


def test_without_the_model_nothing_is_drawn(zone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, work = zone / "job" / "config.yaml", zone / "work"
    for entry in (work / "store").glob("model-*"):
        shutil.rmtree(entry)
    assert _sample(zone, "emergency") == 1
    assert "keeps no model of this run any more" in capsys.readouterr().err
    source = zone / "job" / "admissions.csv"
    lines = source.read_text().splitlines()
    source.write_text("\n".join(lines[:-1]) + "\n")
    assert _sample(zone, "emergency") == 2
    assert "the source or a hierarchy has changed" in capsys.readouterr().err
    assert _hybrid("run", config, "--out", zone / "second", "--work", work, "--set", "seed=2") == 0
    assert _sample(zone, "emergency", run="second") == 2
    assert "no model of this run is kept" in capsys.readouterr().err
    assert not (zone / "icu").exists()


def test_a_condition_of_a_configuration_and_of_a_table_in_memory(zone: Path) -> None:
    from hybrid.jobs.start import run

    config, work, store = zone / "job" / "config.yaml", zone / "work", zone / "work" / "store"
    frame = pd.read_csv(zone / "job" / "admissions.csv", dtype={"postcode": str})
    changes: dict[str, Any] = {"synthesize.where": "emergency", "transition.order": "post", "data.order": None}
    changes["data.max_rows"] = 1
    first = run(config, frame, out=zone / "post", work=work, store=store, overrides=changes)
    assert first.synthetic.rows_are_persons and first.synthetic.frame["emergency"].all()
    assert len(first.synthetic) % 10 == 0
    again = sample_run(zone / "post", "age >= 40", out=zone / "again", rows=25, data=frame, work=work)
    assert len(again.synthetic) == 25 and (again.synthetic.frame["age"] >= 40).all()
    assert again.synthetic.frame["emergency"].all()
