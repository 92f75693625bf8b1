"""Settings are chosen by command line and in Python, on the training people alone."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hybrid
from hybrid.base.errors import ConfigError, InfeasibleError
from hybrid.base.rng import rng_for
from hybrid.comparison import local
from hybrid.evaluation import REGISTRY
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.table.split import control_mask
from hybrid.tuning import search
from hybrid.tuning.measured import EXPOSED
from hybrid.tuning.page import sentences
from hybrid.tuning.search import HalvingRound
from tests.cli.cli_jobs import Run, exit_code
from tests.comparison.comparison_jobs import write_job
from tests.jobs import private_clinic
from tests.pipeline.tables import hospital

SHORT = (HalvingRound(3, 6, 1), HalvingRound(2, 6, 2))
TINY = (HalvingRound(2, 6, 1),)
ATTACK = REGISTRY[EXPOSED].compute.__module__


@pytest.fixture(autouse=True, scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    """Few settings and trainings; that so few say little of an attack does not matter here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "HALVING_ROUNDS", SHORT)
        patch.setattr(sys.modules[ATTACK], "LEAST_TRAININGS", 6)
        yield patch


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two settings, one round."""
    monkeypatch.setattr(search, "HALVING_ROUNDS", TINY)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 300 people with a configuration, and its tune with seed 3 in the folder out."""
    folder = tmp_path_factory.mktemp("tune")
    write_job(folder)
    path = folder / "config.yaml"
    path.write_text("# ours\n" + path.read_text())
    return path


@pytest.fixture(scope="module")
def whole(made: Path, patch: pytest.MonkeyPatch) -> search.Tuned:
    """The tune of the table, in the folder out beside it."""
    return hybrid.tune(made, seed=3, out=made.parent / "out")


