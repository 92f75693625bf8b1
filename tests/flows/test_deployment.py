"""Three nights as an operator has them: PostgreSQL, Prefect's server, the deployment of prefect.yaml, a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from hybrid.publication.verify import verify
from tests.flows.clinic_database import add_people, write_clinic
from tests.flows.prefect_programs import Prefect
from tests.helpers.postgres_server import PASSWORD, Server, postgres

pytestmark = [pytest.mark.prefect, pytest.mark.slow]


@pytest.fixture
def database() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.fixture
def clinic(database: Server, tmp_path: Path) -> Path:
    return write_clinic(tmp_path / "job", database)


def test_three_nights(clinic: Path, database: Server, tmp_path: Path) -> None:
    engine = sa.create_engine(database.url, poolclass=sa.NullPool)
    source = pd.read_sql("select * from admissions", engine).astype(str)
    prefect = Prefect(tmp_path)
    places = {place: str(tmp_path / place) for place in ("work", "runs", "releases")}
    latest = tmp_path / "releases" / "latest"
    with prefect.server():
        prefect.save_secret("clinic-url", database.url)
        given = {"config": str(clinic), "credentials": {"CLINIC_URL": "clinic-url"}, **places}
        with prefect.program("worker", "worker", "start", "--pool", "local", "--type", "process"):
            prefect.deploy()
            deployment = prefect.ask("GET", "/deployments/name/nightly/nightly")
            assert deployment["schedules"][0]["schedule"]["timezone"] == "Europe/Berlin"
            assert deployment["global_concurrency_limit"]["limit"] == 1
            assert prefect.night(**given) == "COMPLETED"
            first = latest.resolve()
            assert verify(first) == []
            assert "there is no release" in prefect.artifacts()["clinic-decision"]
            assert "PASS" in prefect.artifacts()["clinic-summary"]
            assert "identical_match" in prefect.artifacts()["clinic-figures"]
            assert prefect.artifacts()["clinic-progress"] == "100"
            assert "report.html" in prefect.artifacts()["clinic-report"]

            assert prefect.night(**given) == "COMPLETED"
            assert latest.resolve() == first
            assert "skip" in prefect.artifacts()["clinic-decision"]

            add_people(database, "G")
            assert prefect.night(**given) == "COMPLETED"
            second = latest.resolve()
            assert second != first and verify(second) == []
            assert "+1.0%" in prefect.artifacts()["clinic-decision"]
            assert (clinic.parent / "elsewhere" / "latest").read_text().strip() == second.name

            with engine.begin() as connection:
                connection.execute(sa.text("alter table admissions alter column bmi type text using 'canary-bmi'"))
            assert prefect.night(**given) == "FAILED"
            assert latest.resolve() == second
    released = pd.read_sql("select * from released", engine).astype(str)
    assert list(released.columns) == list(source.columns)
    assert len(released) == len(pd.read_parquet(second / "synthetic.parquet"))
    assert "canary-bmi" in "".join(path.read_text() for path in (tmp_path / "work").glob("error-*.txt"))
    _scan(tmp_path, source, released)


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
