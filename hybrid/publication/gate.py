"""The gate: what a policy says to the numbers of one run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import ConfigError, Problem
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.composition import Exposure
from hybrid.publication.policy import AnonymityRule, HistoryRule, MetricRule, Policy, Rule
from hybrid.publication.verdict import SEVERITY, Check, Status, Verdict

_QUANTITIES = {
    "k": "smallest equivalence class of the intermediate table",
    "l": "l of the l-diversity in force on the intermediate table",
    "suppressed_share": "share of suppressed records",
}


def judge(
    policy: Policy,
    evaluation: Evaluation,
    anonymization: AnonymizationResult | None,
    exposure: Exposure | str | None = None,
) -> Verdict:
    """Apply every rule of a policy; the worst status wins.

    Parameters
    ----------
    policy : Policy
        The rules.
    evaluation : Evaluation
        The metrics of a run.
    anonymization : AnonymizationResult or None
        How the intermediate table was made; None if nothing was anonymized.
    exposure : Exposure, str or None
        What the release gives away together with earlier ones; why that is not known; None before publishing,
        when the rules about it are not applied.

    Returns
    -------
    Verdict
        One check per rule and metric it applies to, in the policy's order.

    Raises
    ------
    ConfigError
        A rule's direction is not that of its metric: it would let the bad and hold back the good.
    """
    problems = [
        Problem(
            f"policy {policy.name!r}, rule {rule.name!r}: of {metric.name}, {metric.direction} is better, "
            f"and the rule says {rule.direction}",
            f"write direction: {metric.direction} and check the limits",
        )
        for rule in policy.rules
        for metric in _about(rule, evaluation)
        if metric.direction != rule.direction
    ]
    if problems:
        raise ConfigError(problems)
    checks = [_check_anonymity(rule, anonymization) for rule in policy.anonymity]
    if exposure is not None:
        checks.extend(_check_history(rule, exposure) for rule in policy.history)
    for rule in policy.rules:
        checks.extend(_check_metrics(rule, evaluation))
    worst = max((check.status for check in checks), key=SEVERITY.__getitem__)
    return Verdict(worst, f"{policy.name} {policy.version}", tuple(checks))


@dataclass(frozen=True)
class _Found:
    """The number that a rule's limits are about, and the sentence that leads to it."""

    number: float
    words: str
    unit: str = ""
    allowed: bool = False
    """Whether the rule passes whatever its limits say."""


def _check_anonymity(rule: AnonymityRule, anonymization: AnonymizationResult | None) -> Check:
    subject = _QUANTITIES[rule.quantity]
    if anonymization is None:
        return _missing(rule, f"{subject}: nothing was anonymized")
    match rule.quantity:
        case "k":
            return _limited(rule, _Found(anonymization.min_class_size, f"{subject}: {anonymization.min_class_size}"))
        case "l":
            found = [model["l"] for model in anonymization.models if model.get("model") == "l_diversity"]
            if not found:
                return _missing(rule, f"{subject}: no l-diversity was demanded")
            return _limited(rule, _Found(min(found), f"{subject}: {_text(min(found))}"))
        case "suppressed_share":
            if not anonymization.records:
                return _missing(rule, f"{subject}: there were no records")
            share = anonymization.suppressed / anonymization.records
            words = f"{subject}: {_text(share)} ({anonymization.suppressed} of {anonymization.records})"
            return _limited(rule, _Found(share, words))


def _check_history(rule: HistoryRule, exposure: Exposure | str) -> Check:
    if isinstance(exposure, str):
        return _missing(rule, f"this and all earlier releases together: {exposure}")
    together = f"this and the {exposure.releases - 1} earlier releases together" if exposure.releases > 1 else "alone"
    match rule.quantity:
        case "exposed_share":
            share = exposure.exposed_share
            words = (
                f"records in joint classes of fewer than k = {exposure.k}, {together}: {_text(share)} "
                f"({exposure.exposed} of {exposure.records}, {exposure.departed} of them no longer in the source)"
            )
            return _limited(rule, _Found(share, words))
        case "smallest_joint_class":
            return _limited(rule, _Found(exposure.smallest, f"smallest joint class, {together}: {exposure.smallest}"))


def _about(rule: MetricRule, evaluation: Evaluation) -> list[MetricResult]:
    return [
        metric
        for metric in evaluation.metrics
        if (metric.name, metric.stage) == (rule.metric, rule.stage) and rule.column in (None, metric.column)
    ]


