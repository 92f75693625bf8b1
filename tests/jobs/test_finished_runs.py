"""``hybrid release CONFIG`` after ``hybrid run CONFIG``: what was read is published, and nothing is drawn again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import hybrid
from hybrid.base.errors import ConfigError
from hybrid.cli import main
from hybrid.jobs.finished_runs import finished_runs
from hybrid.jobs.places import Places
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.ledger import Ledger
from tests.jobs.small_job import POLICY, write_small_job


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job without a seed of its own, as for a real release, in the working folder."""
    monkeypatch.chdir(tmp_path)
    path = write_small_job(tmp_path, rows=300)
    content = yaml.safe_load(path.read_text())
    del content["seed"]
    path.write_text(yaml.safe_dump(content))
    return path


def released_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["release", *arguments])
    found = capsys.readouterr()
    return int(ended.value.code or 0), " ".join((found.out + found.err).split())


def runs() -> list[str]:
    return sorted(path.name for path in Path("runs").iterdir())


def certificate() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("releases/latest/certificate.json").read_text())
    return content


def test_the_next_command_of_the_readme_publishes_what_was_read(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = hybrid.run(job, out="runs/read")
    assert drawn.verdict.status == "pass"
    code, said = released_by(capsys, str(job))
    assert code == 0 and "runs/read (PASS," in said and "nothing was drawn again" in said
    assert runs() == ["read"] and certificate()["draw"]["words"] == "first draw of this data under this policy"
    assert Path("releases/latest/synthetic.csv").read_bytes() == Path("runs/read/synthetic.csv").read_bytes()
    code, _ = released_by(capsys, str(job))
    assert code == 0 and runs() == ["read"] and len(Ledger(Path("work")).entries()) == 1  # the same release
    replaced = "Values that fewer than 5 people have were replaced, where there were any, in "
    assert replaced in Path("runs/read/report.html").read_text(encoding="utf-8")
    assert [text for text in certificate()["summary"]["protection"] if text.startswith(replaced) and "cost" in text]
    published = hybrid.release(job)
    assert (published.run, published.pipeline, runs()) == (Path("runs/read"), None, ["read"])


def test_a_run_that_waits_is_not_drawn_again_in_the_hope_of_a_pass(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = POLICY["anonymity"][0] | {"review": 10**6, "block": 2}
    Path("policy.yaml").write_text(yaml.safe_dump(POLICY | {"anonymity": [rule]}))
    hybrid.run(job, out="runs/read")
    code, said = released_by(capsys, str(job))
    assert code == 4 and "hybrid approve runs/read" in said and runs() == ["read"]
    accepted = ["--accept-review", "--by", "Ada", "--reason", "looked at"]
    code, said = released_by(capsys, str(job), *accepted)
    assert code == 0 and runs() == ["read"] and certificate()["draw"]["number"] == 1


def test_of_several_a_person_chooses_and_every_draw_counts(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        hybrid.run(job, out=f"runs/{name}")
    code, said = released_by(capsys, str(job))
    assert code == 2 and "2 finished runs are of this very configuration: runs/one (PASS," in said
    assert "hybrid release runs/one" in said and "--anew" in said and runs() == ["one", "two"]
    with pytest.raises(ConfigError, match="2 finished runs"):
        hybrid.release(job)
    code, _ = released_by(capsys, "runs/two")
    assert code == 0 and certificate()["draw"]["number"] == 2
    code, _ = released_by(capsys, str(job))  # one of them is out: that one
    assert code == 0 and runs() == ["one", "two"] and len(Ledger(Path("work")).entries()) == 1


def test_drawn_anew_is_a_further_draw(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hybrid.run(job, out="runs/read")
    code, said = released_by(capsys, str(job), "--anew")
    assert code == 0 and "second draw of this data under this policy" in said and len(runs()) == 2
    assert "nothing was drawn again" not in said


@pytest.mark.parametrize("change", ["data", "configuration", "policy", "roles", "version", "blocked", "zone"])
def test_a_run_of_anything_else_is_not_published(
    job: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """It is said which run that is, what differs, and how it could be published; another draw is made."""
    hybrid.run(job, out="runs/read")
    content = yaml.safe_load(job.read_text())
    if change == "data":
        pd.read_csv("admissions.csv", dtype=str).tail(-1).to_csv("admissions.csv", index=False)
    elif change == "configuration":
        content["anonymize"]["k"] += 1
    elif change == "policy":
        Path("policy.yaml").write_text(yaml.safe_dump(POLICY | {"version": "2"}))
    elif change == "roles":
        content["roles"]["decided_by"] = "somebody else"
    elif change == "version":
        monkeypatch.setattr("hybrid.jobs.finished_runs.library_versions", lambda *_: {"hybrid-release": "0.0"})
    elif change == "blocked":
        monkeypatch.setattr("hybrid.jobs.finished_runs.verdict_of", lambda *_: Blocked())
    else:
        shutil.rmtree("work")  # the key of the seal is gone with it
    job.write_text(yaml.safe_dump(content))
    code, said = released_by(capsys, str(job))
    assert code == 0 and len(runs()) == 2 and "nothing was drawn again" not in said
    differs = {"data": "data or configuration", "configuration": "data or configuration"}.get(change, change)
    told = (
        f"its {differs} differs, so a new table was drawn hint: to publish that run: hybrid release runs/read" in said
    )
    assert told == (change not in ("blocked", "zone"))


class Blocked:
    status = "block"


def test_a_run_that_was_changed_is_not_published(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hybrid.run(job, out="runs/read")
    manifest = json.loads(Path("runs/read/manifest.json").read_text())
    Path("runs/read/manifest.json").write_text(json.dumps(manifest | {"draw": 1, "python": "changed"}))
    code, said = released_by(capsys, str(job))
    assert code == 0 and "second draw" in said and len(runs()) == 2


def test_a_private_run_without_its_claim_is_left(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing refuses it with the advice to release the configuration: that must not find it again."""
    refused: list[str] = []

    def refuse(manifest: dict[str, Any]) -> None:
        if manifest["seed"] == 5:
            refused.append(manifest["name"])
            raise ConfigError("no claim")

    monkeypatch.setattr("hybrid.jobs.finished_runs.refuse_without_claim", refuse)
    hybrid.run(job, out="runs/seeded", seed=5)
    published = hybrid.release(job)
    assert refused == ["small"] and published.pipeline is not None and published.draw.number == 2


def test_another_data_set_over_the_same_table_is_no_repeated_draw(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hybrid.run(job, out="runs/read")
    content = yaml.safe_load(job.read_text())
    Path("other.yaml").write_text(yaml.safe_dump(content | {"name": "costs"}))
    code, said = released_by(capsys, "other.yaml")
    words = "first draw of this data under this policy for this data set; one draw of the same data under other names"
    assert code == 0 and words in said
    assert certificate()["draw"]["number"] == 1


def test_foreign_folders_among_runs_and_releases_neither_stop_nor_count(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without a list of files ended in a bug, and a pipe in the place of a manifest was waited for."""
    hybrid.run(job, out="runs/read")
    bare, forged = Path("releases/2099-01-01-00000000"), Path("releases/2099-01-01-11111111")
    files = {
        name: {"sha256": sha} for name, sha in json.loads(Path("runs/read/manifest.json").read_text())["files"].items()
    }
    for folder, content in ((bare, {"created": "2099-01-01"}), (forged, {"created": "2099-01-01", "files": files})):
        folder.mkdir(parents=True)
        (folder / "certificate.json").write_text(json.dumps(content))
    Path("runs/pipe").mkdir()
    os.mkfifo("runs/pipe/manifest.json")
    (found,) = finished_runs(Pipeline(load_config(job), store=Places().store), Places())
    assert (found.run.folder, found.is_out) == (Path("runs/read"), False)
    code, said = released_by(capsys, str(job))
    assert code == 0 and "nothing was drawn again" in said
    (found,) = finished_runs(Pipeline(load_config(job), store=Places().store), Places())
    assert found.is_out