@pytest.fixture
def job(made: Path, tmp_path: Path) -> Path:
    """A copy of table and configuration; gives its path."""
    folder = tmp_path / "job"
    shutil.copytree(made.parent, folder)
    return folder / "config.yaml"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process, in the folder of the job; gives the exit code."""
    monkeypatch.chdir(tmp_path)

    return exit_code


@pytest.mark.slow
def test_by_command_line(
    whole: search.Tuned, job: Path, command: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, folder = job.read_text(), job.parent / "out"
    monkeypatch.setattr(local, "run_trial", None)  # a second call tries nothing again
    assert command("tune", job, "--seed", 3, "--out", folder) == 0
    assert job.read_text() == before  # nobody was there to be asked
    shown = capsys.readouterr().out
    assert "obstacle" in shown and "were not looked at" in shown
    left, go_on = f"hybrid tune {job} --write", f"hybrid run {job}"
    assert (left in shown, go_on in shown) == ((True, False) if whole.chosen.values else (False, True))
    found = json.loads((folder / "tune.json").read_text())
    assert (folder / "tune.html").read_text().count("<svg") == 1 and not (folder / ".store").exists()
    assert found["chosen"] == whole.chosen.name and found["values"] == dict(whole.chosen.values)
    assert command("tune", job, "--seed", 3, "--out", folder, "--write") == 0
    text = job.read_text()
    assert text.startswith("# ours\n") and ("# tune: " in text) == bool(found["values"])
    assert load_config(job).model_dump() == whole.config.model_dump()


@pytest.mark.usefixtures("tiny")
def test_init_tunes_at_once(made: Path, tmp_path: Path, command: Run, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table").mkdir()
    frame = pd.read_csv(made.parent / "admissions.csv", dtype=str)
    frame[["patient_id", "age", "sex", "ward", "readmitted"]].to_csv(tmp_path / "table/people.csv", index=False)
    assert command("init", tmp_path / "table/people.csv", "--tune") == 0
    shown, config = capsys.readouterr().out, tmp_path / "table/config.yaml"
    assert "CPU seconds" in shown and "decide every line marked 'review'" in shown
    assert (tmp_path / "work/tune/people/tune.html").is_file()
    assert ("# tune: " in config.read_text()) == (f"{config}: written" in shown)
    assert load_config(config).name == "people"


def test_a_setting_is_written(whole: search.Tuned, job: Path) -> None:
    other = next(one for one in whole.rounds[-1] if one.name != "configured")
    chosen = dataclasses.replace(whole, choice=dataclasses.replace(whole.choice, chosen=other))
    draft = hybrid.Draft.read(job)
    chosen.apply(draft)
    assert draft.config.model_dump() == chosen.config.model_dump() != load_config(job).model_dump()
    assert "# tune: " in draft.text and draft.text.startswith("# ours\n")
    assert draft.undo() and draft.config.model_dump() == load_config(job).model_dump()


def numbers(found: search.Tuned) -> str:
    return repr(found.rounds)


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_the_control_people_are_never_looked_at(job: Path, tmp_path: Path) -> None:
    config, frame = load_config(job), pd.read_csv(job.parent / "admissions.csv", dtype=str)
    control = control_mask(np.arange(len(frame)), config.split, rng_for(3, "split"))
    other, moved = frame.copy(), frame.copy()
    rng = np.random.default_rng(0)
    for name in frame.columns.drop("patient_id"):
        other.loc[control, name] = rng.permutation(frame.loc[control, name].to_numpy())
    moved.loc[~control, "ward"] = rng.permutation(frame.loc[~control, "ward"].to_numpy())
    assert not other.equals(frame)
    one, two, three = (
        hybrid.tune(config, data=data, seed=3, out=tmp_path / f"out{at}")
        for at, data in enumerate((frame, other, moved))
    )
    assert numbers(one) == numbers(two) and one.chosen.values == two.chosen.values
    assert numbers(one) != numbers(three)


@pytest.mark.slow
def test_an_interrupted_tune_goes_on(
    whole: search.Tuned, job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, run_trial = 0, local.run_trial

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return run_trial(*arguments)

    monkeypatch.setattr(local, "run_trial", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hybrid.tune(job, seed=3, out=tmp_path / "part")
    assert len((tmp_path / "part/rows.jsonl").read_text().splitlines()) == 3
    again = hybrid.tune(job, seed=3, out=tmp_path / "part")
    trials = sum(len(each) * (1 + rung.draws) for each, rung in zip(whole.rounds, SHORT, strict=True))
    assert calls == 1 + trials + 2 * len(whole.failed)  # the three that were done are not done again
    assert numbers(again) == numbers(whole) and again.reason == whole.reason


@pytest.mark.usefixtures("tiny")
def test_a_later_run_has_the_same_control_people(job: Path, tmp_path: Path) -> None:
    work, config = tmp_path / "work", load_config(job, {"seed": None})
    found = hybrid.tune(config, work=work)
    (kept,) = (work / "splits").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    one, two = (TableRun(found.config, ledger_dir=work) for _ in range(2))
    assert one.seed != two.seed
    pd.testing.assert_frame_equal(one.train.frame, two.train.frame)
    assert not one.train.frame.equals(TableRun(found.config).train.frame)
    assert TableRun(found.config, 3, ledger_dir=work).split_seed == 3


@pytest.mark.usefixtures("whole")
def test_nothing_of_a_person_is_in_the_results(made: Path) -> None:
    out = made.parent / "out"
    written = "".join(path.read_text() for path in sorted(out.iterdir()) if path.is_file())
    frame = pd.read_csv(made.parent / "admissions.csv", dtype=str)
    values = frame[["patient_id", "postcode", "diagnosis", "ward"]].stack().unique()
    words = set(re.split(r"[^\w.-]+", written))
    assert "anonymize.k" in words and not words & set(values)


@pytest.mark.usefixtures("tiny")
def test_settings_of_linked_tables_are_tried_on_training_people_with_all_of_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 patients those of the control group are in no trial; columns of all tables are predicted."""
    settings = hospital.content() | {"policy": "default", "split": {"control": 0.3}}
    settings["evaluate"] = {"targets": ["diagnosis", "drug"]}
    del settings["seed"]
    config = hospital.write(tmp_path, hospital.frames(300), settings)
    seen: list[frozenset[str]] = []
    original = local.run_trial

    def watched(place: Any, trial: Any) -> Any:
        tables = trial.people.tables
        people = frozenset(tables["patients"].frame["patient"])
        assert set(tables["visits"].frame["patient"]) <= people
        assert set(tables["drugs"].frame["visit"]) <= set(tables["visits"].frame["visit"])
        seen.append(people)
        return original(place, trial)

    monkeypatch.setattr(local, "run_trial", watched)
    found = hybrid.tune(config, work=tmp_path / "work")
    assert set(found.targets) == {"visits.diagnosis"}, "what is given is chance"
    assert len(set(seen)) == 1 and len(seen[0]) == found.people == 210
    control = Pipeline(found.config, ledger_dir=tmp_path / "work").person.control
    assert control is not None and len(control) == 90
    keys = Pipeline(found.config).sources.tables["patients"].frame["patient"]
    assert not set(keys[control.persons]) & seen[0], "who was held out is control of the run as well"
    draft = hybrid.Draft.read(config)
    found.apply(draft)
    assert draft.config.model_dump(mode="json")["tables"] == found.config.model_dump(mode="json")["tables"]


def test_what_is_not_tuned_is_refused(job: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="spend privacy budget"):
        hybrid.tune(private_clinic.content(), data=private_clinic.people(200, 1), work=tmp_path / "work")
    with pytest.raises(ConfigError, match="nothing to train again"):
        hybrid.tune(job, overrides={"synthesize.generator": "none"}, work=tmp_path / "work")


def test_a_table_that_no_setting_fits_has_the_reason(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid.tuning.settings.factors", lambda *_: {})
    with pytest.raises(InfeasibleError, match="k is 10000 but there are only 147 records"):
        hybrid.tune(job, seed=3, out=tmp_path / "out", overrides={"anonymize.k": 10_000})


@pytest.mark.usefixtures("tiny")
def test_settings_that_fail_are_counted(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid.tuning.settings.factors", lambda *_: {"anonymize.k": [5, 10_000]})
    found = hybrid.tune(job, seed=3, out=tmp_path / "out")
    assert found.failed == ("s01",) and found.chosen.name == "configured"
    assert any("could not be measured: 1." in sentence for sentence in sentences(found))
