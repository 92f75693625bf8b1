"""Nights without an orchestrator: what is decided, what is out afterwards, who is told."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
import yaml

from hybrid.base import atomic
from hybrid.base.errors import ConfigError, DataError, DriftError, HybridError, OutputError, VerificationError
from hybrid.base.language import catalogue
from hybrid.jobs.nightly import Night, NightDecision
from hybrid.jobs.places import Places
from hybrid.jobs.release import Candidate
from hybrid.operations.notify import Notice
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.ledger import LEDGER, Ledger
from hybrid.publication.status import releases_state
from hybrid.publication.verify import verify
from hybrid.publication.withdraw import withdraw
from tests.helpers.approving import approved
from tests.helpers.whole_demo import write_whole_demo

RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.5, "reason": "no copies"}
REVIEWED = {key: value for key, value in RULE.items() if key != "block"} | {"review": -1.0}
"""The same, which every run has to be approved by."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_whole_demo(tmp_path_factory.mktemp("demo"), rows=500, seed=5)


class Clinic:
    """A data set on disk whose nights are run one after the other."""

    def decide(self) -> NightDecision:
        """The decision alone, nothing computed."""
        night = Night(Pipeline(load_config(self.config), store=self.places.store), self.places)
        with night.watched():
            return night.decide()

    def __init__(self, folder: Path, demo: Path) -> None:
        self.config = folder / "config.yaml"
        self.content: dict[str, Any] = yaml.safe_load(demo.read_text())
        for column in self.content["data"]["columns"].values():
            if "hierarchy" in column:
                column["hierarchy"] = str(demo.parent / column["hierarchy"])
        self.content["evaluate"] |= {"metrics": ["identical_match"], "baseline": False}
        self.content |= {"name": "clinic", "policy": "policy.yaml"}
        self.policy: dict[str, Any] = {"name": "test", "version": "1", "owner": "tests", "rules": [RULE]}
        self.frame = pd.read_csv(demo.parent / "admissions.csv", dtype=str, keep_default_na=False)
        self.places = Places(folder / "work", folder / "runs", folder / "releases")
        self.notices: list[Notice] = []
        self.decision: NightDecision | None = None

    def night(self, **options: Any) -> str:
        """The outcome."""
        self.write()
        pipeline = Pipeline(load_config(self.config), store=self.places.store)
        night = Night(pipeline, self.places, self.notices.append)
        with night.watched():
            self.decision = night.decide(**options)
            return night.close(self.decision).outcome

    def seconds_before(self) -> set[str]:
        """Stages whose seconds the latest release tells."""
        return set(Night(Pipeline(load_config(self.config), store=self.places.store), self.places).seconds_before())

    def write(self) -> None:
        self.frame.to_csv(self.config.parent / "admissions.csv", index=False)
        (self.config.parent / "policy.yaml").write_text(yaml.safe_dump(self.policy))
        self.config.write_text(yaml.safe_dump(self.content))

    @property
    def latest(self) -> str | None:
        link = self.places.releases / "latest"
        if not link.exists():
            return None
        assert verify(link) == []
        return link.resolve().name

    @property
    def releases(self) -> list[str]:
        return sorted(path.name for path in self.places.releases.glob("2*"))


@pytest.fixture
def clinic(tmp_path: Path, demo: Path) -> Clinic:
    return Clinic(tmp_path, demo)


def grown(frame: pd.DataFrame, share: float) -> pd.DataFrame:
    new = frame.sample(round(share * len(frame)), random_state=1).copy()
    new["patient_id"] = [f"N{i}" for i in range(len(new))]
    return pd.concat([frame, new])


