"""The flows on a temporary Prefect server on loopback."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.helpers.approving import approved
from tests.helpers.whole_demo import write_whole_demo
from tests.pipeline.tables.hospital import POLICY, content, frames, write

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
    path = write_whole_demo(tmp_path / "job", rows=500, seed=5)
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
            found = sorted(await client.read_artifacts(), key=lambda artifact: str(artifact.updated))
            return {str(artifact.key): str(artifact.data) for artifact in found}

    return asyncio.run(read())


def _dump() -> str:
    """Everything in Prefect's database."""
    from prefect.settings import get_current_settings

    url = str(get_current_settings().server.database.connection_url.get_secret_value())
    return "\n".join(sqlite3.connect(url.split("///")[1]).iterdump())


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
    from flows.release import release
    from hybrid.base.errors import HierarchyError

    data = job.parent / "admissions.csv"
    frame = pd.read_csv(data, dtype=str, keep_default_na=False)
    frame.loc[:2, "sex"] = "canary-value"
    frame.to_csv(data, index=False)
    with pytest.raises(HierarchyError):
        release(str(job), publish=True, **_options(job))
    (details,) = Path(_options(job)["work"]).glob("error-*.txt")
    assert "canary-value" in details.read_text() and details.stat().st_mode & 0o777 == 0o600
    dump = _dump()
    assert "canary-value" not in dump
    assert not [name for name in frame["patient_id"] if name in dump]


def test_audit_compare_and_lab(server: None, job: Path, tmp_path: Path) -> None:
    from flows.audit import audit
    from flows.compare import compare
    from flows.lab import lab

    data = job.parent / "admissions.csv"
    report = audit(str(data), str(data), config=str(job), out=str(tmp_path / "audit"))
    assert Path(report).is_file()
    plan = {"version": 1, "base": "config.yaml", "factors": {"anonymize.k": [5, 10]}, "seeds": [1]}
    (job.parent / "plan.yaml").write_text(yaml.safe_dump(plan))
    assert Path(compare(str(job.parent / "plan.yaml"), out=str(tmp_path / "comparison"))).is_file()
    trials = {"data": {"people": {"base": "config.yaml"}}, "risk": {"leaky": {"levels": [0, 1]}}, "seeds": [1]}
    trials |= {"metrics": ["identical_match"], "null_seeds": 0}
    (job.parent / "lab.yaml").write_text(yaml.safe_dump(trials))
    assert Path(lab(str(job.parent / "lab.yaml"), out=str(tmp_path / "lab"))).is_file()
    assert "2 trials done, 0 failed" in _artifacts()["laboratory-summary"]


def test_deployments_name_flows_and_their_parameters() -> None:
    for file in ("prefect.yaml", "deploy/prefect-cluster.yaml"):
        for deployment in yaml.safe_load((REPOSITORY / file).read_text())["deployments"]:
            path, _, name = deployment["entrypoint"].partition(":")
            found = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), name)
            known = inspect.signature(found.fn).parameters
            assert set(deployment["parameters"]) <= set(known)
            required = {key for key, each in known.items() if each.default is each.empty}
            assert required <= set(deployment["parameters"])


@pytest.fixture
def heard(server: None) -> Iterator[list[str]]:
    """What a notification block of the name ``custom-webhook/operators`` sends."""
    from prefect.blocks.notifications import CustomWebhookNotificationBlock

    bodies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None: ...

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{listening.server_port}/"
    block = CustomWebhookNotificationBlock(name="operators", url=url, json_data={"text": "{{subject}} | {{body}}"})
    block.save("operators", overwrite=True)
    yield bodies
    listening.shutdown()
    listening.server_close()


