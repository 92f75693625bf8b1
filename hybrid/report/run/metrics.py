"""Rows of a report's tables: metrics with value, interval, reference and judgement in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from markupsafe import Markup

from hybrid.base.language import ENGLISH, Language
from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Evaluation, Family, Measure, MetricResult, NotComputable
from hybrid.evaluation.trust import TrustLeague
from hybrid.report.charts.figures import interval_chart
from hybrid.report.run.inputs import MetricText, title_of

MOST_ROWS = 12
"""Rows shown of a ranking."""


@dataclass(frozen=True)
class TableRow:
    """One line of a table: names, then numbers as text."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]


def synthetic_measure(evaluation: Evaluation, name: str) -> Measure | None:
    """The measure of a metric on the synthetic table; None if it has no value."""
    found = evaluation.find(name, "synthetic")
    return found.outcome if found is not None and isinstance(found.outcome, Measure) else None


BETTER = {
    ("privacy", "lower"): "lower is safer",
    ("privacy", "higher"): "higher is safer",
    ("utility", "lower"): "lower is more useful",
    ("utility", "higher"): "higher is more useful",
    ("fidelity", "lower"): "lower is closer to the data",
    ("fidelity", "higher"): "higher is closer to the data",
}
STATES = {
    "not_applicable": "does not apply",
    "too_few": "too few records",
    "failed": "failed",
    "timed_out": "ran out of time",
}


@dataclass(frozen=True)
class MetricRow:
    """One value of a metric, or why there is none."""

    about: str
    """The column it is about; empty if it is about the table."""
    value: str
    interval: str
    reference: str
    judgement: str
    n: str
    chart: Markup
    details: tuple[tuple[str, str], ...]
    missing: str
    """Why there is no number; empty if there is one."""
    trust: str = ""
    """What a laboratory found about the metric; empty where none was asked."""


@dataclass(frozen=True)
class MetricGroup:
    """All rows of one metric."""

    name: str
    title: str
    sentence: str
    better: str
    scale: str
    """Ends of the axis that the pictures of its rows share."""
    rows: tuple[MetricRow, ...]


def number(value: float | None) -> str:
    """Format a number with three decimals (small ones with more) and a true minus sign."""
    if value is None:
        return "–"
    if value >= 2 and value == int(value):
        return f"{value:,.0f}"
    size = abs(value)
    digits = 3 if size == 0 or size >= 0.001 else 4
    text = f"{value:,.{digits}f}" if size == 0 or 0.00005 <= size < 1e6 else f"{value:.2e}"
    return text.replace("-", "−")


def metric_groups(
    evaluation: Evaluation,
    family: Family,
    texts: Mapping[str, MetricText],
    league: TrustLeague | None = None,
    language: Language = ENGLISH,
) -> list[MetricGroup]:
    """Metrics of one family on the synthetic table, grouped by name.

    With a league, each number has the laboratory's verdict on its metric.
    """
    chosen = [metric for metric in evaluation.metrics if metric.family == family and metric.stage == "synthetic"]
    order = {name: at for at, name in enumerate(dict.fromkeys(metric.name for metric in chosen))}
    chosen.sort(key=lambda metric: order[metric.name])
    return [
        _group(name, list(metrics), texts.get(name), league, language)
        for name, metrics in groupby(chosen, key=lambda metric: metric.name)
    ]


def _group(
    name: str, metrics: Sequence[MetricResult], text: MetricText | None, league: TrustLeague | None, language: Language
) -> MetricGroup:
    text = text or MetricText(title_of(name), "")
    domain = domain_of(metrics)
    better = BETTER[metrics[0].family, metrics[0].direction]
    rows = tuple(
        replace(_row(metric, text.reference, domain, language), trust=_trust(metric, league)) for metric in metrics
    )
    has_numbers = any(isinstance(metric.outcome, Measure) for metric in metrics)
    scale = has_numbers * " to ".join(f"{end:.2g}".replace("-", "−") for end in domain)
    return MetricGroup(name, text.title, text.sentence, better, scale, rows)


def _row(metric: MetricResult, reference: str, domain: tuple[float, float], language: Language) -> MetricRow:
    about, outcome = metric.column or "", metric.outcome
    if isinstance(outcome, NotComputable):
        reason = sentence("metric.none", state=STATES[outcome.state], reason=outcome.reason)
        return MetricRow(about, "", "", "", "", "", Markup(), (), reason)
    return MetricRow(
        about=about,
        value=number(outcome.value),
        interval=interval_text(outcome),
        reference=number(outcome.reference),
        judgement=judgement(outcome, metric.direction == "lower", reference),
        n=f"{outcome.n:,}" if outcome.n else "–",
        chart=interval_chart(outcome.value, outcome.low, outcome.high, outcome.reference, domain, language),
        details=tuple(_details(outcome)),
        missing="",
    )


def _trust(metric: MetricResult, league: TrustLeague | None) -> str:
    if league is None:
        return ""
    found = league.of(metric.name, metric.column)
    return "not tried" if found is None else found.sentence


def judgement(measure: Measure, lower_is_better: bool, reference: str) -> str:
    """Comparison of a value with its reference, in words."""
    if measure.reference is None:
        return "no reference to compare with"
    difference = measure.value - measure.reference
    if measure.low is not None and measure.high is not None and measure.low <= measure.reference <= measure.high:
        return sentence("judged.covers", reference=reference)
    if difference == 0:
        return sentence("judged.equal", reference=reference)
    word = "judged.better" if (difference < 0) == lower_is_better else "judged.worse"
    return sentence(word, n=number(abs(difference)), reference=reference)


def interval_text(measure: Measure) -> str:
    if measure.low is None or measure.high is None:
        return "–"
    return f"{number(measure.low)} to {number(measure.high)}"


def _details(measure: Measure) -> list[tuple[str, str]]:
    """Numeric details only: texts and lists could hold values of the data."""
    return [
        (name, f"{value:,}" if isinstance(value, int) else number(value))
        for name, value in measure.details.items()
        if isinstance(value, int | float)
    ] + [
        (f"sampled: {role}", f"{found['records']:,} of {found['of']:,}")
        for role, found in measure.details.get("sampled", {}).items()
    ]


def domain_of(metrics: Sequence[MetricResult]) -> tuple[float, float]:
    """Common axis of a metric's rows: from zero (or below) to a round number."""
    numbers = [0.0]
    for metric in metrics:
        if isinstance(metric.outcome, Measure):
            outcome = metric.outcome
            numbers += [n for n in (outcome.value, outcome.low, outcome.high, outcome.reference) if n is not None]
    low, high = min(numbers), max(numbers)
    reach = max(-low, high)
    end = next((round_ for round_ in (0.02, 0.05, 0.1, 0.25, 0.5, 1.0) if reach <= round_), reach)
    start = -end if low < -end / 5 else -end / 5 if low < 0 else 0.0
    return start, end if high > 0 else 0.0
