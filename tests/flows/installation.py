"""An installation as an operator has it: PostgreSQL, Prefect's server, the deployment of prefect.yaml, a worker."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from hybrid.publication.ledger import Ledger
from hybrid.publication.status import releases_state
from hybrid.publication.verify import verify
from hybrid.store import Store
from tests.flows.clinic_database import write_clinic
from tests.flows.prefect_programs import Prefect
from tests.helpers.postgres_server import Server

STAGE = "synthesize"
"""Where a night is held."""


class Installation:
    """PostgreSQL, Prefect's server, the deployment of prefect.yaml and a worker, for one clinic."""

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
