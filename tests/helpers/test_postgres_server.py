"""No server outlives the tests that it was started for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.helpers.postgres_server import binaries

ROOT = Path(__file__).parents[2]
TESTS = """
import time
from tests.helpers.postgres_server import postgres

def test_that_does_not_end():
    with postgres() as server:
        print(server.port, server.folder, flush=True)
        time.sleep(600)
"""


def test_a_killed_test_run_leaves_no_server_and_no_folder(tmp_path: Path) -> None:
    assert binaries()
    path = tmp_path / "test_endless.py"
    path.write_text(TESTS)
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:xdist", "-p", "no:cacheprovider", path],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        try:
            assert run.stdout is not None
            port, folder = run.stdout.readline().split()
            assert _answers(int(port)) and Path(folder).is_dir()
        finally:
            run.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60
    while Path(folder).exists():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)
    assert not _answers(int(port))


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
