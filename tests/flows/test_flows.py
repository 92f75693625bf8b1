"""The flows on a temporary Prefect server on loopback."""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from hybrid.demo import write_demo

pytestmark = pytest.mark.prefect
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    from prefect.testing.utilities import prefect_test_harness

    import flows.stages  # noqa: F401  (Prefect's settings first)

    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = write_demo(tmp_path / "job", rows=500, seed=5)
    content = yaml.safe_load(path.read_text())
    content["evaluate"] |= {"metrics": ["identical_match", "total_variation"], "baseline": False}
    content["name"] = "Nightly_Test"
    content["policy"] = "policy.yaml"
    path.write_text(yaml.safe_dump(content))
    rule = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.5, "reason": "no copies"}
    policy = {"name": "test", "version": "1", "owner": "tests", "rules": [rule]}
    (path.parent / "policy.yaml").write_text(yaml.safe_dump(policy))
    return path


def _options(job: Path) -> dict[str, str]:
    return {name: str(job.parent.parent / name) for name in ("work", "runs", "releases")}


def _artifacts() -> dict[str, str]:
    from prefect.client.orchestration import get_client

    async def read() -> dict[str, str]:
        async with get_client() as client:
            return {str(a.key): str(a.data) for a in await client.read_artifacts()}

    return asyncio.run(read())


def test_a_release_is_published_once_and_shown_in_prefect(server: None, job: Path) -> None:
    from flows.release import release

    first = Path(release(str(job), publish=True, **_options(job)))
    assert (first / "synthetic.csv").is_file()
    shown = _artifacts()
    assert "PASS" in shown["nightly-test-summary"]
    assert "report.html" in shown["nightly-test-report"]
    store = Path(_options(job)["work"]) / "store"
    kept = {path.name: path.stat().st_ctime_ns for path in store.glob("*/result.pickle")}
    # Unchanged data: nothing is computed again, and nothing is published twice.
    assert Path(release(str(job), publish=True, **_options(job))) == first
    assert {path.name: path.stat().st_ctime_ns for path in store.glob("*/result.pickle")} == kept


def test_new_data_under_the_same_path_runs_again(server: None, job: Path) -> None:
    from flows.release import release

    first = release(str(job), publish=True, **_options(job))
    data = job.parent / "admissions.csv"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-20]))
    assert release(str(job), publish=True, **_options(job)) != first


def test_a_refusal_fails_the_flow_and_prefect_learns_no_value(server: None, job: Path) -> None:
    from prefect.settings import get_current_settings

    from flows.release import release
    from hybrid.errors import HierarchyError

    data = job.parent / "admissions.csv"
    frame = pd.read_csv(data, dtype=str, keep_default_na=False)
    frame.loc[:2, "sex"] = "canary-value"
    frame.to_csv(data, index=False)
    with pytest.raises(HierarchyError):
        release(str(job), publish=True, **_options(job))
    (details,) = Path(_options(job)["work"]).glob("error-*.txt")
    assert "canary-value" in details.read_text() and details.stat().st_mode & 0o777 == 0o600
    url = str(get_current_settings().server.database.connection_url.get_secret_value())
    database = sqlite3.connect(url.split("///")[1])
    dump = "\n".join(database.iterdump())
    assert "canary-value" not in dump
    assert not [name for name in frame["patient_id"] if name in dump]


def test_audit_and_compare(server: None, job: Path, tmp_path: Path) -> None:
    from flows.audit import audit
    from flows.compare import compare

    data = job.parent / "admissions.csv"
    report = audit(str(data), str(data), config=str(job), out=str(tmp_path / "audit"))
    assert Path(report).is_file()
    plan = {"version": 1, "base": "config.yaml", "factors": {"anonymize.k": [5, 10]}, "seeds": [1]}
    (job.parent / "plan.yaml").write_text(yaml.safe_dump(plan))
    assert Path(compare(str(job.parent / "plan.yaml"), out=str(tmp_path / "comparison"))).is_file()


def test_the_deployment_names_a_flow_that_takes_its_parameters() -> None:
    (deployment,) = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text())["deployments"]
    path, _, name = deployment["entrypoint"].partition(":")
    flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), name)
    flow.validate_parameters(deployment["parameters"])
    assert (REPOSITORY / deployment["parameters"]["config"]).is_file()
    assert deployment["schedules"][0]["cron"] and deployment["schedules"][0]["timezone"]