def _check_metrics(rule: MetricRule, evaluation: Evaluation) -> Iterator[Check]:
    metrics = _about(rule, evaluation)
    if not metrics:
        of = f" of {rule.column}" if rule.column else ""
        yield _missing(rule, f"{rule.metric}{of} at stage {rule.stage}: not among the metrics of this run")
    for metric in metrics:
        found = _compared(rule, metric, evaluation)
        broken = isinstance(metric.outcome, NotComputable) and metric.outcome.state in ("failed", "timed_out")
        yield _missing(rule, found, broken=broken) if isinstance(found, str) else _limited(rule, found)


def _compared(rule: MetricRule, metric: MetricResult, evaluation: Evaluation) -> _Found | str:
    """The number to compare, or the sentence why there is none."""
    subject = f"{metric.name} of {metric.column}" if metric.column else metric.name
    subject += f" at stage {metric.stage}"
    outcome = metric.outcome
    if isinstance(outcome, NotComputable):
        return f"{subject} could not be computed: {outcome.reason}"
    words = f"{subject}: {_measure_text(outcome)}"
    match rule.compare:
        case "value":
            return _Found(outcome.value, words)
        case "low" | "high":
            end = outcome.low if rule.compare == "low" else outcome.high
            return (
                f"{subject} has no interval"
                if end is None
                else _Found(end, f"{words}; judged by its {rule.compare} end")
            )
        case "difference_to_reference":
            if outcome.reference is None:
                return f"{subject} has no reference"
            difference = outcome.value - outcome.reference
            return _Found(difference, f"{words}; {_text(difference)} from the reference")
        case "ratio_to_reference":
            return _ratio(rule, outcome, outcome.value, subject, words)
        case "low_ratio_to_reference":
            if outcome.low is None:
                return f"{subject} has no interval"
            return _ratio(rule, outcome, outcome.low, subject, f"{words}; judged by its low end")
        case "difference_to_stage":
            return _stage_difference(rule, metric, outcome, evaluation, subject)


def _ratio(rule: MetricRule, outcome: Measure, number: float, subject: str, words: str) -> _Found | str:
    if outcome.reference is None or outcome.reference < 0:
        return f"{subject} has no reference that it could be a multiple of"
    if rule.allowance is not None and outcome.value <= rule.allowance:
        return _Found(outcome.value, f"{words}; up to {_text(rule.allowance)} passes", " times", allowed=True)
    if outcome.reference == 0:
        ratio = 1.0 if number == 0 else math.inf
        return _Found(ratio, f"{words}; {'as' if ratio == 1 else 'and nothing'} in the reference", " times")
    ratio = number / outcome.reference
    return _Found(ratio, f"{words}; {_text(ratio)} times the reference", " times")


def _stage_difference(
    rule: MetricRule, metric: MetricResult, outcome: Measure, evaluation: Evaluation, subject: str
) -> _Found | str:
    assert rule.other is not None
    other = evaluation.find(metric.name, rule.other, metric.column)
    if other is None or isinstance(other.outcome, NotComputable):
        return f"{subject} has no counterpart at stage {rule.other}"
    difference = outcome.value - other.outcome.value
    words = f"{subject}: {_measure_text(outcome)}, at stage {rule.other} {_text(other.outcome.value)}"
    return _Found(difference, f"{words}; difference {_text(difference)}")


def _measure_text(outcome: Measure) -> str:
    text = _text(outcome.value)
    if outcome.low is not None and outcome.high is not None:
        text += f" (interval {_text(outcome.low)} to {_text(outcome.high)})"
    return text if outcome.reference is None else f"{text}, reference {_text(outcome.reference)}"


def _limited(rule: Rule, found: _Found) -> Check:
    status: Status = "pass"
    limit = rule.block if rule.review is None else rule.review
    if not found.allowed and _beyond(rule, found.number, rule.block):
        status, limit = "block", rule.block
    elif not found.allowed and _beyond(rule, found.number, rule.review):
        status = "review"
    assert limit is not None
    bound = "at most" if rule.better == "lower" else "at least"
    message = f"{found.words} (limit: {bound} {_text(limit)}{found.unit})"
    return _said(rule, status, message)


def _beyond(rule: Rule, number: float, limit: float | None) -> bool:
    if limit is None:
        return False
    return number > limit if rule.better == "lower" else number < limit


def _missing(rule: Rule, message: str, *, broken: bool = False) -> Check:
    status = rule.if_not_computable
    if status == "pass" and not broken:
        return _said(rule, status, f"{message}; the rule does not apply then")
    return _said(rule, "review" if status == "pass" else status, f"{message}; what is not known counts as not met")


def _said(rule: Rule, status: Status, message: str) -> Check:
    if status == "pass":
        return Check(rule.name, status, message)
    return Check(rule.name, status, f"{message}. {rule.reason}", rule.hint)


def _text(number: float) -> str:
    return f"{number:.4g}"