def test_unchanged_grown_and_drifted(clinic: Clinic) -> None:
    clinic.write()
    assert clinic.seconds_before() == set()
    assert clinic.night() == "released"
    assert {"protect", "anonymize", "synthesize"} <= clinic.seconds_before()
    first = clinic.latest
    assert clinic.night() == "kept"
    assert clinic.decision is not None and clinic.decision.action == "skip"
    assert clinic.latest == first and len(clinic.releases) == 1
    assert len(list(clinic.places.runs.iterdir())) == 1  # nothing was walked
    clinic.frame = grown(clinic.frame, 0.01)
    assert clinic.night() == "released"
    assert clinic.decision.action == "refit" and "+1.0%" in clinic.decision.reason
    second = clinic.latest
    assert second != first and len(clinic.releases) == 2
    clinic.frame["bmi"] = "90.5"
    with pytest.raises(DriftError, match="column 'bmi'"):
        clinic.night()
    assert clinic.latest == second and len(clinic.releases) == 2
    assert [notice.outcome for notice in clinic.notices] == ["released", "kept", "released", "stopped"]
    events = [event.outcome for event in Ledger(clinic.places.work).events("clinic")]
    assert events == ["released", "kept", "released", "stopped"]
    assert clinic.night(accept_drift=True) == "released"
    assert clinic.latest not in (first, second)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop(columns="ward"), "'ward'"),
        (lambda frame: frame.assign(extra="x"), "columns that the config does not name: extra"),
        (lambda frame: frame.iloc[:0], "no rows"),
        (lambda frame: frame.iloc[:200], "200 rows, 500 at the last release: -60.0%"),
        (lambda frame: frame.assign(length_of_stay="long"), "length_of_stay"),
    ],
)
def test_what_stops_a_night_before_any_training(clinic: Clinic, change: Any, said: str) -> None:
    clinic.content["data"]["unlisted"] = "error"
    clinic.night()
    first = clinic.latest
    store = sorted(path.name for path in (clinic.places.work / "store").iterdir())
    clinic.frame = change(clinic.frame)
    with pytest.raises(DataError) as caught:
        clinic.night()
    assert said in str(caught.value)
    assert clinic.latest == first
    assert clinic.notices[-1].outcome == "stopped"
    assert sorted(path.name for path in (clinic.places.work / "store").iterdir()) == store


def test_the_source_is_gone(clinic: Clinic) -> None:
    clinic.content["data"]["path"] = "s3://clinic/admissions.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        with pytest.raises(DataError, match="cannot be reached"):
            clinic.night()
    assert clinic.notices[-1].outcome == "stopped" and clinic.latest is None


def test_reuse_by_rule(clinic: Clinic) -> None:
    clinic.content["nightly"] = {"reuse": {"psi": 0.05, "days": 7}}
    clinic.night()
    first = clinic.latest
    clinic.frame = grown(clinic.frame, 0.02)
    assert clinic.night() == "kept"
    assert clinic.decision is not None and clinic.decision.action == "reuse"
    said = catalogue("de").say(clinic.notices[-1].words)
    assert said.startswith("clinic: behalten; beibehalten: die Daten haben sich wenig geändert; ")
    assert clinic.latest == first
    clinic.content["nightly"] = {"reuse": {"psi": 0.05, "days": 1e-6}}
    assert clinic.night() == "released"
    assert clinic.decision.action == "refit" and "older than" in clinic.decision.reason


def test_another_method_or_policy_is_never_reused(clinic: Clinic) -> None:
    clinic.content["nightly"] = {"reuse": {"psi": 10}, "drift": {"warn": 10, "stop": 10}}
    clinic.night()
    clinic.content["anonymize"]["k"] = 6
    assert clinic.night() == "released"
    assert clinic.decision is not None and "method or the policy changed" in clinic.decision.reason
    clinic.policy["rules"] = [RULE | {"block": -1.0}]
    assert clinic.night() == "refused"


def test_a_review_waits_and_its_approval_becomes_what_later_nights_compare_with(clinic: Clinic) -> None:
    from hybrid.publication.publish import publish

    clinic.policy["rules"] = [REVIEWED]
    assert clinic.night() == "waiting" and clinic.latest is None
    (run,) = clinic.places.runs.iterdir()
    publish(run, clinic.places.releases, clinic.places.work, accept_review=True, by="Eve", reason="looked at it")
    assert clinic.night() == "kept"
    assert clinic.decision is not None and clinic.decision.action == "skip"
    clinic.frame["bmi"] = "90.5"
    with pytest.raises(DriftError):
        clinic.night()


def test_a_damaged_release_is_not_kept(clinic: Clinic) -> None:
    clinic.night()
    damaged = clinic.latest
    assert damaged is not None
    table = clinic.places.releases / damaged / "synthetic.csv"
    table.chmod(0o644)
    table.write_text("")
    assert clinic.night() == "released"
    assert clinic.latest != damaged


