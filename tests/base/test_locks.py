"""One holder at a time, and none after the holder's death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hybrid.base.errors import OutputError
from hybrid.base.locks import locked, locked_if_free

HOLDER = """
import sys, time
from pathlib import Path
from hybrid.base.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def free(path: Path) -> bool:
    with locked_if_free(path) as got:
        return got


def test_a_held_lock_is_not_free(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    assert free(path)
    with locked(path):
        assert not free(path)
    assert free(path)


def test_a_lock_is_let_go_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with pytest.raises(KeyboardInterrupt), locked(path):
        raise KeyboardInterrupt
    assert free(path)


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert not free(path)
    holder.send_signal(signal.SIGKILL)
    holder.communicate(timeout=10)
    assert free(path)


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locked(path):
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
    try:
        assert free(path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_lock_file_removed_while_waiting_is_made_again(tmp_path: Path) -> None:
    """Otherwise the waiter would hold a file that no newcomer sees, and both would work."""
    path = tmp_path / "a.lock"
    seen: list[bool] = []

    def wait() -> None:
        with locked(path):
            seen.append(free(path))

    with locked(path):
        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.2)
        path.unlink()
    waiter.join(timeout=10)
    assert seen == [False]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="lock cannot be created"), locked(tmp_path / "none" / "a.lock"):
        pass
