"""``--out`` replaces what this program wrote, and nothing else; what it writes is private."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.cli_jobs import Run


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_neighbours_stay_and_results_are_private(hybrid: Run, job: Path) -> None:
    foreign = job.parent / ".precious.tmp-999999"
    foreign.mkdir()
    (foreign / "only copy.csv").write_text("a\n")
    before = os.umask(0)
    try:
        for _ in range(2):
            assert hybrid("anonymize", job, "--out", job.parent / "out") == 0
    finally:
        os.umask(before)
    assert snapshot(foreign) == {"only copy.csv": b"a\n"}
    assert modes(job.parent / "out") == {0o600, 0o700}
    assert [path for path in job.parent.iterdir() if path.name[0] == "."] == [foreign]


@pytest.mark.parametrize("command", ["run", "anonymize"])
def test_a_folder_with_a_manifest_of_others_is_left_as_it_is(hybrid: Run, capsys: Any, job: Path, command: str) -> None:
    extension = job.parent / "extension"
    extension.mkdir()
    (extension / "manifest.json").write_text('{"manifest_version": 3, "name": "A browser extension", "files": {}}')
    (extension / "patients.csv").write_text("the only copy")
    before = snapshot(extension)
    assert hybrid(command, job, "--out", extension) == 2
    assert "files that this program did not write; the folder is left as it is" in capsys.readouterr().err
    assert snapshot(extension) == before


def test_a_run_to_which_something_was_added_is_left_as_it_is(hybrid: Run, capsys: Any, job: Path) -> None:
    out = job.parent / "out"
    assert hybrid("anonymize", job, "--out", out) == 0
    (out / "my notes.txt").write_text("mine")
    before = snapshot(out)
    assert hybrid("anonymize", job, "--out", out) == 2
    assert "such as my notes.txt" in capsys.readouterr().err
    assert snapshot(out) == before


def test_a_release_is_never_replaced(hybrid: Run, capsys: Any, job: Path) -> None:
    zones = ("--out", job.parent / "releases", "--runs", job.parent / "runs", "--work", job.parent / "work")
    assert hybrid("release", job, *zones) == 0
    latest = job.parent / "releases" / "latest"
    before = snapshot(latest.resolve())
    assert hybrid("run", job, "--out", latest.resolve()) == 2
    assert "lies in a folder of releases" in capsys.readouterr().err
    copy = shutil.copytree(latest, job.parent / "copy")
    assert hybrid("run", job, "--out", copy) == 2
    assert "published release" in capsys.readouterr().err
    assert snapshot(copy) == before
    assert hybrid("run", job, "--out", latest) == 2
    assert "a link" in capsys.readouterr().err
    assert snapshot(latest.resolve()) == before
    assert hybrid("verify", latest) == 0
    [run] = (job.parent / "runs").iterdir()
    assert modes(run) == {0o600, 0o700}


def test_the_working_folder_is_no_place_for_a_run(
    hybrid: Run, capsys: Any, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = job.parent / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    for out in (".", "..", "/"):
        assert hybrid("run", job, "--out", out) == 2
        assert "the folder you work in" in capsys.readouterr().err


def test_a_comparison_fills_only_folders_of_its_own(hybrid: Run, capsys: Any, job: Path) -> None:
    plan = {"version": 1, "base": "config.yaml", "factors": {"transition.method": ["single"]}, "seeds": [1]}
    path = job.parent / "plan.yaml"
    path.write_text(yaml.safe_dump(plan))
    foreign = job.parent / "foreign"
    foreign.mkdir()
    (foreign / "comparison.csv").write_text("mine")
    assert hybrid("compare", path, "--out", foreign) == 2
    assert "other files than a comparison" in capsys.readouterr().err
    assert snapshot(foreign) == {"comparison.csv": b"mine"}
    out = job.parent / "out"
    for _ in range(2):
        assert hybrid("compare", path, "--out", out) == 0
    (out / ".lock").unlink()
    shutil.copytree(out, job.parent / "copy")
    assert hybrid("anonymize", job, "--out", job.parent / "copy") == 0
    assert {path.name for path in (job.parent / "copy").iterdir()} >= {"anonymized.parquet"}


def test_deeply_nested_yaml_is_a_message_and_no_bug(hybrid: Run, capsys: Any, job: Path) -> None:
    job.write_text("data: " + "[" * 50_000)
    assert hybrid("check", job) == 2
    said = capsys.readouterr().err
    assert "nested deeper than" in said and "bug" not in said
    assert hybrid("run", job, "--set", "seed=" + "{a: " * 5_000) == 2


def test_nothing_raw_is_written_among_releases(hybrid: Run, capsys: Any, job: Path) -> None:
    zones = ("--out", job.parent / "releases", "--runs", job.parent / "runs", "--work", job.parent / "work")
    assert hybrid("release", job, *zones) == 0
    before = snapshot(job.parent / "releases")
    for out in ("releases/mine", "releases/latest/mine", "releases"):
        assert hybrid("anonymize", job, "--out", job.parent / out) == 2
        assert "lies in a folder of releases" in capsys.readouterr().err
    inside = ("--out", job.parent / "releases", "--runs", job.parent / "releases" / "runs")
    assert hybrid("release", job, *inside, "--work", job.parent / "work") == 2
    assert "lie within each other" in capsys.readouterr().err
    assert snapshot(job.parent / "releases") == before
    assert modes(job.parent / "runs") == {0o600, 0o700}


def test_folders_that_are_made_on_the_way_are_private(hybrid: Run, job: Path) -> None:
    before = os.umask(0)
    try:
        assert hybrid("anonymize", job, "--out", job.parent / "new" / "deep" / "out") == 0
    finally:
        os.umask(before)
    assert modes(job.parent / "new") == {0o600, 0o700}
