"""A laboratory from the command line: files, resumption, the same league by processes, nothing that names a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hybrid.base.errors import ConfigError, MissingExtraError
from hybrid.base.ownership import claim
from hybrid.cli import main
from hybrid.evaluation.trust import WORDS, Trust, load_trust
from hybrid.lab.plan import RiskSections, load_plan
from hybrid.lab.run import KIND, foresee, run_lab
from hybrid.store import Store
from tests.lab.lab_jobs import METRICS, write_lab

PRINTED = {"identical_match (printed IMS)", "identical_match (printed CRP)", "hitting_rate (printed HitR)"}
FILES = ["correlations.csv", "lab.csv", "lab.html", "league.csv", "league.json", "manifest.json", "rows.jsonl"]


@pytest.fixture(scope="module")
def out(folder: Path) -> Path:
    run_lab(load_plan(folder / "lab.yaml"), folder, folder / "out")
    return folder / "out"


def test_generators_that_are_not_here_are_all_named_before_the_first_trial(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRID_ENVIRONMENTS", str(tmp_path / "none"))
    risk = {"dp": {"generators": ["privbayes", "dpgan", "pategan"], "levels": [1, 10]}}
    plan = load_plan(folder / "lab.yaml").model_copy(update={"risk": RiskSections(**risk)})
    with pytest.raises(MissingExtraError) as caught:
        run_lab(plan, folder, tmp_path / "out")
    found = [problem.message for problem in caught.value.problems]
    assert [name in message for name, message in zip(("dpgan", "pategan"), found, strict=True)] == [True, True]
    assert not (tmp_path / "out").exists()


def league_of(out: Path) -> dict[str, Any]:
    """The league without what differs from run to run."""
    found: dict[str, Any] = json.loads((out / "league.json").read_text())
    for metric in found["metrics"]:
        del metric["cpu_seconds"]
    found["metrics"].sort(key=lambda metric: metric["name"])
    return found


def plain_reasons(league: list[dict[str, Any]]) -> list[str]:
    found: list[str] = next(each["reasons"] for each in league if each["name"] == "identical_match")
    return found


def test_files_and_what_they_say(out: Path) -> None:
    assert sorted(path.name for path in out.iterdir() if not path.name.startswith(".")) == FILES
    assert not (out / ".store").exists()
    league = json.loads((out / "league.json").read_text())
    names = [each["name"] for each in league["metrics"]]
    assert league["schema"] == "hybrid-league/1" and set(names) == {*METRICS, *PRINTED}
    assert {*names[-3:]} == PRINTED
    copies = next(each for each in league["metrics"] if each["name"] == "identical_match")
    leaky = next(each for each in copies["series"] if each["risk"] == "leaky")
    # An exact metric reads as the share leaked.
    assert leaky["excess"] == pytest.approx([0, 0.2, 0.6, 1], abs=0.01)
    assert leaky["verdict"] in WORDS
    assert leaky["sensitivity"] == 0.2 and leaky["tau"] == 1 and leaky["calibration"] < 0.01
    assert copies["false_alarms"]["trials"] == 5 and copies["verdict"] == "unknown"
    numbers = pd.read_csv(out / "lab.csv")
    assert (numbers["risk"] == "no_leak").sum() == 5 * (len(METRICS) + len(PRINTED))
    assert set(numbers["contestant"]) == {*METRICS, *PRINTED}
    assert (numbers.loc[numbers["form"].isna(), "cpu_seconds"] >= 0).all()


def test_numbers_as_printed_are_read_against_the_trials_without_a_leak(out: Path) -> None:
    numbers = pd.read_csv(out / "lab.csv")
    printed = numbers[numbers["contestant"] == "identical_match (printed IMS)"]
    plain = numbers[numbers["contestant"] == "identical_match"]
    # The printed share is of distinct rows, without a reference.
    # Where a row is made twice, either share can be the larger.
    distinct, rows = printed["value"].to_numpy(), plain["value"].to_numpy()
    assert (
        ((distinct > 0) == (rows > 0)).all() and abs(distinct - rows).max() < 0.1 and printed["reference"].isna().all()
    )
    nulls = printed[printed["risk"] == "no_leak"]
    leaky = printed[(printed["risk"] == "leaky") & (printed["position"] == 2)]
    assert leaky["excess"].to_numpy() == pytest.approx((leaky["value"] - nulls["value"].mean()).to_numpy())
    league = json.loads((out / "league.json").read_text())["metrics"]
    entry = next(each for each in league if each["name"] == "identical_match (printed IMS)")
    assert (entry["metric"], entry["printed"], entry["cpu_seconds"]) == ("identical_match", "IMS", None)
    assert next(each for each in entry["series"] if each["risk"] == "leaky")["sensitivity"] == 0.2
    read = load_trust(out / "league.json")
    assert read.of("identical_match", None) == Trust("unknown", tuple(plain_reasons(league)), 0.2)
    page = (out / "lab.html").read_text()
    assert "Identical match (printed: IMS)" in page and "a good verdict is no reason to rely on it" in page


def test_nothing_names_a_person(folder: Path, out: Path) -> None:
    patients = set(pd.read_csv(folder / "admissions.csv")["patient_id"])
    written = "".join((out / name).read_text() for name in FILES)
    assert not [patient for patient in patients if patient in written]
    assert (out.stat().st_mode & 0o777) == 0o700


def test_the_page_needs_no_network_and_no_script(out: Path) -> None:
    page = (out / "lab.html").read_text()
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert "Which privacy metric can you trust?" in page and page.count("<svg") > len(METRICS)


@pytest.mark.slow
def test_what_was_killed_goes_on_and_processes_agree(folder: Path, out: Path, tmp_path: Path) -> None:
    plan = load_plan(folder / "lab.yaml")
    lines = (out / "rows.jsonl").read_bytes().splitlines(keepends=True)
    claim(tmp_path / "part", plan.name, KIND)
    (tmp_path / "part" / "rows.jsonl").write_bytes(b"".join(lines[:10]))
    assert foresee(plan, folder, tmp_path / "part").done == 10
    run_lab(plan, folder, tmp_path / "part", jobs=2)
    assert league_of(tmp_path / "part") == league_of(out)


def test_a_metric_more_trains_nothing_anew(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    changes = {"store": str(store), "seeds": (1,), "null_seeds": 0}
    plan = load_plan(folder / "lab.yaml").model_copy(update=changes)
    run_lab(plan, folder, tmp_path / "one")
    made = {entry.key for entry in Store(store).entries() if entry.stage == "synthesize"}
    run_lab(plan.model_copy(update={"metrics": (*METRICS, "nnaa")}), folder, tmp_path / "two")
    assert {entry.key for entry in Store(store).entries() if entry.stage == "synthesize"} == made
    assert "nnaa" in {each["name"] for each in json.loads((tmp_path / "two" / "league.json").read_text())["metrics"]}


def test_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = write_lab(folder, seeds=[1], null_seeds=0, risk={"leaky": {"levels": [0, 1]}})
    with pytest.raises(SystemExit) as ended:
        main(["lab", str(plan), "--dry-run", "--out", str(tmp_path / "out")])
    assert ended.value.code == 0 and not (tmp_path / "out").exists()
    said = capsys.readouterr().out
    assert (
        "2 configurations x 1 seeds = 2 runs" in said
        and "by estimates for a machine that does nothing else" in " ".join(said.split())
    )
    write_lab(folder, seeds=[1], null_seeds=3, risk={"leaky": {"levels": [0, 1]}})
    with pytest.raises(SystemExit):
        main(["lab", str(plan), "--dry-run", "--out", str(tmp_path / "out")])
    assert "2 configurations, 5 runs" in capsys.readouterr().out  # further trials of one of them
    write_lab(folder, seeds=[1], null_seeds=0, risk={"leaky": {"levels": [0, 1]}})
    with pytest.raises(SystemExit) as ended:
        main(["lab", str(plan), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and "2 trials done" in said and "lab.html" in said
    with pytest.raises(SystemExit) as ended:
        main(["lab", str(plan), "--scale", "tiny"])
    assert ended.value.code == 2
    write_lab(folder)


def test_a_foreign_folder_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="other files than a laboratory"):
        run_lab(load_plan(folder / "lab.yaml"), folder, tmp_path)
