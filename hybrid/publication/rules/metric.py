"""Rules about metrics of the evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from hybrid.base.errors import Problem
from hybrid.evaluation.measure import Direction, Evaluation, MetricResult, NotComputable, Subject
from hybrid.publication.rules.comparisons import COMPARISONS, Compared, measure_text
from hybrid.publication.rules.rule import Facts, Found, Rule, RuleKind, limited, missing
from hybrid.publication.verdict import Check

if TYPE_CHECKING:
    Compare = str
else:
    Compare = Literal[tuple(COMPARISONS)]


class MetricRule(Rule):
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
    """What the limits are about: the value; the low or high end of its interval; value - reference;
    value / reference; low end / reference; value - the same metric's value at the stage ``other``."""
    other: Subject | None = None
    """For difference_to_stage."""
    allowance: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Values up to this pass whatever the reference is: a ratio of tiny numbers says little."""

    @property
    def better(self) -> Direction:
        """Whether lower or higher numbers are better."""
        return self.direction

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        comparison = COMPARISONS[self.compare]
        if comparison.needs_other != (self.other is not None):
            raise ValueError("other names the second stage of compare: difference_to_stage, and only of it")
        if self.allowance is not None and (not comparison.is_ratio or self.direction != "lower"):
            raise ValueError("allowance goes with a compare that is a ratio, and direction: lower")
        return self


class MetricRules(RuleKind[MetricRule]):
    """Limits on metrics."""

    section = "rules"
    description = "Rules about metrics."
    Options = MetricRule
    judges_stage = True

    def judge(self, rule: MetricRule, facts: Facts) -> Iterator[Check]:
        """Compare every metric that the rule is about with the limits."""
        metrics = _about(rule, facts.evaluation)
        if not metrics:
            of = f" of {rule.column}" if rule.column else ""
            yield missing(rule, f"{rule.metric}{of} at stage {rule.stage}: not among the metrics of this run")
        for metric in metrics:
            found = _compared(rule, metric, facts.evaluation)
            broken = isinstance(metric.outcome, NotComputable) and metric.outcome.state in ("failed", "timed_out")
            yield missing(rule, found, broken=broken) if isinstance(found, str) else limited(rule, found)

    def contradictions(self, rule: MetricRule, facts: Facts) -> Iterator[Problem]:
        """Metrics whose direction is not the rule's: the rule would let the bad pass."""
        for metric in _about(rule, facts.evaluation):
            if metric.direction != rule.direction:
                yield Problem(
                    f"rule {rule.name!r}: of {metric.name}, {metric.direction} is better, "
                    f"and the rule says {rule.direction}",
                    f"write direction: {metric.direction} and check the limits",
                )


def _about(rule: MetricRule, evaluation: Evaluation) -> list[MetricResult]:
    return [
        metric
        for metric in evaluation.metrics
        if (metric.name, metric.stage) == (rule.metric, rule.stage) and rule.column in (None, metric.column)
    ]


def _compared(rule: MetricRule, metric: MetricResult, evaluation: Evaluation) -> Found | str:
    """The number to compare, or the sentence why there is none."""
    subject = f"{metric.name} of {metric.column}" if metric.column else metric.name
    subject += f" at stage {metric.stage}"
    if isinstance(metric.outcome, NotComputable):
        return f"{subject} could not be computed: {metric.outcome.reason}"
    other = evaluation.find(metric.name, rule.other, metric.column) if rule.other is not None else None
    words = f"{subject}: {measure_text(metric.outcome)}"
    compared = Compared(subject, words, metric.outcome, rule.allowance, rule.other, other)
    return COMPARISONS[rule.compare].number(compared)
