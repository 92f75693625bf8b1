"""Comparisons of a metric rule: the number that its limits are about."""

from __future__ import annotations

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
    interval_factor: float
    """Factor by which an excess's interval is widened, so that all intervals hold together."""
    strictness: float
    """Half widths that a repeated draw takes off that interval before it is judged."""
    stage: Subject | None
    """The second stage, where the comparison needs one."""
    other: MetricResult | None
    """The same metric at that stage."""


@dataclass(frozen=True)
class Comparison:
    """A way to compare a metric.

    ``number`` is the number to limit, or the sentence why there is none.
    """

    number: Callable[[Compared], Found | str]
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


def _excess(about: Compared) -> Found | str:
    """The end of the widened interval that says most.

    Above 0 a leak, below 0 rows that keep away from people.
    """
    if about.outcome.excess is None:
        return f"{about.subject} has no excess over people never seen"
    value, low, high = about.outcome.excess
    factor, judged = about.interval_factor, about.interval_factor - about.strictness
    words = (
        f"{about.subject}: {text_of(about.outcome.value)}, {text_of(value)} above people never seen "
        f"({text_of(value - factor * (value - low))} to {text_of(value + factor * (high - value))} for all rules "
        f"together{'; judged more strictly, being a repeated draw' if about.strictness > 0 else ''}); judged by the "
        f"{'high' if value + judged * (high - value) < 0 else 'low'} end"
    )
    if value + judged * (high - value) < 0:
        away = f"{words}; the rows keep away from training persons"
        return Found(-(value + judged * (high - value)), away, review_at_most=True)
    return Found(value - judged * (value - low), words)


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
    "excess": Comparison(_excess),
    "difference_to_stage": Comparison(_stage_difference, needs_other=True),
}
"""Every comparison by the name that ``compare`` gives it."""
