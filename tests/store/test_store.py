"""A result is computed once, kept whole or not at all, and read from nobody else's folder."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.atomic import PREFIX
from hybrid.base.errors import OutputError
from hybrid.base.hashing import fingerprint
from hybrid.store import Store
from hybrid.store import local as store_module

KEY = fingerprint("inputs")


class Counter:
    """A computation that knows how often it ran."""

    def __init__(self, result: object = "result") -> None:
        self.result = result
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        return self.result


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "work" / "store")


def folder_of(store: Store) -> Path:
    assert store.path is not None
    return store.path / f"fit-{KEY}"


def leftovers(store: Store) -> list[str]:
    assert store.path is not None
    return [path.name for path in store.path.glob(f"{PREFIX}*")]


def test_a_result_is_computed_once(store: Store) -> None:
    table = pd.DataFrame({"a": pd.Categorical(["x", None]), "b": [1.5, np.nan]})
    compute = Counter(table)
    first = store.get_or_compute("fit", KEY, compute)
    again = Store(store.path).get_or_compute("fit", KEY, compute)
    assert compute.calls == 1
    assert first is table
    assert again is not table
    pd.testing.assert_frame_equal(again, table)


def test_none_is_a_result(store: Store) -> None:
    compute = Counter(None)
    assert store.get_or_compute("fit", KEY, compute) is None
    assert store.get_or_compute("fit", KEY, compute) is None
    assert compute.calls == 1


def test_stages_and_keys_are_apart(store: Store) -> None:
    compute = Counter()
    for stage, key in (("fit", KEY), ("fit", fingerprint("other")), ("sample", KEY)):
        store.get_or_compute(stage, key, compute)
    assert compute.calls == 3
    assert [(entry.stage, entry.n_bytes > 0) for entry in store.entries()] == [
        ("fit", True),
        ("fit", True),
        ("sample", True),
    ]


def test_without_a_folder_everything_is_computed() -> None:
    compute = Counter()
    none = Store(None)
    none.get_or_compute("fit", KEY, compute)
    none.get_or_compute("fit", KEY, compute)
    assert compute.calls == 2
    assert none.entries() == []
    assert none.clean(timedelta(0)) == 0


@pytest.mark.parametrize(
    ("stage", "key"), [("../up", KEY), ("fit", "../" + KEY), ("", KEY), (".fit", KEY), ("fit", "k")]
)
def test_names_that_leave_the_store_are_refused(store: Store, stage: str, key: str) -> None:
    with pytest.raises(ValueError, match="plain name"):
        store.get_or_compute(stage, key, Counter())


def test_only_the_owner_can_read(store: Store) -> None:
    old = os.umask(0)
    try:
        store.get_or_compute("fit", KEY, Counter())
    finally:
        os.umask(old)
    assert store.path is not None
    for path in [store.path.parent, store.path, *store.path.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def cut(folder: Path) -> None:
    os.truncate(folder / "result.pickle", 3)


def flip(folder: Path) -> None:
    content = bytearray((folder / "result.pickle").read_bytes())
    content[-2] ^= 1
    (folder / "result.pickle").write_bytes(content)


def lose(folder: Path) -> None:
    (folder / "result.pickle").unlink()


def forget(folder: Path) -> None:
    (folder / "entry.json").write_text('{"stage": ')


@pytest.mark.parametrize("damage", [cut, flip, lose, forget])
def test_a_damaged_entry_is_computed_again(store: Store, damage: Callable[[Path], None]) -> None:
    compute = Counter()
    store.get_or_compute("fit", KEY, compute)
    damage(folder_of(store))
    for _ in range(2):
        assert store.get_or_compute("fit", KEY, compute) == "result"
    assert compute.calls == 2
    assert not leftovers(store)


class Vanishing:
    """Unpickles only while its class is in the module."""


def test_an_entry_of_a_class_that_is_gone_is_computed_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.get_or_compute("fit", KEY, Counter(Vanishing()))
    monkeypatch.delattr(sys.modules[__name__], "Vanishing")
    assert store.get_or_compute("fit", KEY, Counter("new")) == "new"


def test_a_failed_computation_keeps_nothing_and_frees_the_lock(store: Store) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.get_or_compute("fit", KEY, fail)
    assert not folder_of(store).exists()
    assert not leftovers(store)
    assert store.get_or_compute("fit", KEY, Counter()) == "result"


def test_a_store_others_may_write_to_is_not_read(store: Store) -> None:
    store.get_or_compute("fit", KEY, Counter())
    assert store.path is not None
    for path in (store.path, folder_of(store), folder_of(store) / "result.pickle", folder_of(store) / "entry.json"):
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | 0o020)
        with pytest.raises(OutputError, match="others may write"):
            store.get_or_compute("fit", KEY, Counter())
        path.chmod(mode)
    assert store.get_or_compute("fit", KEY, Counter("new")) == "result"


def test_a_store_of_another_user_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.get_or_compute("fit", KEY, Counter())
    owner = os.getuid()
    monkeypatch.setattr(store_module.os, "getuid", lambda: owner + 1)
    for use in (lambda: store.get_or_compute("fit", KEY, Counter()), store.entries, lambda: store.clean(timedelta(0))):
        with pytest.raises(OutputError, match="another user"):
            use()


def test_a_planted_link_is_not_followed(store: Store, tmp_path: Path) -> None:
    store.get_or_compute("fit", KEY, Counter())
    elsewhere = tmp_path / "planted"
    elsewhere.write_bytes(pickle.dumps("planted"))
    (folder_of(store) / "result.pickle").unlink()
    (folder_of(store) / "result.pickle").symlink_to(elsewhere)
    with pytest.raises(OutputError, match="cannot be read"):
        store.get_or_compute("fit", KEY, Counter())


def test_a_place_where_no_folder_can_be_is_refused_before_computing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    compute = Counter()
    with pytest.raises(OutputError, match="store cannot be made"):
        Store(tmp_path / "file" / "store").get_or_compute("fit", KEY, compute)
    assert compute.calls == 0


def test_a_full_disk_costs_the_entry_and_not_the_result(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store_module.pickle, "dump", full)
    assert store.get_or_compute("fit", KEY, Counter()) == "result"
    assert "No space left on device" in caplog.text
    assert not folder_of(store).exists()
    assert not leftovers(store)


def test_a_file_size_limit_is_met_like_a_full_disk(store: Store) -> None:
    """The kernel itself refuses the write here, in the middle of a large result."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        result = store.get_or_compute("fit", KEY, Counter(np.zeros(100_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert result.sum() == 0
    assert not folder_of(store).exists()
    assert not leftovers(store)


