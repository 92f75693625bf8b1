"""A PostgreSQL server for tests: the real one, on loopback, as a user without rights, with a password."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
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
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql, or brew install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="hybrid-postgres-"))
    server = Server(_free_port(), folder, binaries)
    try:
        (folder / "password").write_text(PASSWORD)
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for path in (folder, folder / "password"):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        initial = ("-U", "hybrid", "-A", "scram-sha-256", "--pwfile=password", "-N", "-E", "UTF8")
        server.run("initdb", "-D", "data", *initial)
        server.start()
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _binaries() -> Path | None:
    on_path = shutil.which("pg_ctl")
    found = [Path(on_path).resolve()] if on_path else sorted(_DEBIAN.glob("*/bin/pg_ctl"), reverse=True)
    return next((path.parent for path in found if (path.parent / "initdb").exists()), None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
