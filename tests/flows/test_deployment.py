"""Nights of one installation: released, kept, grown; flow, worker and server killed; a column that changed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from hybrid.publication.verify import verify
from tests.flows.clinic_database import add_people
from tests.flows.installation import Installation
from tests.helpers.postgres_server import PASSWORD, postgres

pytestmark = [pytest.mark.prefect, pytest.mark.slow]
FINISHED = {"anonymize", "sample", "transition"}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """With one release out."""
    with postgres() as database, ExitStack() as programs:
        made = Installation(tmp_path_factory.mktemp("installation"), database, programs)
        assert made.night() == "COMPLETED"
        yield made


def source_of(at: Installation) -> pd.DataFrame:
    return pd.read_sql("select * from admissions", sa.create_engine(at.database.url, poolclass=sa.NullPool)).astype(str)


def test_three_nights(installation: Installation) -> None:
    prefect, releases = installation.prefect, installation.folder / "releases"
    deployment = prefect.ask("GET", "/deployments/name/nightly/nightly")
    assert deployment["schedules"][0]["schedule"]["timezone"] == "Europe/Berlin"
    assert deployment["global_concurrency_limit"]["limit"] == 1
    first = (releases / "latest").resolve()
    assert verify(first) == []
    shown = prefect.artifacts()
    assert "there is no release" in shown["clinic-decision"]
    assert "PASS" in shown["clinic-summary"]
    assert "identical_match" in shown["clinic-figures"]
    assert shown["clinic-progress"] == "100"
    assert "report.html" in shown["clinic-report"]

    assert installation.night() == "COMPLETED"
    assert (releases / "latest").resolve() == first
    assert "skip" in prefect.artifacts()["clinic-decision"]

    add_people(installation.database, "G")
    assert installation.night() == "COMPLETED"
    second = (releases / "latest").resolve()
    assert second != first and verify(second) == []
    assert "+1.0%" in prefect.artifacts()["clinic-decision"]
    assert (installation.config.parent / "elsewhere" / "latest").read_text().strip() == second.name


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


def struck(at: Installation, strike: Strike) -> set[tuple[str, str, str]]:
    """Kill something in the middle of a night, and let it go on if it can; gives what it had finished by then."""
    before, first = at.released(), at.latest()
    process = at.hold()
    finished = at.kept()
    assert {stage for stage, _, _ in finished} >= FINISHED
    restart = strike(at, process)
    assert at.released() == before and at.latest() == first
    restart()
    at.let_go(process)
    return finished


def cut_off(at: Installation) -> bool:
    """Whether the last night published nothing, and status says that it was cut off."""
    # The kernel lets go of a lock when the last thread of a killed process is gone.
    at.prefect.until(lambda: bool(at.problems()))
    (problem,) = at.problems()
    return problem.startswith("clinic: the night that began 20") and problem.endswith("was cut off")


def test_the_next_night_works_whatever_was_killed(installation: Installation) -> None:
    """The night after a killed flow is the one in which the server is killed, the night after that loses its worker."""
    at, before, first = installation, installation.released(), installation.latest()
    add_people(at.database, "F")
    finished = struck(at, kill_flow)
    assert cut_off(at) and at.released() == before and at.latest() == first

    again = struck(at, kill_server)
    # A night does not need the server: it goes on and publishes.
    assert at.outcomes()[-2:] == ["interrupted", "released"] and at.problems() == []
    assert len(at.released()) == len(before) + 1 and at.latest() not in before
    assert finished <= again <= at.kept(), "a finished stage was computed again"

    before, first = at.released(), at.latest()
    add_people(at.database, "W")
    finished = struck(at, kill_worker)
    assert cut_off(at) and at.released() == before and at.latest() == first

    assert at.night() == "COMPLETED"
    assert "interrupted" in at.outcomes()[-2:] and at.problems() == []
    assert len(at.released()) == len(before) + 1 and at.latest() not in before
    assert finished <= at.kept(), "a finished stage was computed again"


def test_a_column_that_changed_stops_the_night_and_nothing_public_names_a_person(installation: Installation) -> None:
    source, latest = source_of(installation), installation.latest()
    engine = sa.create_engine(installation.database.url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("alter table admissions alter column bmi type text using 'canary-bmi'"))
    assert installation.night() == "FAILED"
    assert installation.latest() == latest
    released = pd.read_sql("select * from released", engine).astype(str)
    assert list(released.columns) == list(source.columns)
    assert len(released) == len(pd.read_parquet(installation.folder / "releases" / latest / "synthetic.parquet"))
    work = installation.folder / "work"
    assert "canary-bmi" in "".join(path.read_text() for path in work.glob("error-*.txt"))
    _scan(installation.folder, source, released)


def _scan(folder: Path, source: pd.DataFrame, released: pd.DataFrame) -> None:
    """No identifier, credential, uncovered value or record outside the private zone."""
    private = (folder / "work", folder / "job")
    files = [path for path in folder.rglob("*") if path.is_file() and not any(root in path.parents for root in private)]
    files += [path for path in (folder / "job" / "elsewhere").rglob("*") if path.is_file()]
    assert {"prefect.db", "worker.log", "server.log", "report.html", "certificate.json"} <= {
        path.name for path in files
    }
    identifiers = [name.encode() for name in source["patient_id"]]
    for path in files:
        content = path.read_bytes()
        for secret in (PASSWORD.encode(), b"canary-bmi"):
            assert secret not in content, path
        assert not [name for name in identifiers if name in content], path
        if path.suffix in (".db", ".log", ".db-wal"):
            assert not [cost for cost in source["cost"] if len(cost) > 6 and cost.encode() in content], path
    assert not set(released["patient_id"]) & set(source["patient_id"])
