"""Files and folders appear whole; only what dead writers of this program left is removed."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hybrid.base import atomic
from hybrid.base.atomic import PREFIX, atomic_file, atomic_folder, sweep, workplace, write_json, write_text
from hybrid.base.errors import OutputError

WRITER = """
import os, signal, socket, sys
from pathlib import Path
os.getpid = lambda: 1
socket.gethostname = lambda: "container"
from hybrid.base.atomic import atomic_folder
with atomic_folder(Path(sys.argv[1])) as folder:
    (folder / "a").write_text("new")
    print("writing", flush=True)
    sys.stdin.readline()
    (folder / "b").write_text("new")
print("done", flush=True)
"""


def own_pid_namespace() -> list[str]:
    """The prefix of a command that gives it process 1 of a namespace of its own, where the system allows that."""
    prefix = ["unshare", "--pid", "--fork", "--kill-child"]
    if shutil.which("unshare") is None:
        return []
    return prefix if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0 else []


def writer(target: Path, prefix: list[str] | None = None) -> subprocess.Popen[str]:
    command = [*(prefix or []), sys.executable, "-c", WRITER, str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    printed, _ = process.communicate("go on\n", timeout=60)
    assert printed == "done\n"
    assert process.returncode == 0


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def hidden(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.name[0] == "."]


@pytest.mark.parametrize("prefix", [[], own_pid_namespace()], ids=["processes", "containers"])
def test_two_writers_into_one_parent_leave_each_other_alone(tmp_path: Path, prefix: list[str]) -> None:
    """Both take themselves for process 1 of the same host, as two containers that share a volume do."""
    one, other = writer(tmp_path / "one", prefix), writer(tmp_path / "other", prefix)
    sweep(tmp_path)
    finish(one)
    with atomic_folder(tmp_path / "third"):
        pass
    finish(other)
    assert content(tmp_path / "one") == content(tmp_path / "other") == {"a": "new", "b": "new"}
    assert hidden(tmp_path) == []


def test_two_writers_of_one_target_leave_one_of_them_whole(tmp_path: Path) -> None:
    one, other = writer(tmp_path / "same"), writer(tmp_path / "same")
    finish(other)
    finish(one)
    assert content(tmp_path / "same") == {"a": "new", "b": "new"}
    assert hidden(tmp_path) == []


def test_threads_of_one_process_leave_each_other_alone(tmp_path: Path) -> None:
    within, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        with atomic_folder(tmp_path / "slow") as folder:
            (folder / "a").write_text("new")
            within.set()
            go_on.wait(30)

    thread = threading.Thread(target=slow)
    thread.start()
    assert within.wait(30)
    with atomic_folder(tmp_path / "quick") as folder:
        (folder / "a").write_text("new")
    sweep(tmp_path)
    go_on.set()
    thread.join(30)
    assert content(tmp_path / "slow") == content(tmp_path / "quick") == {"a": "new"}


def test_what_a_killed_writer_left_is_removed_and_a_living_one_s_is_not(tmp_path: Path) -> None:
    dead, living = writer(tmp_path / "dead"), writer(tmp_path / "living")
    dead.kill()
    dead.communicate(timeout=30)
    assert len(hidden(tmp_path)) == 2
    sweep(tmp_path)
    assert len(hidden(tmp_path)) == 1
    finish(living)
    assert {path.name for path in tmp_path.iterdir()} == {"living"}


@pytest.mark.parametrize(
    "name", [".precious.tmp-999999", ".precious.old-1", ".tmp-precious", f"{PREFIX}precious", f"{PREFIX}0123-45"]
)
def test_foreign_folders_are_never_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "only copy.csv").write_text("a\n")
    os.utime(tmp_path / name, (0, 0))
    with atomic_folder(tmp_path / "mine"):
        pass
    write_text(tmp_path / "text", "")
    assert content(tmp_path / name) == {"only copy.csv": "a\n"}


@pytest.mark.parametrize("foreign", [False, True])
def test_a_leftover_of_somebody_else_moves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign: bool
) -> None:
    """Who can write to a folder of releases must not get what lies in private ones."""
    private, public = tmp_path / "work", tmp_path / "releases"
    private.mkdir()
    (private / "release.key").write_text("secret")
    left = public / f"{PREFIX}{atomic._boot()}-0123456789abcdef"
    left.mkdir(parents=True)
    (left / atomic.LOCK).touch()
    if foreign:
        (left / "old").mkdir()
        (left / "old" / "planted").mkdir()
        monkeypatch.setattr(os, "getuid", lambda: left.stat().st_uid + 1)
    else:
        (left / "old").symlink_to(private)
    atomic.sweep(public)
    assert (private / "release.key").read_text() == "secret"
    assert [path.name for path in public.iterdir()] == [left.name]


def test_another_host_s_leftover_is_removed_after_a_day(tmp_path: Path) -> None:
    """On a shared folder the locks of another kernel need not be visible."""
    left = tmp_path / f"{PREFIX}00000000-{'0' * 16}"
    left.mkdir()
    (left / "lock").touch()
    sweep(tmp_path)
    assert left.is_dir()
    for path in (left / "lock", left):
        os.utime(path, (time.time() - 90_000,) * 2)
    sweep(tmp_path)
    assert not left.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
import hybrid.base.atomic as atomic
target, step, count, exchange = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True"
if not exchange:
    atomic._exchange = lambda *_: False
calls = 0
def dying(original):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)
    return call
owner = atomic if hasattr(atomic, step) else os
setattr(owner, step, dying(getattr(owner, step)))
with atomic.atomic_folder(target) as folder:
    for name in ("a", "b"):
        (folder / name).write_text("new")
print("survived")
"""
STEPS = [("mkdir", 1), ("mkdir", 2), ("fsync", 1), ("fsync", 2), ("fsync", 4), ("place", 1), ("rename", 1)]
STEPS += [("rename", 2), ("_exchange", 1), ("sync", 4), ("rmdir", 1), ("unlink", 1)]


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize(("step", "count"), STEPS)
def test_a_kill_leaves_the_old_or_the_new_folder_whole(tmp_path: Path, step: str, count: int, exchange: bool) -> None:
    target = tmp_path / "run"
    target.mkdir()
    for name in ("a", "b"):
        (target / name).write_text("old")
    command = [sys.executable, "-c", KILLED, str(target), step, str(count), str(exchange)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    struck = done.returncode == -signal.SIGKILL
    assert struck or (done.stdout == "survived\n" and (step == "rename") == exchange), done.stderr
    if exchange:
        assert content(target) in ({"a": "old", "b": "old"}, {"a": "new", "b": "new"})
    sweep(tmp_path)
    assert content(target) in ({"a": "old", "b": "old"}, {"a": "new", "b": "new"})
    assert hidden(tmp_path) == []


def test_a_failed_replacement_without_exchange_puts_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "run"
    target.mkdir()
    (target / "a").write_text("old")
    original, calls = Path.rename, []

    def second_fails(path: Path, other: Path) -> Path:
        calls.append(other)
        if len(calls) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return original(path, other)

    monkeypatch.setattr(atomic, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(OutputError, match=r"Input/output error.*nothing was changed"), atomic_folder(target) as folder:
        (folder / "a").write_text("new")
    assert content(target) == {"a": "old"}
    assert hidden(tmp_path) == []


def test_an_exception_leaves_everything_as_it_was(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "file") as temporary:
        temporary.write_text("new")
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "file", {"a": float("nan")})
    assert content(tmp_path) == {"file": "old"}


@pytest.mark.parametrize("step", ["mkdir", "stat"])
def test_a_workplace_swept_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    original, seen = getattr(Path, step), []

    def swept(path: Path, *arguments: Any, **options: Any) -> Any:
        result = original(path, *arguments, **options)
        if path.parent == tmp_path and path.name.startswith(PREFIX):
            seen.append(path)
            if len(seen) == 1:
                shutil.rmtree(path)
        return result

    monkeypatch.setattr(Path, step, swept)
    with workplace(tmp_path) as place:
        assert place != seen[0]
        assert hidden(tmp_path) == [place]
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert hidden(tmp_path) == []


@pytest.mark.parametrize(("private", "file", "folder"), [(True, 0o600, 0o700), (False, 0o664, 0o775)])
def test_modes_are_private_or_those_of_the_umask(tmp_path: Path, private: bool, file: int, folder: int) -> None:
    before = os.umask(0o002)
    try:
        write_text(tmp_path / "above" / "text", "", private=private)
        with atomic_folder(tmp_path / "run", private=private) as inside:
            (inside / "figures").mkdir()
            write_text(inside / "figures" / "a", "")
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    folders = {"above", "run", "run/figures"}
    assert modes == {**dict.fromkeys(folders, folder), "above/text": file, "run/figures/a": file}


def test_a_file_that_replaces_another_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    write_text(path, "a", private=True)
    write_text(path, "b")
    assert path.read_text() == "b" and stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    write_text(path, "c")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
