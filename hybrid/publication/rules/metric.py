"""Rules about metrics of the evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from pydantic import model_validator

from hybrid.base.errors import Problem
from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Direction, Evaluation, MetricResult, NotComputable, Subject
from hybrid.evaluation.registry import RENAMED
from hybrid.evaluation.trust import Needed, TrustLeague
from hybrid.publication.actions import NoiseName
from hybrid.publication.criteria import criterion_of
from hybrid.publication.rules.comparisons import COMPARISONS, MEASURED, Compared
from hybrid.publication.rules.rule import Facts, JudgedNumber, PolicyRule, RuleKind, limited, missing
from hybrid.publication.verdict import Check

_NO_TRUST = "measure a table like this one in a laboratory (hybrid lab) and name its league, or judge by another metric"
THROWN_OUT = "rows thrown out"
"""Name of the check of rows that were thrown out to keep constraints."""
MOST_THROWN = 0.05
"""Share of the draws, or of the records, up to which throwing rows out needs no word: what is left hardly moves."""
if TYPE_CHECKING:
    Compare = str
else:
    Compare = Literal[tuple(COMPARISONS)]


class MetricRule(PolicyRule):
    """A limit on a metric of the evaluation."""

    metric: str
    """Name of the metric, as `hybrid metrics` lists it."""
    stage: Subject = "synthetic"
    """original | anonymized | synthetic | baseline."""
    column: str | None = None
    """The target or secret the metric is about. Not given: every one is checked."""
    direction: Direction
    """Whether lower or higher values of the metric are better; must be the metric's own."""
    compare: Compare = "value"
    """What the limits are about: the value; the low or high end of its interval; value - reference (of usefulness, the
    end of its interval where least is lost, where it has one); value - the same metric's value at the stage ``other``;
    or, for privacy, the excess over people never seen. An excess is judged on both sides: by the low end of its
    interval against both limits, and by the high end against review, since rows that keep away from training persons
    give them away, too. both_ends: review where the high end of the interval is beyond that limit, block where the low
    end is beyond that one, for attacks whose number of trials can be chosen."""
    other: Subject | None = None
    """For difference_to_stage."""
    needs_trust: Needed | None = None
    """What the policy's league must say of the metric, or better: trusted | usable | coarse. Else, and where no league
    names the metric, a number within the limits is no pass: the check is not judged. Numbers beyond a limit count
    whatever the league says."""

    @property
    def better(self) -> Direction:
        """Direction in which numbers are better.

        Lower for an excess, whatever the metric's direction.
        """
        return "lower" if self.compare == "excess" else self.direction

    @property
    def detects(self) -> bool:
        """True for an excess of the released table."""
        return self.compare == "excess" and self.stage == "synthetic"

    @property
    def judged_metrics(self) -> tuple[str, ...]:
        """Its metric."""
        return (self.metric,)

    @property
    def metric_to_trust(self) -> str | None:
        """Its metric, where the rule needs trust."""
        return None if self.needs_trust is None else self.metric

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.metric in RENAMED:
            raise ValueError(f"metric: {self.metric} has another name: write {RENAMED[self.metric]}")
        comparison = COMPARISONS[self.compare]
        if comparison.needs_other != (self.other is not None):
            raise ValueError("other names the second stage of compare: difference_to_stage, and only of it")
        return self


class MetricRules(RuleKind[MetricRule]):
    """Limits on metrics."""

    section = "rules"
    description = "Rules about metrics."
    Options = MetricRule
    judges_stage = True

    def judge(self, rule: MetricRule, facts: Facts) -> Iterator[Check]:
        """Compare every metric that the rule is about with the limits."""
        metrics = about(rule, facts.evaluation)
        if not metrics:
            check = missing(rule, sentence("not_measured"), details=_subject(rule, rule.column))
            yield _about_release(check, rule)
        for metric in metrics:
            found, subject = _compared(rule, metric, facts), _subject(rule, metric.column, metric.table)
            lacks = metric.outcome.lacks if isinstance(metric.outcome, NotComputable) else None
            check = missing(rule, found, lacks, subject) if isinstance(found, str) else limited(rule, found)
            if check.status in ("review", "block") and rule.stage == "synthetic":
                check = replace(check, found=sentences(check.found, _broken(metric)))
            check = _with_trust(check, rule, metric.column, facts.league)
            worst = "" if criterion_of(rule.metric) is not None else _worst(metric)
            yield replace(_about_release(check, rule, metric.column, metric.table), subject=worst)
            if rule.stage == "synthetic":
                yield from _thrown_out(metric)

    def under_noise(self, rule: MetricRule) -> tuple[tuple[NoiseName, ...], str]:
        """More noise for rules about people, less for the others."""
        if criterion_of(rule.metric) is not None:
            return ("more noise",), ""
        return ("less noise",), "leave columns out, or take more people"

    def contradictions(self, rule: MetricRule, facts: Facts) -> Iterator[Problem]:
        """Metrics that are experimental, or whose direction is not the rule's.

        The latter would let the bad pass.
        """
        if rule.metric in REGISTRY and REGISTRY[rule.metric].experimental:
            yield Problem(f"rule {rule.name!r}: {rule.metric} is experimental and judges nothing", "leave the rule out")
        for metric in about(rule, facts.evaluation):
            if metric.direction != rule.direction:
                yield Problem(
                    f"rule {rule.name!r}: of {metric.name}, {metric.direction} is better, "
                    f"and the rule says {rule.direction}",
                    f"write direction: {metric.direction} and check the limits",
                )


