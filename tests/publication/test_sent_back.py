"""A run that was sent back is not published until whoever sent it back approves; the next person reads why."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import ApprovalNeeded, ConfigError, GateRefused, VerificationError
from hybrid.cli import main
from hybrid.evaluation.measure import Evaluation
from hybrid.publication import approvals
from hybrid.publication.approvals import SentBack, blocking_runs, send_back, since_last_release
from hybrid.publication.finished_run import read_run
from hybrid.publication.ledger import Approval, Ledger
from hybrid.publication.nights import HeldRun, held_run
from hybrid.publication.policy import Policy
from hybrid.publication.publish import publish

RunMaker = Callable[..., Path]


@pytest.fixture
def waiting(make_run: RunMaker, policy: Policy, evaluation: Callable[..., Evaluation]) -> Callable[..., Path]:
    """Run for review, which anybody may approve."""

    def make(name: str = "run", rules: dict[str, Any] | None = None, **sections: Any) -> Path:
        judged_by = Policy.model_validate(policy.model_dump() | (rules or {}))
        return make_run(name, measured=evaluation(copies=0.0017), judged_by=judged_by, **sections)

    return make


@pytest.fixture
def back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., SentBack]:
    def given(run: Path, by: str = "Ada Byron", reason: str = "the ages are too fine") -> SentBack:
        monkeypatch.setattr(approvals, "account", lambda: "ada@ward")
        return send_back(run, tmp_path / "releases", tmp_path / "work", by, reason)

    return given


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    def published(run: Path, by: str = "Bob Stone", account: str = "bob@ward", accept: bool = True) -> Path:
        monkeypatch.setattr(approvals, "account", lambda: account)
        words = {"by": by, "reason": "looked at"} if accept else {}
        return publish(run, tmp_path / "releases", tmp_path / "work", accept_review=accept, **words)  # type: ignore[arg-type]

    return published


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Move every sending back a minute into the past, so that an approval of now is later."""

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) - timedelta(minutes=1)

    return lambda: monkeypatch.setattr(approvals, "datetime", Earlier)


def test_nothing_of_the_same_method_comes_out_whatever_the_seed(
    waiting: Callable[..., Path], back: Callable[..., SentBack], out: Callable[..., Path], tmp_path: Path
) -> None:
    first = waiting("first")
    back(first)
    again = waiting("again", seed=7, rows="age,income\n42,low\n")
    for run in (first, again):
        with pytest.raises(GateRefused, match="the ages are too fine") as refused:
            out(run)
        assert "Ada Byron approves" in refused.value.problems[0].hint
    assert not list((tmp_path / "releases").glob("20*"))
    with pytest.raises(GateRefused):
        out(first, by="Ada Byron"), "the name alone, from another account"
    other_method = waiting("other", anonymize={"engine": "exact", "k": 9})
    other_policy = waiting("policy", rules={"version": "2"})
    assert out(other_method).is_dir() and out(other_policy).is_dir()
    log = [(event.outcome, event.message) for event in Ledger(tmp_path / "work").events()]
    assert ("sent back", "first by Ada Byron: the ages are too fine") in log


def test_whoever_sent_it_back_may_approve_it_later(
    waiting: Callable[..., Path], back: Callable[..., SentBack], out: Callable[..., Path], earlier: Callable[[], None]
) -> None:
    earlier()
    run = waiting()
    back(run)
    with pytest.raises(GateRefused):
        out(run, by="Bob Stone")
    assert out(run, by="Ada  Byron", account="ada@ward").is_dir()


def test_an_approval_from_before_lifts_nothing(
    waiting: Callable[..., Path], back: Callable[..., SentBack], out: Callable[..., Path], tmp_path: Path
) -> None:
    run = waiting(rules={"approvals": 2, "separate_duties": False})
    with pytest.raises(ApprovalNeeded):
        out(run, by="Ada Byron", account="ada@ward")
    back(run)
    with pytest.raises(GateRefused, match="too fine"):
        out(run, by="Bob Stone")
    assert len(blocking_runs(read_run(run), tmp_path / "work", datetime.now(UTC))) == 1


