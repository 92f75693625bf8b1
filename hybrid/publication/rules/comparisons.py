"""Comparisons of a metric rule: the number that its limits are about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hybrid.evaluation.measure import Measure, MetricResult, NotComputable, Subject
from hybrid.publication.rules.rule import Found, text_of


@dataclass(frozen=True)
class Compared:
    """One measured metric under a rule."""

    subject: str
    """The metric, its column and stage, for messages."""
    words: str
    """The subject and its value, interval and reference."""
    outcome: Measure
    allowance: float | None
    """Values up to this pass whatever the reference is."""
    stage: Subject | None
    """The second stage, where the comparison needs one."""
    other: MetricResult | None
    """The same metric at that stage."""


@dataclass(frozen=True)
class Comparison:
    """A way to compare a metric; ``number`` is the number to limit, or the sentence why there is none."""

    number: Callable[[Compared], Found | str]
    is_ratio: bool = False
    """Whether the limits are multiples of the reference."""
    needs_other: bool = False
    """Whether the rule names a second stage."""


def _value(about: Compared) -> Found:
    return Found(about.outcome.value, about.words)


def _low(about: Compared) -> Found | str:
    return _end(about, about.outcome.low, "low")


def _high(about: Compared) -> Found | str:
    return _end(about, about.outcome.high, "high")


def _end(about: Compared, end: float | None, name: str) -> Found | str:
    return f"{about.subject} has no interval" if end is None else Found(end, f"{about.words}; judged by its {name} end")


def _difference(about: Compared) -> Found | str:
    if about.outcome.reference is None:
        return f"{about.subject} has no reference"
    difference = about.outcome.value - about.outcome.reference
    return Found(difference, f"{about.words}; {text_of(difference)} from the reference")


def _value_ratio(about: Compared) -> Found | str:
    return _ratio(about, about.outcome.value, about.words)


def _low_ratio(about: Compared) -> Found | str:
    if about.outcome.low is None:
        return f"{about.subject} has no interval"
    return _ratio(about, about.outcome.low, f"{about.words}; judged by its low end")


def _ratio(about: Compared, number: float, words: str) -> Found | str:
    outcome, allowance = about.outcome, about.allowance
    if outcome.reference is None or outcome.reference < 0:
        return f"{about.subject} has no reference that it could be a multiple of"
    if allowance is not None and outcome.value <= allowance:
        return Found(outcome.value, f"{words}; up to {text_of(allowance)} passes", " times", allowed=True)
    if outcome.reference == 0:
        ratio = 1.0 if number == 0 else math.inf
        return Found(ratio, f"{words}; {'as' if ratio == 1 else 'and nothing'} in the reference", " times")
    ratio = number / outcome.reference
    return Found(ratio, f"{words}; {text_of(ratio)} times the reference", " times")


def _stage_difference(about: Compared) -> Found | str:
    if about.other is None or isinstance(about.other.outcome, NotComputable):
        return f"{about.subject} has no counterpart at stage {about.stage}"
    other = about.other.outcome.value
    difference = about.outcome.value - other
    words = f"{about.words}, at stage {about.stage} {text_of(other)}"
    return Found(difference, f"{words}; difference {text_of(difference)}")


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
    "ratio_to_reference": Comparison(_value_ratio, is_ratio=True),
    "low_ratio_to_reference": Comparison(_low_ratio, is_ratio=True),
    "difference_to_stage": Comparison(_stage_difference, needs_other=True),
}
"""Every comparison by the name that ``compare`` gives it."""
