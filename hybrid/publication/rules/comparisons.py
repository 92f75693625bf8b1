"""Comparisons of a metric rule: the number that its limits are about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hybrid.base.sentence import Fact, Sentence, sentence
from hybrid.evaluation.display import displayed, excess_range, range_of, spans, within
from hybrid.evaluation.engine.intervals import quantile, simultaneous
from hybrid.evaluation.measure import Measure, MetricResult, NotComputable, Subject
from hybrid.evaluation.registry import REGISTRY
from hybrid.publication.rules.rule import JudgedNumber

MEASURED = 0.95
"""Confidence of the intervals of an evaluation."""


@dataclass(frozen=True)
class Compared:
    """One measured metric under a rule."""

    metric: str
    """Its name in the registry."""
    subject: str
    """The metric, its column and stage, for messages."""
    outcome: Measure
    confidence: float
    """Confidence of an excess's interval, so that all rules' intervals hold together."""
    strictness: float
    """Standard errors that a repeated draw takes off that interval before it is judged."""
    stage: Subject | None
    """The second stage, where the comparison needs one."""
    other: MetricResult | None
    """The same metric at that stage."""

    @cached_property
    def shown(self) -> Measure:
        return displayed(self.metric, self.outcome)

    @property
    def details(self) -> Sentence:
        return sentence("details", subject=self.subject, measured=measure_text(self.shown))

    def difference(self, number: float) -> float:
        return within(number, spans(range_of(self.metric)))


@dataclass(frozen=True)
class Comparison:
    """A way to compare a metric; ``number`` is the number to limit, or the sentence why there is none."""

    number: Callable[[Compared], JudgedNumber | str]
    needs_other: bool = False
    """Whether the rule names a second stage."""


def _value(about: Compared) -> JudgedNumber:
    return JudgedNumber(about.outcome.value, _measured(about), about.details)


def _low(about: Compared) -> JudgedNumber | str:
    return _end(about, about.outcome.low, about.shown.low, "low")


def _high(about: Compared) -> JudgedNumber | str:
    return _end(about, about.outcome.high, about.shown.high, "high")


def _end(about: Compared, end: float | None, shown: float | None, name: str) -> JudgedNumber | str:
    if end is None or shown is None:
        return sentence("no_interval")
    return _judged_by_end(end, name, _measured(about), shown, about.details)


def _judged_by_end(end: float, name: str, score: str, shown: Fact, details: str) -> JudgedNumber:
    words = sentence("score.low_end" if name == "low" else "score.high_end", score=score, n=shown)
    return JudgedNumber(
        end, words, sentence("details.low_end" if name == "low" else "details.high_end", details=details)
    )


def _difference(about: Compared) -> JudgedNumber | str:
    if about.outcome.reference is None or about.shown.reference is None:
        return sentence("no_reference")
    difference = about.outcome.value - about.outcome.reference
    at: dict[str, Fact] = {"difference": about.difference(difference)}
    said: dict[str, Fact] = {"score": _measured(about), "n": about.shown.reference, **at}
    metric, interval = REGISTRY.get(about.metric), about.outcome.details.get("difference_interval")
    if metric is None or metric.family == "privacy" or interval is None:
        details = sentence("details.reference", details=about.details, **at)
        return JudgedNumber(difference, sentence("score.reference", **said), details)
    ends: dict[str, Fact] = {"low": about.difference(interval[0]), "high": about.difference(interval[1])}
    words = sentence("score.reference.between", **said, **ends)
    details = sentence("details.reference.between", details=about.details, **at, **ends)
    # Of what a table is good for, as of everything that is lost, the end that chance does not explain.
    name, end = ("high", interval[1]) if metric.direction == "higher" else ("low", interval[0])
    return _judged_by_end(end, name, words, ends[name], details)


def _excess(about: Compared) -> JudgedNumber | str:
    """The end of the widened interval that says most: above 0 a leak, below 0 rows that keep away from people."""
    if about.outcome.excess is None:
        return sentence("nobody_unseen")
    value, low, high = about.outcome.excess
    factor = _factor(about)
    judged = factor - about.strictness / _errors(MEASURED, about.outcome.together)
    low, high, least, most = (
        *(value - factor * (value - low), value + factor * (high - value)),
        *(value - judged * (value - low), value + judged * (high - value)),
    )
    value, low, high = (within(number, excess_range(about.metric)) for number in (value, low, high))
    details = sentence(
        "details.excess.high" if most < 0 else "details.excess.low",
        subject=about.subject,
        value=about.shown.value,
        excess=value,
        low=low,
        high=high,
    )
    ends = {"low": per_thousand(low), "high": per_thousand(high)}
    beyond = per_thousand(abs(value))
    words = sentence("excess.none", **ends)
    if beyond:
        words = sentence("excess.below" if value < 0 else "excess.above", n=beyond, **ends)
    if about.strictness > 0:
        words = sentence("excess.repeated", found=words)
    if most < 0:
        words = sentence("excess.away", found=words)
    number = -most if most < 0 else least
    blocks = -math.inf if most < 0 else None
    return JudgedNumber(number, words, details, 1000, "in_1000", blocks=blocks, excess=(value, low, high))


def _both_ends(about: Compared) -> JudgedNumber | str:
    """The ends of the interval: what is not ruled out asks for a review, what is certain blocks."""
    shown, reference = about.shown, about.outcome.reference
    if shown.low is None or shown.high is None or reference is None:
        return sentence("no_interval_or_reference")
    stricter = about.strictness / _errors(MEASURED, about.outcome.together)
    low = shown.value - (1 - stricter) * (shown.value - shown.low)
    high = shown.value + (1 + stricter) * (shown.high - shown.value)
    cases = {"n": _of_100(shown.value), "guessing": _of_100(reference), "most": _of_100(high)}
    words = sentence("right_answers", **cases)
    excess = (shown.value - reference, low - reference, high - reference)
    details = sentence("details.both_ends", details=about.details)
    return JudgedNumber(high, words, details, 100, "of_100", blocks=low, excess=excess, zero=reference)


def _of_100(share: float) -> float:
    return round(100 * min(max(share, 0.0), 1.0), 1)


def _factor(about: Compared) -> float:
    """Factor that widens the interval of an excess to the rule's confidence.

    Half widths are taken as proportional to the standard normal quantile. An interval that already holds for several
    subgroups or secrets together needs less.
    """
    together = about.outcome.together
    return _errors(about.confidence, together) / _errors(MEASURED, together)


def _errors(confidence: float, together: int) -> float:
    """Half width in standard errors of intervals that hold together."""
    return quantile(simultaneous(confidence, together))


def per_thousand(share: float) -> float:
    """A share as a number in 1,000, with three significant digits."""
    return float(f"{1000 * share:.3g}")


def _stage_difference(about: Compared) -> JudgedNumber | str:
    if about.other is None or isinstance(about.other.outcome, NotComputable):
        return sentence("not_on_stage", stage=str(about.stage))
    difference = about.outcome.value - about.other.outcome.value
    other, apart = displayed(about.metric, about.other.outcome).value, about.difference(difference)
    at: dict[str, Fact] = {"stage": str(about.stage), "n": other, "difference": apart}
    words = sentence("score.stage", score=_measured(about), **at)
    return JudgedNumber(difference, words, sentence("details.stage", details=about.details, **at))


def _measured(about: Compared) -> Sentence:
    outcome = about.shown
    if outcome.low is None or outcome.high is None:
        score = sentence("score", n=outcome.value)
    else:
        score = sentence("score.between", n=outcome.value, low=outcome.low, high=outcome.high)
    said, ends = outcome.details.get("said"), _ends(about.metric)
    score = score if ends is None else sentence("score.scale", score=score, best=ends[0], worst=ends[1])
    return sentence("score.of", said=said, score=score) if said else score


def _ends(name: str) -> tuple[float, float] | None:
    """Best and worst of a metric; None where its scale is open, or the name unknown."""
    metric = REGISTRY.get(name)
    if metric is None:
        return None
    ends = (metric.low, metric.high) if metric.direction == "lower" else (metric.high, metric.low)
    best, worst = ends[0] if metric.copy is None else metric.copy, ends[1]
    return None if best is None or worst is None else (best, worst)


def measure_text(outcome: Measure) -> Sentence:
    """Value, interval and reference in words."""
    if outcome.low is None or outcome.high is None:
        found = sentence("value", n=outcome.value)
    else:
        found = sentence("value.interval", n=outcome.value, low=outcome.low, high=outcome.high)
    return found if outcome.reference is None else sentence("value.reference", found=found, n=outcome.reference)


COMPARISONS: dict[str, Comparison] = {
    "value": Comparison(_value),
    "low": Comparison(_low),
    "high": Comparison(_high),
    "difference_to_reference": Comparison(_difference),
    "excess": Comparison(_excess),
    "both_ends": Comparison(_both_ends),
    "difference_to_stage": Comparison(_stage_difference, needs_other=True),
}
"""Every comparison by the name that ``compare`` gives it."""