def test_a_run_that_passes_can_be_sent_back_and_lifted(
    make_run: RunMaker, back: Callable[..., SentBack], out: Callable[..., Path], earlier: Callable[[], None]
) -> None:
    earlier()
    run = make_run("passes")
    back(run)
    with pytest.raises(GateRefused):
        out(run, accept=False)
    assert out(run, by="Ada Byron", account="ada@ward").is_dir()


def test_what_cannot_be_sent_back(
    waiting: Callable[..., Path], make_run: RunMaker, back: Callable[..., SentBack], out: Callable[..., Path]
) -> None:
    run = make_run("passes")
    for by, reason in (("", "why"), ("Ada", " "), ("Ada\u202e", "why"), ("Ada", "why\x00")):
        with pytest.raises(ConfigError):
            back(run, by, reason)
    out(run, accept=False)
    with pytest.raises(ConfigError, match="released as"):
        back(run)
    other = waiting("other", anonymize={"engine": "exact", "k": 9})
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest | {"name": "forged"}))
    with pytest.raises(VerificationError, match="seal"):
        back(other)


def test_reasons_are_shown_until_the_next_release(
    waiting: Callable[..., Path], back: Callable[..., SentBack], out: Callable[..., Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    zones = ["--releases", str(tmp_path / "releases"), "--work", str(tmp_path / "work")]
    first, other = waiting("first"), waiting("other", anonymize={"engine": "exact", "k": 9})
    with pytest.raises(SystemExit) as done:
        main(["send-back", str(first), "--by", "Ada Byron", "--reason", "[bold]too fine[/]", *zones])
    assert done.value.code == 0 and "[bold]too fine[/]" in capsys.readouterr().out
    assert [one.folder for one in since_last_release("adult", tmp_path / "work")] == ["first"]
    monkeypatch.setattr(approvals, "account", lambda: "bob@ward")
    with pytest.raises(SystemExit) as done:
        main(["approve", str(other), "--by", "Bob Stone", "--reason", "coarser now", *zones])
    shown = " ".join(capsys.readouterr().out.split())
    assert done.value.code == 0 and "first was sent back on" in shown and "by Ada Byron: [bold]too fine[/]" in shown
    assert since_last_release("adult", tmp_path / "work") == ()
    with pytest.raises(SystemExit):
        main(["status", *zones])
    assert "sent back  first by Ada Byron" in capsys.readouterr().out


def test_a_night_does_not_go_on_with_it(
    waiting: Callable[..., Path], back: Callable[..., SentBack], tmp_path: Path
) -> None:
    run = read_run(waiting())
    held = HeldRun("adult", "waiting", "2026-01-01", "tag", run.policy.sha256, str(run.folder), run.id, 0, "review")
    held.keep(tmp_path / "work")
    back(run.folder)
    found = held_run(tmp_path / "work", "adult")
    assert found is not None and (found.outcome, found.message) == (
        "refused", "sent back by Ada Byron: the ages are too fine"
    )  # fmt: skip


def test_only_the_account_that_sent_it_back_lifts_it(
    waiting: Callable[..., Path], back: Callable[..., SentBack], earlier: Callable[[], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    earlier()
    run = read_run(waiting())
    back(run.folder)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    Ledger(tmp_path / "work").approve(run.id, Approval("Ada Byron", "fine", at, "ada@home", ""))
    assert blocking_runs(run, tmp_path / "work", datetime.now(UTC)), "not signed, and from another account"
    Ledger(tmp_path / "work").approve(run.id, Approval("Ada Byron", "fine", at, "ada@ward", ""))
    assert not blocking_runs(run, tmp_path / "work", datetime.now(UTC))