def test_two_data_sets_in_one_folder_of_releases(clinic: Clinic, tmp_path: Path) -> None:
    clinic.night()
    first = clinic.latest
    clinic.content["name"] = "ward"
    assert clinic.night() == "released"
    assert clinic.latest != first
    for name in ("clinic", "ward"):
        clinic.content["name"] = name
        assert clinic.night() == "kept"
        assert clinic.decision is not None and clinic.decision.action == "skip"


def test_the_newest_release_is_the_last_one_whatever_the_clock_said(clinic: Clinic) -> None:
    clinic.night()
    clinic.frame = grown(clinic.frame, 0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybrid.publication.publish.datetime", Earlier)
        assert clinic.night() == "released"
    second = clinic.latest
    assert clinic.night() == "kept"
    assert clinic.notices[-1].release == second


def test_a_night_that_was_cut_off_is_told(clinic: Clinic) -> None:
    clinic.night()
    first = clinic.latest
    clinic.frame = grown(clinic.frame, 0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableRun, "check", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            clinic.night()
    (problem,) = problems(clinic)
    assert problem.startswith("clinic: the night that began 20") and problem.endswith("was cut off")
    assert problems(clinic, "ward") == []
    assert clinic.latest == first
    assert clinic.night() == "released"
    assert [notice.outcome for notice in clinic.notices] == ["released", "interrupted", "released"]
    assert problems(clinic) == []


def test_a_night_that_goes_on_or_failed_is_not_cut_off(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic.night()
    seen: list[list[str]] = []

    def look_and_fail(_: TableRun) -> None:
        seen.append(problems(clinic))
        raise DataError("the source is broken")

    monkeypatch.setattr(TableRun, "check", look_and_fail)
    with pytest.raises(DataError):
        clinic.night()
    assert seen == [[]]
    assert problems(clinic) == ["clinic: the last night: stopped: the source is broken"]


def problems(clinic: Clinic, name: str = "clinic") -> list[str]:
    state = releases_state(clinic.places.releases, clinic.places.work, name, datetime.now(UTC))
    return [problem.message for problem in state.problems]


def _interrupt(_: TableRun) -> None:
    raise KeyboardInterrupt


class Earlier(datetime):
    """A clock that was set back."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime.now(tz) - timedelta(days=3)


def test_delivery_to_a_folder_is_caught_up(clinic: Clinic, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("a file is in the way")
    clinic.content["nightly"] = {"deliver": {"folder": "elsewhere"}}
    with pytest.raises(OutputError, match="is published and not delivered"):
        clinic.night()
    assert clinic.latest is not None and clinic.notices[-1].outcome == "failed"
    target.unlink()
    assert clinic.night() == "kept"
    assert (target / "latest").read_text().strip() == clinic.latest
    assert verify(target / clinic.latest) == []


AFTER = ("source", "deliver", "clean", "forget", "stray")


@pytest.mark.parametrize("fault", AFTER)
def test_what_fails_after_publication_says_that_the_release_is_out(
    clinic: Clinic, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcome, notice, ledger and status; a source that is gone is no reason to say that nothing happened."""
    database = clinic.config.parent / "clinic.sqlite"
    monkeypatch.setenv("CLINIC_URL", f"sqlite:///{database}")
    clinic.frame.to_sql("admissions", sa.create_engine(f"sqlite:///{database}", poolclass=sa.NullPool), index=False)
    clinic.content["data"] = {name: of for name, of in clinic.content["data"].items() if name in ("columns", "person")}
    clinic.content["data"]["sql"] = {"url_env": "CLINIC_URL", "table": "admissions"}
    clinic.content["nightly"] = {"deliver": {"sql": {"url_env": "CLINIC_URL", "table": "synthetic"}}}
    publish = Candidate.publish

    def then_lost(candidate: Candidate) -> Path:
        found = publish(candidate)
        database.write_bytes(b"no database any more" * 100)
        if fault == "source":
            database.unlink()
        return found

    def broken(*_: object, **__: object) -> None:
        raise ValueError("canary-value") if fault == "stray" else ConfigError("something is wrong", hint="mend it")

    if fault in ("source", "deliver"):
        monkeypatch.setattr(Candidate, "publish", then_lost)
    else:
        monkeypatch.setattr("hybrid.operations.deliver.Deliveries.deliver", lambda *_: [])
        place = {"clean": "hybrid.store.local.Store.clean", "forget": "hybrid.jobs.nightly.forget_held_run"}
        monkeypatch.setattr(place.get(fault, "hybrid.store.local.Store.clean"), broken)
    with pytest.raises(ValueError if fault == "stray" else OutputError) as caught:
        clinic.night()
    monkeypatch.undo()
    assert clinic.latest is not None
    said = f"release {clinic.latest} is published"
    if isinstance(caught.value, OutputError):
        assert caught.value.exit_code == 1 and said in str(caught.value)
    notice, event = clinic.notices[-1], Ledger(clinic.places.work).events("clinic")[-1]
    assert (notice.outcome, event.outcome, notice.release) == ("failed", "failed", clinic.latest)
    assert said in notice.message and said in event.message and "canary" not in notice.message
    state = releases_state(clinic.places.releases, clinic.places.work, "clinic", datetime.now(UTC))
    assert [problem.message for problem in state.problems] == [f"clinic: the last night: failed: {notice.message}"]
    assert "nothing was" not in state.problems[0].hint


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    heard: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("TEST_HOOK", f"http://127.0.0.1:{server.server_port}/token-canary")
    yield heard
    server.shutdown()
    server.server_close()


def test_the_webhook_hears_and_its_absence_stops_nothing(
    clinic: Clinic, hook: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clinic.content["nightly"] = {"webhook_env": "TEST_HOOK"}
    clinic.night()
    assert hook == [
        {
            "data_set": "clinic",
            "outcome": "released",
            "message": hook[0]["message"],
            "release": clinic.latest,
            "run": None,
            "found": [],
        }
    ]
    for url in ("http://127.0.0.1:9/token-canary", "file:///etc/passwd", ""):
        monkeypatch.setenv("TEST_HOOK", url)
        assert clinic.night() == "kept"
    assert "was not reached" in caplog.text and "token-canary" not in caplog.text


def test_a_stray_error_is_told_by_its_type_alone(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(pipeline: TableRun) -> None:
        raise ValueError("canary-value")

    monkeypatch.setattr(TableRun, "check", broken)
    with pytest.raises(ValueError, match="canary"):
        clinic.night()
    assert clinic.notices[-1].message == "ValueError"


def test_two_nights_at_once_publish_once(clinic: Clinic) -> None:
    errors: list[HybridError] = []

    def one() -> None:
        try:
            pipeline = Pipeline(load_config(clinic.config), store=clinic.places.store)
            clinic.notices.append(Night(pipeline, clinic.places).run())
        except HybridError as error:
            errors.append(error)

    clinic.night()
    clinic.frame = grown(clinic.frame, 0.01)
    clinic.frame.to_csv(clinic.config.parent / "admissions.csv", index=False)
    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(notice.outcome for notice in clinic.notices[1:]) == ["kept", "released"]
    assert len(clinic.releases) == 2


def draws(clinic: Clinic) -> list[int]:
    with closing(sqlite3.connect(clinic.places.work / LEDGER)) as database:
        return [number for (number,) in database.execute("SELECT number FROM draws ORDER BY number")]


def test_a_refused_night_draws_nothing_new_before_data_method_or_policy_change(clinic: Clinic) -> None:
    del clinic.content["seed"]  # every draw would be another one
    clinic.policy["rules"] = [RULE | {"block": -1}]
    assert clinic.night() == "refused"
    run = clinic.notices[-1].run
    assert run is not None and [problem for problem in problems(clinic) if "the last night: refused" in problem]
    shutil.rmtree(clinic.places.runs)  # removing the run does not bring another draw
    assert clinic.night() == "refused"
    assert clinic.decision is not None and clinic.decision.action == "refuse" and not clinic.decision.needs_stages
    assert run in clinic.notices[-1].message and "blocked by copies" in clinic.notices[-1].message
    assert draws(clinic) == [1] and not clinic.places.runs.exists()
    clinic.policy["rules"] = [RULE]
    assert clinic.night() == "released"


def test_a_waiting_night_is_not_drawn_again_and_goes_on_once_approved(clinic: Clinic) -> None:
    del clinic.content["seed"]
    clinic.content["nightly"] = {"deliver": {"folder": "elsewhere"}}
    clinic.policy |= {"rules": [REVIEWED], "approvals": 2}
    assert [clinic.night(), clinic.night()] == ["waiting", "waiting"]
    (run,) = clinic.places.runs.iterdir()
    assert draws(clinic) == [1] and clinic.notices[-1].run == run.name
    assert clinic.decision is not None and clinic.decision.action == "resume" and not clinic.decision.needs_stages
    assert (clinic.places.work / ".night-clinic.held").stat().st_mode & 0o777 == 0o600
    (waits,) = releases_state(clinic.places.releases, clinic.places.work, None, datetime.now(UTC)).waiting
    assert "0 of 2 approvals" in waits.message and f"hybrid approve {run}" in waits.hint
    ledger = Ledger(clinic.places.work)
    approved(run, clinic.places.work, "Ada", "Eve")
    assert clinic.night() == "released"
    assert clinic.latest is not None and list(clinic.places.runs.iterdir()) == [run]
    published = clinic.places.releases / clinic.latest
    assert (published / "synthetic.csv").read_bytes() == (run / "synthetic.csv").read_bytes()
    assert [entry.by for entry in ledger.entries()[-1].acceptances] == ["Ada", "Eve"]
    assert verify(clinic.config.parent / "elsewhere" / clinic.latest) == []
    assert releases_state(clinic.places.releases, clinic.places.work, None, datetime.now(UTC)).waiting == ()
    assert clinic.night() == "kept" and draws(clinic) == [1]


def test_new_data_is_drawn_although_a_run_waits(clinic: Clinic) -> None:
    clinic.policy["rules"] = [REVIEWED]
    assert clinic.night() == "waiting"
    grown(clinic.frame, 0.02).to_csv(clinic.config.parent / "admissions.csv", index=False)
    assert clinic.decide().action == "refit"


def test_another_run_in_the_place_of_the_waiting_one_is_not_published(clinic: Clinic) -> None:
    clinic.policy["rules"] = [REVIEWED]
    assert clinic.night() == "waiting"
    (run,) = clinic.places.runs.iterdir()
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"written_by"', '"written_By"', 1))
    with pytest.raises(VerificationError, match="not the run that waits"):
        clinic.night()
    assert clinic.latest is None and clinic.notices[-1].outcome == "failed"
    shutil.rmtree(run)  # the operator gives the run up: the data is drawn anew
    assert clinic.decide().action == "refit"


def test_a_released_run_that_is_gone_does_not_come_back_by_its_note(clinic: Clinic) -> None:
    """Once a release of this source and method is in the ledger, the note of the waiting run counts no more."""
    from hybrid.publication.publish import publish

    clinic.policy["rules"] = [REVIEWED]
    assert clinic.night() == "waiting"
    (run,) = clinic.places.runs.iterdir()
    publish(run, clinic.places.releases, clinic.places.work, accept_review=True, by="Eve", reason="looked at it")
    assert clinic.latest is not None
    (clinic.places.releases / "latest").unlink()
    atomic.remove(clinic.places.releases / Ledger(clinic.places.work).entries()[0].release)
    assert clinic.decide().action == "refit"


def test_a_damaged_note_of_a_held_run_stops_the_night(clinic: Clinic) -> None:
    clinic.write()
    clinic.places.work.mkdir(mode=0o700)
    (clinic.places.work / ".night-clinic.held").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        clinic.decide()


def test_latest_follows_a_source_that_goes_back_and_a_withdrawal(clinic: Clinic) -> None:
    before = clinic.frame
    assert clinic.night() == "released"
    first = clinic.latest
    clinic.frame = grown(before, 0.01)
    assert clinic.night() == "released"
    second = clinic.latest
    clinic.frame = before
    assert clinic.night() == "released"
    assert clinic.latest == first and clinic.notices[-1].release == first
    assert clinic.night() == "kept"
    assert clinic.decision is not None and clinic.decision.action == "skip"  # not a refit every night
    assert len(clinic.releases) == 2
    found = withdraw(str(first), clinic.places.releases, clinic.places.work, "Ada Lovelace", "a wrong load")
    assert clinic.latest == found.latest == second
    assert clinic.night() == "refused"
    assert "was withdrawn by Ada Lovelace: a wrong load" in clinic.notices[-1].message
    assert clinic.latest == second
