"""The pages between the metrics: nearest records, subgroups, secrets, importances, and what anonymizing improved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from hybrid.evaluation.improvement import improvements
from hybrid.evaluation.measure import Evaluation, Measure, Subject
from hybrid.publication.verdict import SEVERITY, Status, Verdict
from hybrid.report.charts import svg
from hybrid.report.run.inputs import MetricText, title_of
from hybrid.report.run.metrics import number

CURVES = (
    ("to_train", "synthetic-line", "synthetic rows to training records"),
    ("to_control", "second-line", "synthetic rows to people never seen"),
    ("control_to_train", "axis-line", "people never seen to training records"),
)
MOST_GROUPS = 12


@dataclass(frozen=True)
class ExposureRow:
    """One line of a table: names, then numbers as text."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]


def _measure(evaluation: Evaluation, name: str) -> Measure | None:
    found = evaluation.find(name, "synthetic")
    return found.outcome if found is not None and isinstance(found.outcome, Measure) else None


def nearest_chart(evaluation: Evaluation) -> Markup:
    """Distance to the nearest record at each share of rows: to train beside to control; empty if not measured."""
    measure = _measure(evaluation, "dcr_share")
    curves: Mapping[str, Sequence[float]] = {} if measure is None else measure.details.get("curves", {})
    if not curves:
        return Markup()
    width, height, left, bottom = 520.0, 230.0, 44.0, 190.0
    top = max(max(curves[name]) for name, *_ in CURVES) or 1.0
    x = [left + share * (width - left - 10) for share in curves["quantiles"]]

    def y(distance: float) -> float:
        return bottom - distance / top * (bottom - 14)

    parts = [svg.line(left, bottom, width - 10, bottom, "axis")]
    for tick in np.linspace(0, top, 5):
        parts.append(svg.line(left, y(tick), width - 10, y(tick), "grid"))
        parts.append(svg.text(left - 6, y(tick) + 4, f"{tick:.2g}", "tick", text_anchor="end"))
    for share in (0.01, 0.25, 0.5, 0.75, 0.99):
        at = left + share * (width - left - 10)
        parts.append(svg.text(at, bottom + 16, f"{100 * share:.0f} %", "tick", text_anchor="middle"))
    for name, class_, words in CURVES:
        points = "L".join(f"{a:.1f} {y(d):.1f}" for a, d in zip(x, curves[name], strict=True))
        parts.append(svg.path(f"M{points}", class_, words))
    parts.append(svg.text((left + width) / 2, height - 4, "share of rows", text_anchor="middle"))
    return Markup(svg.figure(width, height, parts, "Distance to the nearest record, in train and in control"))


def subgroup_rows(evaluation: Evaluation) -> dict[str, list[ExposureRow]]:
    """The most exposed subgroups, by attack; only groups that the evaluation found large enough to name."""
    tables = {}
    for name in ("membership_subgroups", "inference_subgroups"):
        measure = _measure(evaluation, name)
        if measure is not None:
            tables[name] = [_subgroup(row) for row in measure.details["most_exposed"][:MOST_GROUPS]]
    return tables


def _subgroup(row: Mapping[str, Any]) -> ExposureRow:
    told = f"{row['secret']} of " if "secret" in row else ""
    names = (f"{told}{row['column']} {row['group']}",)
    bounds = f"{number(row['low'])} to {number(row['high'])}"
    return ExposureRow(names, (f"{row['members']:,}", number(row["value"]), bounds))


def secret_rows(evaluation: Evaluation) -> list[ExposureRow]:
    """For every secret how often it is told of training people and of people never seen, and the risk."""
    rows = []
    for metric in evaluation.metrics:
        outcome = metric.outcome
        if metric.name != "inference" or metric.stage != "synthetic" or not isinstance(outcome, Measure):
            continue
        told = [_rate(outcome, side) for side in ("train", "control")]
        bounds = f"{number(outcome.low)} to {number(outcome.high)}"
        rows.append((outcome.low or 0.0, ExposureRow((metric.column or "",), (*told, number(outcome.value), bounds))))
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]


def _rate(measure: Measure, side: str) -> str:
    low, high = measure.details[f"{side}_interval"]
    return f"{number(measure.details[f'{side}_rate'])} ({number(low)} to {number(high)})"


def importance_rows(evaluation: Evaluation) -> dict[str, list[ExposureRow]]:
    """For every target the columns by their importance to a model of the real rows, beside that of the synthetic."""
    tables = {}
    for metric in evaluation.metrics:
        outcome = metric.outcome
        if metric.name != "importance_agreement" or metric.stage != "synthetic" or not isinstance(outcome, Measure):
            continue
        real, synthetic = outcome.details["real"], outcome.details["table"]
        ranks = {name: at for at, name in enumerate(sorted(synthetic, key=lambda name: -synthetic[name]), start=1)}
        order = sorted(real, key=lambda name: -real[name])[:MOST_GROUPS]
        tables[metric.column or ""] = [
            ExposureRow((name,), (str(at), number(real[name]), str(ranks[name]), number(synthetic[name])))
            for at, name in enumerate(order, start=1)
        ]
    return tables


def improvement_rows(evaluation: Evaluation, texts: Mapping[str, MetricText]) -> list[ExposureRow]:
    """What the way does beyond the generator alone, metric by metric, in words."""
    order = {True: 0, False: 0, None: 1}
    rows = []
    for found in sorted(improvements(evaluation), key=lambda one: (one.low is None, order[one.better])):
        title = texts[found.name].title if found.name in texts else title_of(found.name)
        about = f"{title}: {found.column}" if found.column else title
        words = {True: "better", False: "worse", None: "no difference beyond the interval"}[found.better]
        bounds = "–" if found.low is None else f"{number(found.low)} to {number(found.high)}"
        words = "no interval" if found.low is None else words
        shares = (found.relative, found.printed)
        columns = ("–" if share is None else f"{100 * share:.0f} %".replace("-", "−") for share in shares)
        rows.append(ExposureRow((about, words), (number(found.difference), bounds, *columns)))
    if all(row.numbers[-1] == "–" for row in rows):
        return [ExposureRow(row.names, row.numbers[:-1]) for row in rows]
    return rows


def stage_verdict_rows(verdicts: Mapping[Subject, Verdict]) -> list[tuple[str, list[str]]]:
    """Every rule with its worst status at each stage, the rules on which the stages differ first."""
    worst: dict[str, dict[Subject, Status]] = {}
    for stage, verdict in verdicts.items():
        for check in verdict.checks:
            known = worst.setdefault(check.rule, {})
            if stage not in known or SEVERITY[check.status] > SEVERITY[known[stage]]:
                known[stage] = check.status
    rows = [(rule, [found.get(stage, "–") for stage in verdicts]) for rule, found in worst.items()]
    return sorted(rows, key=lambda row: len(set(row[1])) == 1)