def test_a_night_shows_what_it_does_and_tells_it(job: Path, heard: list[str]) -> None:
    from flows.nightly import nightly

    options = _options(job) | {"notify": "custom-webhook/operators"}
    ended = nightly(str(job), **options, return_state=True)
    release = ended.result()
    assert (ended.name, ended.type.value) == ("Released", "COMPLETED")
    assert (Path(options["releases"]) / "latest").resolve().name == release
    shown = _artifacts()
    assert "PASS" in shown["nightly-test-summary"] and shown["nightly-test-progress"] == "100"
    assert "total_variation" in shown["nightly-test-figures"]
    ended = nightly(str(job), **options, return_state=True)
    assert (ended.name, ended.result()) == ("Kept", release)
    assert "# skip" in _artifacts()["nightly-test-decision"]
    assert ["released" in heard[0], "kept" in heard[1]] == [True, True]


def test_a_night_that_waits_or_is_refused_is_no_failure(
    job: Path, heard: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.nightly import nightly
    from hybrid.pipeline.table_run import TableRun

    def judged_by(**limit: float) -> None:
        policy["rules"] = [rule | limit]
        path.write_text(yaml.safe_dump(policy))

    path = job.parent / "policy.yaml"
    policy = yaml.safe_load(path.read_text())
    (rule,) = policy["rules"]
    del rule["block"]
    options = _options(job) | {"notify": "custom-webhook/operators"}
    judged_by(review=-1.0)
    for night in ("drawn", "not drawn again"):
        ended = nightly(str(job), **options, return_state=True)
        assert (ended.name, ended.type.value, ended.result()) == ("Waiting for approval", "COMPLETED", None), night
        # from here on nothing may be computed
        monkeypatch.setattr(TableRun, "evaluation", property(lambda _: pytest.fail("drawn again")))
    (run,) = Path(options["runs"]).iterdir()
    outcome = _artifacts()["nightly-test-outcome"]
    assert "# Waiting for approval" in outcome and f"hybrid approve {run}" in outcome
    told = [record for record in caplog.records if "0 of 1 approval" in record.getMessage()]
    assert len([record for record in told if record.name.startswith("hybrid")]) == 2  # one line a night
    approved(run, Path(options["work"]), "Eve")
    ended = nightly(str(job), **options, return_state=True)
    assert ended.name == "Released" and list(Path(options["runs"]).iterdir()) == [run]
    monkeypatch.undo()
    judged_by(block=-1.0)
    ended = nightly(str(job), **options, return_state=True)
    assert (ended.name, ended.type.value) == ("Refused", "COMPLETED")
    assert "# Refused" in _artifacts()["nightly-test-outcome"]
    assert [word for text in heard for word in ("waiting", "released", "refused") if f": {word}." in text] == [
        "waiting",
        "waiting",
        "released",
        "refused",
    ]
    assert not [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"]


def test_a_flow_by_hand_ends_with_the_code_of_its_outcome(
    server: None, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from flows.nightly import nightly
    from flows.release import release
    from flows.stages import STATES, script_by_state

    path = job.parent / "policy.yaml"
    policy = yaml.safe_load(path.read_text())
    policy["rules"] = [policy["rules"][0] | {"block": -1.0}]
    path.write_text(yaml.safe_dump(policy))

    def code(flow: Any, config: Path, **options: Any) -> Any:
        with pytest.raises(SystemExit) as ended:
            script_by_state(flow, {STATES["refused"]: 3}, str(config), **options, **_options(job))
        return ended.value.code

    assert code(release, job, publish=True) == 3
    assert "block: copies" in capsys.readouterr().out
    assert code(nightly, job.parent / "none.yaml") == 2
    assert "none.yaml" in capsys.readouterr().err


def test_a_stray_error_reaches_prefect_without_its_text(job: Path, heard: list[str], monkeypatch: Any) -> None:
    from flows.nightly import nightly
    from hybrid.base.errors import HybridError
    from hybrid.pipeline.table_run import TableRun

    def broken(pipeline: TableRun) -> None:
        raise ValueError("canary-stray")

    monkeypatch.setattr(TableRun, "check", broken)
    with pytest.raises(HybridError, match=r"ValueError in "):
        nightly(str(job), **_options(job), notify="custom-webhook/operators")
    assert "canary-stray" not in _dump() and "canary-stray" not in heard[-1]
    with pytest.raises(HybridError, match="no Secret block 'missing'"):
        nightly(str(job), **_options(job), credentials={"CLINIC_URL": "missing"})


def test_a_night_of_linked_tables_shows_every_stage_of_every_table(server: None, tmp_path: Path) -> None:
    from flows.nightly import nightly

    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    settings = content() | {"name": "Ward", "policy": "policy.yaml"}
    settings["evaluate"] |= {"metrics": ["orphans"]}
    options = _options(write(tmp_path / "job", frames(60), settings))
    ended = nightly(str(tmp_path / "job" / "config.yaml"), **options, return_state=True)
    assert ended.name == "Released"
    latest = (Path(options["releases"]) / "latest").resolve()
    assert {path.stem for path in latest.glob("*.csv")} == set(frames(5))
    shown = _artifacts()
    assert "PASS" in shown["ward-summary"] and shown["ward-progress"] == "100"
    assert {"visits", "drugs"} <= {row["table"] for row in yaml.safe_load(shown["ward-figures"])}
    assert "visits: synthesize" in _dump()


@pytest.mark.parametrize(("error", "tries"), [("UnreachableError", 2), ("DataError", 1)])
def test_a_source_that_comes_back_is_waited_for(
    job: Path, heard: list[str], monkeypatch: Any, error: str, tries: int
) -> None:
    import flows.nightly
    import hybrid.base.errors
    from hybrid.pipeline.config import RunConfig

    read = RunConfig.load_table
    asked: list[RunConfig] = []

    def once_away(config: RunConfig) -> Any:
        asked.append(config)
        if len(asked) == 1:
            raise getattr(hybrid.base.errors, error)("away")
        return read(config)

    monkeypatch.setattr(RunConfig, "load_table", once_away)
    monkeypatch.setattr(flows.nightly, "look", flows.nightly.look.with_options(retry_delay_seconds=0))
    options = _options(job) | {"notify": "custom-webhook/operators"}
    if tries == 1:
        with pytest.raises(hybrid.base.errors.DataError, match="away"):
            flows.nightly.nightly(str(job), **options)
    else:
        flows.nightly.nightly(str(job), **options)
    assert len(asked) == tries
    assert ("stopped" if tries == 1 else "released") in heard[-1]


def test_progress_says_what_is_left(server: None) -> None:
    from flows.progress import STEPS, ShownProgress
    from flows.stages import flow

    @flow
    def show(key: str, seconds: dict[str, float], steps: list[tuple[str, int, int | None]]) -> None:
        progress = ShownProgress(key)
        progress.seconds = seconds
        for step, done, total in steps:
            progress._last = 0.0
            progress(step, done, total)

    show("some-progress", {}, [("anonymize", 0, None)])
    assert float(_artifacts()["some-progress"]) == pytest.approx(100 * STEPS.index("anonymize") / len(STEPS))
    seconds = {"read": 20.0, "synthesize": 60.0, "evaluate-original": 10.0, "evaluate-synthetic": 10.0}
    show("other-progress", seconds, [("synthesize", 0, None)])
    assert float(_artifacts()["other-progress"]) == pytest.approx(20, abs=1)
    show("third-progress", seconds, [("synthesize", 0, None), ("fit cart", 1, 2)])
    assert float(_artifacts()["third-progress"]) == pytest.approx(50, abs=1)


@pytest.mark.parametrize(("name_of_it", "file"), [("nightly", "config"), ("laboratory", "plan")])
def test_a_deployment_names_a_flow_that_takes_its_parameters(name_of_it: str, file: str) -> None:
    deployments = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text())["deployments"]
    (deployment,) = (one for one in deployments if one["name"] == name_of_it)
    path, _, name = deployment["entrypoint"].partition(":")
    flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), name)
    flow.validate_parameters(deployment["parameters"])
    assert (REPOSITORY / deployment["parameters"][file]).is_file()
    assert all(schedule["cron"] and schedule["timezone"] for schedule in deployment.get("schedules", []))
