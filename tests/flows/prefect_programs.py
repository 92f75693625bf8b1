"""Programs of Prefect on loopback, as an operator starts them, and the server's API."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.helpers.postgres_server import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 300


class Prefect:
    """A server of Prefect in a folder of its own, and the programs that talk to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.api = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api", timeout=30)
        self.environment = {
            **os.environ,
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_LOGGING_LEVEL": "INFO",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "HYBRID_LOG_FORMAT": "json",
        }
        self.environment.pop("PREFECT_API_URL", None)

    @contextmanager
    def program(self, name: str, *arguments: str) -> Iterator[None]:
        """A program of Prefect until the end of the block."""
        with self.running(name, "-m", "prefect", *arguments):
            yield

    @contextmanager
    def running(self, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A Python program until the end of the block."""
        log = self.folder / f"{name}.log"
        with log.open("ab") as stream:
            running = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=REPOSITORY,
                env=self.environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
            try:
                yield running
            finally:
                running.send_signal(signal.SIGINT)
                try:
                    running.wait(20)
                except subprocess.TimeoutExpired:
                    running.kill()
                    running.wait()

    @contextmanager
    def server(self) -> Iterator[None]:
        with self.program("server", "server", "start", "--host", "127.0.0.1", "--port", str(self.port)):
            self.until(self.is_healthy)
            self.environment["PREFECT_API_URL"] = str(self.api.base_url).rstrip("/")
            yield

    def call(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=REPOSITORY, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def save_secret(self, name: str, value: str) -> None:
        self.call("-c", f"from prefect.blocks.system import Secret; Secret(value={value!r}).save({name!r})")

    def deploy(self) -> None:
        """What prefect.yaml names, once a worker has made the work pool."""
        self.until(self.has_work_pool)
        self.call("-m", "prefect", "--no-prompt", "deploy", "--all")

    def night(self, deployment_name: str = "nightly", **parameters: Any) -> str:
        """Run a deployment of the nightly flow; gives the state it ends in."""
        return self.end(self.begin(deployment_name, **parameters))

    def begin(self, deployment_name: str = "nightly", **parameters: Any) -> str:
        """Ask for a run of a deployment of the nightly flow; gives its id."""
        deployment = self.ask("GET", f"/deployments/name/nightly/{deployment_name}")
        asked = {"parameters": parameters, "state": {"type": "SCHEDULED"}, "idempotency_key": uuid.uuid4().hex}
        return str(self.ask("POST", f"/deployments/{deployment['id']}/create_flow_run", json=asked)["id"])

    def end(self, run: str) -> str:
        """The state that a run ends in."""
        self.until(lambda: self.state(run) in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"))
        return self.state(run)

    def state(self, run: str) -> str:
        return str(self.ask("GET", f"/flow_runs/{run}")["state_type"])

    def artifacts(self) -> dict[str, str]:
        found = self.ask("POST", "/artifacts/latest/filter", json={})
        return {artifact["key"]: str(artifact["data"]) for artifact in found}

    def ask(self, method: str, path: str, **content: Any) -> Any:
        """What the server answers; asked again while it is too busy, as Prefect's own client does.

        Everything asked here may be asked twice: a run of a deployment bears a key of its own.
        """
        answers: list[httpx.Response] = []

        def has_answered() -> bool:
            try:
                answers.append(self.api.request(method, path, **content))
            except httpx.TransportError:
                return False
            return answers[-1].status_code != httpx.codes.SERVICE_UNAVAILABLE

        self.until(has_answered)
        return answers[-1].raise_for_status().json()

    def until(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not true():
            assert time.monotonic() < end, "it took too long"
            time.sleep(0.3)

    def is_healthy(self) -> bool:
        return self.answers("/health", lambda answer: answer.text == "true")

    def has_work_pool(self) -> bool:
        return self.answers("/work_pools/local", lambda answer: answer.status_code == httpx.codes.OK)

    def answers(self, path: str, wanted: Callable[[httpx.Response], bool]) -> bool:
        """Whether the server gives the wanted answer now."""
        try:
            return wanted(self.api.get(path))
        except httpx.TransportError:
            return False
