"""Temporary folders are private, and what a killed process leaves is removed by the next one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid.base import scratch

HOLDER = """
import sys, time
from pathlib import Path
from hybrid.base.scratch import scratch
folder = scratch("job")
(Path(folder.name) / "data").write_text("records")
print(folder.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(scratch, "_held", {})
    return tmp_path


def holder() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_of_a_killed_process_is_removed_and_one_in_use_stays(place: Path) -> None:
    (killed, left), (other, used) = holder(), holder()
    try:
        assert left.is_relative_to(place) and left.parent != used.parent
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert (left / "data").exists()
        with scratch.scratch("trial") as mine:
            assert not left.parent.exists()
            assert (used / "data").exists() and Path(mine).is_dir()
            assert stat.S_IMODE(Path(mine).parent.stat().st_mode) == 0o700
        assert not Path(mine).exists()
    finally:
        other.communicate()
        killed.communicate()
    assert not used.parent.exists()
    scratch._end(os.getpid())
    assert list(place.iterdir()) == []


def test_what_others_made_stays(place: Path) -> None:
    (place / "hybrid-process-1").mkdir()
    (place / "hybrid-process-2").symlink_to(place / "hybrid-process-1")
    assert scratch.sweep() == []
    assert (place / "hybrid-process-1").is_dir()


def test_a_folder_that_the_system_removed_is_made_anew(place: Path) -> None:
    first = scratch._folder()
    for path in first.iterdir():
        path.unlink()
    first.rmdir()
    assert scratch._folder().is_dir()
    scratch._end(os.getpid())
