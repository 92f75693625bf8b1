"""Comparisons of a metric rule: the number that its limits are about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hybrid.evaluation.display import displayed, excess_range, range_of, spans, within
from hybrid.evaluation.engine.intervals import quantile, simultaneous
from hybrid.evaluation.measure import Measure, MetricResult, NotComputable, Subject
from hybrid.evaluation.registry import REGISTRY
from hybrid.publication.rules.rule import JudgedNumber, text_of

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
    def details(self) -> str:
        return f"{self.subject}: {measure_text(self.shown)}"

    def difference(self, number: float) -> str:
        return text_of(within(number, spans(range_of(self.metric))))


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
        return "the value has no interval"
    words = f"{_measured(about)}. The {name} end counts: {text_of(shown)}"
    return JudgedNumber(end, words, f"{about.details}; judged by its {name} end")


def _difference(about: Compared) -> JudgedNumber | str:
    if about.outcome.reference is None or about.shown.reference is None:
        return "there is no reference to compare with"
    difference = about.outcome.value - about.outcome.reference
    words = (
        f"{_measured(about)}; the reference is {text_of(about.shown.reference)}, "
        f"a difference of {about.difference(difference)}"
    )
    details = f"{about.details}; {about.difference(difference)} from the reference"
    metric, interval = REGISTRY.get(about.metric), about.outcome.details.get("difference_interval")
    if metric is None or metric.family == "privacy" or interval is None:
        return JudgedNumber(difference, words, details)
    # Of what a table is good for, as of everything that is lost, the end that chance does not explain.
    name, end = ("high", interval[1]) if metric.direction == "higher" else ("low", interval[0])
    ends = f" (between {about.difference(interval[0])} and {about.difference(interval[1])})"
    counts = f"The {name} end counts: {about.difference(end)}"
    return JudgedNumber(end, f"{words}{ends}. {counts}", f"{details}{ends}; judged by its {name} end")


def _excess(about: Compared) -> JudgedNumber | str:
    """The end of the widened interval that says most: above 0 a leak, below 0 rows that keep away from people."""
    if about.outcome.excess is None:
        return "there is nothing to compare with: no people that the generator has not seen"
    value, low, high = about.outcome.excess
    factor = _factor(about)
    judged = factor - about.strictness / _errors(MEASURED, about.outcome.together)
    low, high, least, most = (
        *(value - factor * (value - low), value + factor * (high - value)),
        *(value - judged * (value - low), value + judged * (high - value)),
    )
    repeated = about.strictness > 0
    end, limits = "high" if most < 0 else "low", excess_range(about.metric)
    value, low, high = (within(number, limits) for number in (value, low, high))
    details = (
        f"{about.subject}: {text_of(about.shown.value)}, {text_of(value)} above people never seen "
        f"({text_of(low)} to {text_of(high)} for all rules of its kind together); judged by the {end} end"
    )
    words = (
        f"The score is {per_thousand(abs(value))} in 1,000 {'below' if value < 0 else 'above'} that of people who are "
        f"not in the data (between {per_thousand(low)} and {per_thousand(high)})"
    )
    if repeated:
        words += "; it is judged more strictly, being a repeated draw"
    if most < 0:
        words += ", so the rows keep away from the people in the data, which gives these away, too"
    number = -most if most < 0 else least
    blocks = -math.inf if most < 0 else None
    return JudgedNumber(number, words, details, 1000, " in 1,000", blocks=blocks, excess=(value, low, high))


def _both_ends(about: Compared) -> JudgedNumber | str:
    """The ends of the interval: what is not ruled out asks for a review, what is certain blocks."""
    shown, reference = about.shown, about.outcome.reference
    if shown.low is None or shown.high is None or reference is None:
        return "the value has no interval, or nothing to compare with"
    stricter = about.strictness / _errors(MEASURED, about.outcome.together)
    low = shown.value - (1 - stricter) * (shown.value - shown.low)
    high = shown.value + (1 + stricter) * (shown.high - shown.value)
    words = (
        f"The right answer is found in {_of_100(shown.value)} of 100 cases, where guessing finds {_of_100(reference)}. "
        f"Up to {_of_100(high)} cannot be ruled out"
    )
    excess = (shown.value - reference, low - reference, high - reference)
    details = f"{about.details}; judged by both ends"
    return JudgedNumber(high, words, details, 100, " of 100", blocks=low, excess=excess, zero=reference)


def _of_100(share: float) -> str:
    return text_of(round(100 * min(max(share, 0.0), 1.0), 1))


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


def per_thousand(share: float) -> str:
    """A share as a number in 1,000, with three significant digits."""
    return text_of(float(f"{1000 * share:.3g}"))


def _stage_difference(about: Compared) -> JudgedNumber | str:
    if about.other is None or isinstance(about.other.outcome, NotComputable):
        return f"it was not measured on the {about.stage} table"
    difference = about.outcome.value - about.other.outcome.value
    other, apart = text_of(displayed(about.metric, about.other.outcome).value), about.difference(difference)
    words = f"{_measured(about)}; on the {about.stage} table it is {other}, a difference of {apart}"
    return JudgedNumber(difference, words, f"{about.details}, at stage {about.stage} {other}; difference {apart}")


def _measured(about: Compared) -> str:
    outcome, said = about.shown, about.shown.details.get("said")
    text = f"{f'{said}. ' if said else ''}The score is {text_of(outcome.value)}"
    if outcome.low is not None and outcome.high is not None:
        text += f" (between {text_of(outcome.low)} and {text_of(outcome.high)})"
    return f"{text}{_scale(about.metric)}"


def _scale(name: str) -> str:
    """Meaning of the ends of a metric's scale; empty where one is open, or the name unknown."""
    metric = REGISTRY.get(name)
    if metric is None:
        return ""
    ends = (metric.low, metric.high) if metric.direction == "lower" else (metric.high, metric.low)
    best, worst = ends[0] if metric.copy is None else metric.copy, ends[1]
    return "" if best is None or worst is None else f"; best is {text_of(best)}, worst {text_of(worst)}"


def measure_text(outcome: Measure) -> str:
    """Value, interval and reference in words."""
    text = text_of(outcome.value)
    if outcome.low is not None and outcome.high is not None:
        text += f" (interval {text_of(outcome.low)} to {text_of(outcome.high)})"
    return text if outcome.reference is None else f"{text}, reference {text_of(outcome.reference)}"


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
