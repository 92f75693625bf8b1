"""Earlier releases of the data set, from the ledger, for the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from hybrid.evaluation.measure import Evaluation
from hybrid.publication.ledger import LedgerEntry
from hybrid.publication.policy import Policy
from hybrid.publication.verdict import Verdict
from hybrid.report.run.inputs import HistoryPoint, MetricHistory, ReportedChange, title_of

MOST_NIGHTS = 60
"""Number of newest releases that are drawn."""


def changes_since(earlier: Sequence[LedgerEntry], verdict: Verdict) -> tuple[ReportedChange, ...] | None:
    """Differences from the last release; None if there is none."""
    if not earlier:
        return None
    last = earlier[-1]
    pairs = (
        ("policy", last.policy, verdict.policy),
        ("what the gate said", last.status, verdict.status),
    )
    return tuple(ReportedChange(what, before, now) for what, before, now in pairs if before != now)


def tracks(
    policy: Policy, evaluation: Evaluation, earlier: Sequence[LedgerEntry], created: datetime
) -> tuple[MetricHistory, ...]:
    """Every judged metric from release to release, this run last."""
    if not earlier:
        return ()
    return tuple(_tracks(policy, evaluation, earlier[-MOST_NIGHTS:], created))


def _tracks(
    policy: Policy, evaluation: Evaluation, earlier: Sequence[LedgerEntry], created: datetime
) -> Iterator[MetricHistory]:
    judged = {(rule.metric, rule.stage, rule.column) for rule in policy.rules}
    now = [metric.to_json() for metric in evaluation.metrics]
    for metric in evaluation.metrics:
        key = (metric.name, metric.stage, metric.column)
        if not judged & {key, (*key[:2], None)}:
            continue
        sources = [(entry.created[:10], entry.metrics) for entry in earlier] + [(f"{created:%Y-%m-%d}", tuple(now))]
        nights = tuple(night for day, metrics in sources for night in _nights(day, metrics, key))
        if len(nights) > 1:
            of = f" of {metric.column}" if metric.column else ""
            yield MetricHistory(f"{title_of(metric.name)}{of}, {metric.stage}", metric.direction, nights)


def _nights(day: str, metrics: Sequence[dict[str, Any]], key: tuple[str, str, str | None]) -> Iterator[HistoryPoint]:
    for found in metrics:
        if (found["name"], found["stage"], found["column"]) == key and found["state"] == "ok":
            low, high = found["ci"] or (None, None)
            yield HistoryPoint(day, found["value"], low, high)
