"""A PostgreSQL server for tests: the real one, on loopback, as a user without rights, with a password.

A keeper, this module as a process of its own, stops the server and removes its folder when the tests are done, and
also when they are killed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "canary-password-7431"
_DEBIAN = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class Server:
    """A server and how to reach it."""

    port: int
    folder: Path
    binaries: Path

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://hybrid:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        self.run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", "data", "-m", "immediate", "stop")

    def remove(self) -> None:
        """Stop the server if it runs, and remove its folder."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, program: str, *arguments: str) -> None:
        """As nobody: PostgreSQL refuses to run as root."""
        subprocess.run(
            [str(self.binaries / program), *arguments],
            user="nobody" if os.getuid() == 0 else None,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )


@contextmanager
def postgres() -> Iterator[Server]:
    """A server for the length of the block; the test is skipped where PostgreSQL is not installed."""
    server = Server(free_port(), Path(tempfile.mkdtemp(prefix="hybrid-postgres-")), binaries())
    with _keeper(server):
        password = server.folder / "password"
        password.write_text(PASSWORD)
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for path in (server.folder, password):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        initial = ("-U", "hybrid", "-A", "scram-sha-256", "--pwfile=password", "-N", "-E", "UTF8")
        server.run("initdb", "-D", "data", *initial)
        server.start()
        yield server


@contextmanager
def _keeper(server: Server) -> Iterator[None]:
    """A process that removes a server at the end of the block, or when the process that began the block is gone."""
    keeper = subprocess.Popen(
        [sys.executable, "-m", __name__, str(server.port), str(server.folder), str(server.binaries)],
        stdin=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        # Ctrl-C and the end of a terminal reach the tests, not their keeper.
        start_new_session=True,
    )
    assert keeper.stdin is not None
    try:
        yield
    finally:
        # A byte, and not only the end: children of the tests may hold the pipe, too.
        keeper.stdin.write(b".")
        keeper.stdin.close()
        assert keeper.wait(60) == 0


def binaries() -> Path:
    """Folder of PostgreSQL's programs; the test is skipped where PostgreSQL is not installed."""
    on_path = shutil.which("pg_ctl")
    found = [Path(on_path).resolve()] if on_path else sorted(_DEBIAN.glob("*/bin/pg_ctl"), reverse=True)
    for path in found:
        if (path.parent / "initdb").exists():
            return path.parent
    pytest.skip("PostgreSQL is not installed (apt-get install postgresql, or brew install postgresql)")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.stdin.buffer.read(1)
    Server(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])).remove()
