"""Earlier releases in the report: one picture per metric the policy judges."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.jobs.report_inputs import changes_since, tracks
from hybrid.publication.ledger import LedgerEntry
from hybrid.publication.policy import Policy
from hybrid.publication.verdict import Verdict
from hybrid.report import ReportInputs, render_report

NOW = datetime(2026, 1, 9, 2, tzinfo=UTC)
RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "review": 0.1, "reason": "Copies."}
POLICY = Policy.model_validate({"name": "own", "version": "2", "owner": "me", "rules": [RULE]})


def evaluation(value: float) -> Evaluation:
    privacy = ("privacy", "synthetic", "lower")
    found = Measure(value, value - 0.01, value + 0.01, 0.0, 100)
    return Evaluation(tuple(MetricResult(name, *privacy, found) for name in ("identical_match", "dcr_share")))


def entry(day: int, value: float) -> LedgerEntry:
    metrics = tuple(metric.to_json() for metric in evaluation(value).metrics)
    return LedgerEntry(f"r{day}", "own", f"2026-01-0{day}T02:00:00+00:00", "d", "t", "pass", "own 1", (), metrics, None)


def test_only_judged_metrics_are_followed() -> None:
    found = tracks(POLICY, evaluation(0.05), [entry(1, 0.02), entry(2, 0.03)], NOW)
    assert [track.title for track in found] == ["Identical match, synthetic"]
    assert [(night.day, night.value) for night in found[0].nights] == [
        ("2026-01-01", 0.02),
        ("2026-01-02", 0.03),
        ("2026-01-09", 0.05),
    ]


def test_the_first_release_has_no_history() -> None:
    assert tracks(POLICY, evaluation(0.05), [], NOW) == ()
    assert changes_since([], Verdict("pass", "own 2", ())) is None


def test_what_changed_is_said() -> None:
    found = changes_since([entry(1, 0.02)], Verdict("review", "own 2", ()))
    assert found is not None
    assert [(change.before, change.now) for change in found] == [("own 1", "own 2"), ("pass", "review")]
    assert changes_since([replace(entry(1, 0.02), policy="own 2")], Verdict("pass", "own 2", ())) == ()


def test_the_report_draws_every_night() -> None:
    history = tracks(POLICY, evaluation(0.05), [entry(1, 0.02), entry(2, 0.02)], NOW)
    page = render_report(ReportInputs("own", NOW, "No guarantee.", changes=(), history=history))
    assert "2026-01-01: 0.02 (interval 0.01 to 0.03)" in page
    assert "2026-01-09: 0.05 (interval 0.04 to 0.06)" in page
    assert page.count("from release to release") == 2