CHILD = """
import os, signal, sys, time
from pathlib import Path
from hybrid.store import Store
mode, path, key, log = sys.argv[1:]
def compute():
    with open(log, "a") as stream:
        stream.write("computed\\n")
    if mode == "slow":
        time.sleep(0.5)
    return "result"
if mode == "die":
    Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
print(Store(Path(path)).get_or_compute("fit", key, compute))
"""


def child(mode: str, store: Store, log: Path) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", CHILD, mode, str(store.path), KEY, str(log)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def test_two_processes_compute_once(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    pair = [child("slow", store, log) for _ in range(2)]
    assert [process.communicate(timeout=60)[0].strip() for process in pair] == ["result", "result"]
    assert log.read_text() == "computed\n"


def test_threads_compute_once(store: Store) -> None:
    compute = Counter()

    def slow() -> Any:
        time.sleep(0.1)
        return compute()

    threads = [threading.Thread(target=store.get_or_compute, args=("fit", KEY, slow)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compute.calls == 1


def test_what_a_killed_process_left_is_swept(store: Store, tmp_path: Path) -> None:
    process = child("die", store, tmp_path / "log")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(leftovers(store)) == 1
    assert not folder_of(store).exists()
    assert store.get_or_compute("fit", KEY, Counter("after")) == "after"
    assert not leftovers(store)


def test_clean_removes_what_was_not_used(store: Store) -> None:
    other = fingerprint("other")
    store.get_or_compute("fit", KEY, Counter())
    store.get_or_compute("fit", other, Counter())
    assert store.path is not None
    for key in (KEY, other):
        os.utime(store.path / f"fit-{key}", (0, 0))
    store.get_or_compute("fit", other, Counter())
    (store.path / "notes of the user").mkdir()
    (store.path / f"{PREFIX}01234567-0123456789abcdef").mkdir()
    os.utime(store.path / f"{PREFIX}01234567-0123456789abcdef", (0, 0))
    assert store.clean(timedelta(days=1)) == 1
    assert [entry.key for entry in store.entries()] == [other]
    assert (store.path / "notes of the user").is_dir()
    assert not leftovers(store)
    assert [path.stem for path in (store.path / ".locks").iterdir()] == [f"fit-{other}"]


def test_clean_leaves_what_a_process_works_on(store: Store) -> None:
    def compute() -> str:
        assert Store(store.path).clean(timedelta(0)) == 0
        return "result"

    store.get_or_compute("fit", KEY, compute)
    assert store.clean(timedelta(0)) == 1
    assert store.entries() == []