def about(rule: MetricRule, evaluation: Evaluation) -> list[MetricResult]:
    """The metrics of an evaluation that a rule limits."""
    measured = evaluation.of_stage(rule.metric, rule.stage)
    return [metric for metric in measured if rule.column in (None, metric.column)]


def _broken(metric: MetricResult) -> str:
    """Sentence that names the constraints that rows of the released table break; empty without one."""
    details, n = ({}, 0) if isinstance(metric.outcome, NotComputable) else (metric.outcome.details, metric.outcome.n)
    rows = {rule: round(share * n) for rule, share in details.get("rules", {}).items()}
    broken = [sentence("broken.rule", rule=rule, n=count) for rule, count in rows.items() if count]
    return sentence("broken", rules=sentences(*broken, between="further")) if broken else ""


def _worst(metric: MetricResult) -> str:
    worst = None if isinstance(metric.outcome, NotComputable) else metric.outcome.details.get("worst")
    return worst if isinstance(worst, str) else ""


def _thrown_out(metric: MetricResult) -> Iterator[Check]:
    """Review of a table without many of the rows that were drawn or learned, since these break constraints."""
    details = {} if isinstance(metric.outcome, NotComputable) else metric.outcome.details
    shares = details.get("draws_thrown_out", 0.0), details.get("records_left_out", 0.0)
    drawn, records = (round(100 * share) if share > MOST_THROWN else 0 for share in shares)
    if drawn and records:
        found = sentence("thrown_out.both", drawn=drawn, records=records)
    elif drawn or records:
        found = sentence("thrown_out.drawn" if drawn else "thrown_out.records", n=drawn or records)
    else:
        return
    found = sentence("about", place=metric.table, found=found) if metric.table else found
    hint = "loosen or remove a constraint that few rows keep: `hybrid check` lists them"
    yield Check(THROWN_OUT, "review", found, hint, table=metric.table)


def _with_trust(check: Check, rule: MetricRule, column: str | None, league: TrustLeague | None) -> Check:
    """The check; not judged if it passes by an untrusted metric."""
    if rule.needs_trust is None or check.status != "pass":
        return check
    trust = None if league is None else league.of(rule.metric, column)
    if league is not None and trust is not None and trust.reaches(rule.needs_trust):
        said = sentence("trust", league=league.words, trust=trust.sentence)
        return replace(check, found=sentences(check.found, said))
    if league is None:
        reason = sentence("trust.no_league", needed=rule.needs_trust)
    elif trust is None:
        reason = sentence("trust.not_tried", needed=rule.needs_trust, league=league.words)
    else:
        facts = {"needed": rule.needs_trust, "league": league.words, "trust": trust.sentence}
        reason = sentence("trust.too_low", **facts)
    return replace(missing(rule, reason, details=check.details), hint=_NO_TRUST)


def _about_release(check: Check, rule: MetricRule, column: str | None = None, table: str | None = None) -> Check:
    """The check with its table, column and metric."""
    place = ", ".join(part for part in (table, column) if part)
    found = sentence("about", place=place, found=check.found) if place else check.found
    about = rule.metric if rule.stage == "synthetic" else None
    return replace(check, found=found, metric=about, column=column, table=table)


def _subject(rule: MetricRule, column: str | None, table: str | None = None) -> str:
    """A metric by the program's own names."""
    name = ".".join(part for part in (table, column) if part)
    at = {"metric": rule.metric, "stage": rule.stage}
    return sentence("subject.of", name=name, **at) if name else sentence("subject", **at)


def _compared(rule: MetricRule, metric: MetricResult, facts: Facts) -> JudgedNumber | str:
    """The number to compare, or why there is none."""
    if isinstance(metric.outcome, NotComputable):
        return metric.outcome.reason
    subject, about_one = _subject(rule, metric.column, metric.table), (metric.column, metric.table)
    other = facts.evaluation.find(metric.name, rule.other, *about_one) if rule.other is not None else None
    judged = facts.confidence.get(criterion_of(rule.metric), MEASURED), facts.strictness
    compared = Compared(rule.metric, subject, metric.outcome, *judged, rule.other, other)
    return COMPARISONS[rule.compare].number(compared)
