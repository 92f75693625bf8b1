"""A manifest says what was run, with what, how long it took and what came out."""

from __future__ import annotations

import hashlib
import json
import mmap
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hybrid.base import resources
from hybrid.base.manifest import Recorder, StageRecord, build_manifest, git_commit, hash_files
from hybrid.base.options import Options


class SomeConfig(Options):
    k: int = 5
    path: Path = Path("data.csv")


MIB = 2**20


def test_a_manifest_holds_what_the_contract_names(tmp_path: Path) -> None:
    (tmp_path / "synthetic.csv").write_bytes(b"a\n1\n")
    (tmp_path / "manifest.json").write_text("an earlier one")
    (tmp_path / ".synthetic.csv.tmp").write_text("left by a dead process")
    stages = [StageRecord("read", 0.5, 10 * MIB)]
    content = build_manifest(
        name="adult",
        config=SomeConfig(),
        seed=7,
        data_fingerprint="ab",
        folder=tmp_path,
        libraries=("numpy", "no-such-distribution"),
        stages=stages,
    )
    assert content == json.loads(json.dumps(content))
    assert content["config"] == {"k": 5, "path": "data.csv"}
    assert (content["name"], content["seed"], content["data_fingerprint"]) == ("adult", 7, "ab")
    assert content["packages"]["numpy"] == np.__version__ and "no-such-distribution" not in content["packages"]
    assert content["stages"] == [{"name": "read", "seconds": 0.5, "peak_memory_bytes": 10 * MIB}]
    digest = hashlib.sha256(b"a\n1\n").hexdigest()
    assert content["files"] == {"synthetic.csv": {"sha256": digest, "bytes": 4}}
    assert content["created"].endswith("+00:00")


def test_files_in_folders_have_their_path_as_name(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "age.svg").write_text("")
    assert list(hash_files(tmp_path)) == ["figures/age.svg"]


def hold_for_a_moment(size: int) -> None:
    """Memory of the kernel's own, and not what other tests left in the heap."""
    with mmap.mmap(-1, size) as block:
        for page in range(0, size, mmap.PAGESIZE):
            block[page] = 1


def test_seconds_and_peak_of_each_stage_are_its_own() -> None:
    recorder = Recorder()
    with recorder.stage("large"):
        hold_for_a_moment(200 * MIB)
    with recorder.stage("slow"):
        time.sleep(0.05)
    large, slow = recorder.stages
    assert (large.name, slow.name) == ("large", "slow")
    assert 0.05 <= slow.seconds < 5
    assert large.peak_memory_bytes - slow.peak_memory_bytes > 150 * MIB


def test_the_peak_of_an_inner_stage_counts_for_the_outer() -> None:
    recorder = Recorder()
    with recorder.stage("outer"):
        hold_for_a_moment(200 * MIB)
        with recorder.stage("inner"):
            pass
    inner, outer = recorder.stages
    assert outer.peak_memory_bytes - inner.peak_memory_bytes > 150 * MIB


WORKER = """
import subprocess, sys
from hybrid.base.manifest import Recorder
recorder = Recorder()
with recorder.stage("fit"):
    subprocess.run([sys.executable, "-c", "block = b'1' * (300 * 2**20)"], check=True)
print(recorder.stages[0].peak_memory_bytes)
"""


def test_the_memory_of_a_worker_process_counts() -> None:
    """In a process of its own: the kernel only tells the largest worker that ever ended."""
    done = subprocess.run([sys.executable, "-c", WORKER], check=True, capture_output=True, text=True)
    assert int(done.stdout) > 300 * MIB


def test_a_failing_stage_is_recorded() -> None:
    recorder = Recorder()
    with pytest.raises(ZeroDivisionError), recorder.stage("fails"):
        _ = 1 / 0
    assert [stage.name for stage in recorder.stages] == ["fails"]


def test_without_proc_the_peak_since_the_start_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(resources.Path, "read_text", gone)
    monkeypatch.setattr(resources.Path, "write_text", gone)
    recorder = Recorder()
    with recorder.stage("any"):
        pass
    assert recorder.stages[0].peak_memory_bytes > 10 * MIB


def test_a_checkout_has_a_commit(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    assert git_commit(tmp_path) is None
    (tmp_path / "code.py").write_text("1")
    git("add", "code.py")
    git("commit", "-m", "first")
    first = git_commit(tmp_path)
    assert first is not None
    assert len(first["commit"]) == 40
    assert first["changed"] is False
    (tmp_path / "code.py").write_text("2")
    assert git_commit(tmp_path) == {"commit": first["commit"], "changed": True}


def test_no_checkout_and_no_git_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert git_commit(tmp_path) is None
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_commit(tmp_path) is None
