"""Kill what makes a night, in the middle of a stage: flow, worker, server. The next night needs no hand."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hybrid.publication.ledger import Ledger
from hybrid.publication.status import releases_state
from hybrid.publication.verify import verify
from hybrid.store import Store
from tests.flows.clinic_database import add_people, write_clinic
from tests.flows.prefect_programs import Prefect
from tests.helpers.postgres_server import Server, postgres

pytestmark = [pytest.mark.prefect, pytest.mark.slow]
STAGE = "synthesize"
FINISHED = {"anonymize", "sample", "transition"}


class Installation:
    """Server, worker and deployment of one clinic, with one release out."""

    def __init__(self, folder: Path, database: Server, programs: ExitStack) -> None:
        self.folder, self.database, self.programs = folder, database, programs
        self.config = write_clinic(folder / "job", database)
        shutil.copy(Path(__file__).with_name("sitecustomize_held.py"), folder / "sitecustomize.py")
        self.prefect = Prefect(folder)
        self.prefect.environment |= {"PYTHONPATH": str(folder), "HYBRID_TEST_HOLD": str(folder)}
        self.server = self.start_server()
        self.worker = self.start_worker()
        self.prefect.save_secret("clinic-url", database.url)
        self.prefect.deploy()
        self.places = {place: str(folder / place) for place in ("work", "runs", "releases")}
        self.given = {"config": str(self.config), "credentials": {"CLINIC_URL": "clinic-url"}, **self.places}

    def start_server(self) -> subprocess.Popen[bytes]:
        address = ("--host", "127.0.0.1", "--port", str(self.prefect.port))
        program = self.prefect.running("server", "-m", "prefect", "server", "start", *address)
        running = self.programs.enter_context(program)
        self.prefect.until(self.prefect.is_healthy)
        self.prefect.environment["PREFECT_API_URL"] = str(self.prefect.api.base_url).rstrip("/")
        return running

    def start_worker(self) -> subprocess.Popen[bytes]:
        program = ("-m", "prefect", "worker", "start", "--pool", "local", "--type", "process")
        return self.programs.enter_context(self.prefect.running("worker", *program))

    def night(self) -> str:
        return self.prefect.night(**self.given)

    def hold(self) -> int:
        """Begin a night and let it come into the middle of a stage; gives the id of the flow's process."""
        held = self.folder / "held"
        held.unlink(missing_ok=True)
        (self.folder / "hold").write_text(STAGE)
        self.prefect.begin(**self.given)
        self.prefect.until(held.exists)
        return int(held.read_text())

    def let_go(self, process: int) -> None:
        """Let the night go on, if it can, until its process is gone."""
        (self.folder / "hold").unlink()
        self.prefect.until(lambda: not is_running(process))

    def latest(self) -> str:
        return (self.folder / "releases" / "latest").resolve().name

    def released(self) -> list[str]:
        """All that is in the public zone; every release is whole."""
        names = sorted(path.name for path in (self.folder / "releases").iterdir() if not path.is_symlink())
        names.remove(".publish.lock")
        assert [verify(self.folder / "releases" / name) for name in names] == [[]] * len(names)
        return names

    def kept(self) -> set[tuple[str, str, str]]:
        """Stage, fingerprint and time of computing of every result in the store."""
        return {(entry.stage, entry.key, entry.created) for entry in Store(self.folder / "work" / "store").entries()}

    def problems(self) -> list[str]:
        """What ``hybrid status`` says."""
        state = releases_state(self.folder / "releases", self.folder / "work", "clinic", datetime.now(UTC))
        return [problem.message for problem in state.problems]

    def outcomes(self) -> list[str]:
        return [event.outcome for event in Ledger(self.folder / "work").events("clinic")]


def is_running(process: int) -> bool:
    asked = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True)
    return asked.stdout.strip()[:1] not in ("", "Z")


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with postgres() as database, ExitStack() as programs:
        made = Installation(tmp_path_factory.mktemp("installation"), database, programs)
        assert made.night() == "COMPLETED"
        yield made


Strike = Callable[[Installation, int], Callable[[], None]]
"""Kills something; gives what a supervisor such as systemd does about it."""


def kill_flow(_: Installation, process: int) -> Callable[[], None]:
    os.kill(process, signal.SIGKILL)
    return lambda: None


def kill_worker(at: Installation, _: int) -> Callable[[], None]:
    at.worker.kill()
    at.worker.wait()

    def restart() -> None:
        at.worker = at.start_worker()

    return restart


def kill_server(at: Installation, _: int) -> Callable[[], None]:
    at.server.kill()
    at.server.wait()

    def restart() -> None:
        at.server = at.start_server()

    return restart


@pytest.mark.parametrize("strike", [kill_flow, kill_server, kill_worker])
def test_the_next_night_works(strike: Strike, installation: Installation) -> None:
    before, first = installation.released(), installation.latest()
    add_people(installation.database, strike.__name__)
    process = installation.hold()
    finished = installation.kept()
    assert {stage for stage, _, _ in finished} >= FINISHED
    restart = strike(installation, process)
    assert installation.released() == before and installation.latest() == first
    restart()
    installation.let_go(process)
    if strike is kill_server:
        # A night does not need the server: it goes on and publishes.
        assert installation.outcomes()[-1] == "released" and installation.problems() == []
    else:
        assert installation.released() == before and installation.latest() == first
        # The kernel lets go of a lock when the last thread of a killed process is gone.
        installation.prefect.until(lambda: bool(installation.problems()))
        (problem,) = installation.problems()
        assert problem.startswith("clinic: the night that began 20") and problem.endswith("was cut off")
    assert installation.night() == "COMPLETED"
    assert ("interrupted" in installation.outcomes()[-2:]) == (strike is not kill_server)
    assert len(installation.released()) == len(before) + 1 and installation.latest() not in before
    assert finished <= installation.kept(), "a finished stage was computed again"
    assert installation.problems() == []
