"""Put everything a steward needs onto one page that opens from disk and prints."""

from __future__ import annotations

from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hybrid.base.arrays import Array
from hybrid.report.charts.figures import (
    STAGES,
    class_size_chart,
    column_chart,
    heat_map,
    loss_chart,
    percent,
    trade_off_chart,
)
from hybrid.report.charts.side_by_side import Associations, TableComparison
from hybrid.report.run.exposure import (
    importance_rows,
    improvement_rows,
    nearest_chart,
    secret_rows,
    stage_verdict_rows,
    subgroup_rows,
)
from hybrid.report.run.history import history_chart
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import metric_groups, number, stage_rows

MOST_COLUMNS = 120
"""Columns drawn; of wider tables those that differ most."""
MOST_PAIRED_COLUMNS = 20
"""Columns in the maps of associations; of wider tables those with the strongest ones."""
VERDICTS = {
    "pass": ("✓", "Pass", "Every rule of the policy is met."),
    "review": ("!", "Review", "A person must decide: at least one rule asks for it, none blocks."),
    "block": ("✕", "Block", "At least one rule of the policy is broken; this table must not leave."),
}


def environment() -> Environment:
    """The templates of this package; everything they print is escaped."""
    templates = Environment(
        loader=PackageLoader("hybrid.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"number": number, "percent": percent, "count": "{:,}".format}
    return templates


def render_report(inputs: ReportInputs) -> str:
    """The report of one run, as one self-contained HTML document.

    Parameters
    ----------
    inputs : ReportInputs
        Aggregates; what is absent is said to be absent.

    Returns
    -------
    str
        HTML with inline styles and figures: no script, no link to anything outside the file.
    """
    comparison = inputs.comparison
    return (
        environment()
        .get_template("report.html")
        .render(
            run=inputs,
            sections=_sections(inputs),
            verdict=VERDICTS[inputs.verdict.status] if inputs.verdict else None,
            figures=_headline(inputs),
            losses=loss_chart(inputs.losses) if inputs.losses else None,
            most_rows=max((step.rows for step in inputs.walk), default=0) or 1,
            anonymity=_anonymity(inputs),
            columns=_columns(comparison) if comparison else [],
            n_columns=len(comparison.columns) if comparison else 0,
            pairs=_pairs(comparison.associations) if comparison else None,
            utility=metric_groups(inputs.evaluation, "utility", inputs.metric_texts),
            fidelity=metric_groups(inputs.evaluation, "fidelity", inputs.metric_texts),
            privacy=metric_groups(inputs.evaluation, "privacy", inputs.metric_texts),
            stage_names=STAGES,
            stages=stage_rows(inputs.evaluation, inputs.metric_texts),
            stage_verdicts=stage_verdict_rows(inputs.stage_verdicts),
            signs={status: f"{sign} {status}" for status, (sign, *_) in VERDICTS.items()},
            improvements=improvement_rows(inputs.evaluation, inputs.metric_texts),
            nearest=nearest_chart(inputs.evaluation),
            secrets=secret_rows(inputs.evaluation),
            subgroups=subgroup_rows(inputs.evaluation),
            importances=importance_rows(inputs.evaluation),
            history=[(track, history_chart(track)) for track in inputs.history],
        )
    )


def _sections(inputs: ReportInputs) -> list[tuple[str, str]]:
    """Anchor and title of every section shown."""
    sections = [
        ("verdict", "Verdict"),
        ("walk", "Walk"),
        ("anonymity", "Anonymity"),
        ("columns", "Columns"),
        ("pairs", "Pairs"),
        ("utility", "Utility"),
        ("privacy", "Privacy"),
        ("stages", "Stages"),
        ("changes", "Changes"),
        ("limits", "Limits and sources"),
    ]
    return [section for section in sections if section[0] != "changes" or inputs.changes is not None]


def _headline(inputs: ReportInputs) -> list[tuple[str, str]]:
    """The few figures that stand beside the verdict."""
    figures = []
    if inputs.walk:
        figures += [(f"{inputs.walk[0].rows:,}", "records came in"), (f"{inputs.walk[-1].rows:,}", "rows go out")]
    if inputs.anonymization:
        result = inputs.anonymization
        figures += [
            (f"{result['min_class_size']:,}", f"records in the smallest class (k = {result['k']})"),
            (percent(result["suppressed"] / max(result["records"], 1)), "of the records suppressed"),
        ]
    return figures


def _anonymity(inputs: ReportInputs) -> dict[str, Any] | None:
    result = inputs.anonymization
    if result is None:
        return None
    before, after = inputs.class_sizes_before, inputs.class_sizes_after
    sizes_known = before is not None or after is not None
    least = inputs.comparison.minimum_cell if inputs.comparison else result["k"]
    loss = result["loss"]
    per_attribute = loss.get("per_attribute") or {}
    levels = result["levels"] or {}
    names = list(dict.fromkeys([*levels, *per_attribute]))
    return {
        "result": result,
        "models": [_model(model) for model in result["models"]],
        "classes": class_size_chart(before, after, result["k"], least) if sizes_known else Markup(),
        "unique": _unique(before, least),
        "levels": [(name, levels.get(name), inputs.top_levels.get(name), per_attribute.get(name)) for name in names],
        "trade_off": trade_off_chart(inputs.trade_off) if inputs.trade_off else Markup(),
        "cells": sum(inputs.fallbacks.values()),
    }


def _unique(sizes: Array | None, least: int) -> float | None:
    """Share of records alone in their class; None where it is unknown, or stands for few of them."""
    if sizes is None:
        return None
    alone = int((sizes == 1).sum())
    return alone / max(int(sizes.sum()), 1) if alone == 0 or alone >= least else None


def _model(model: dict[str, Any]) -> str:
    """A privacy model in one line: its name, then its options."""
    name = str(model.get("model", "")).replace("_", "-")
    options = ", ".join(f"{key} = {value}" for key, value in model.items() if key != "model" and value is not None)
    return f"{name} ({options})" if options else name


def _columns(comparison: TableComparison) -> list[tuple[Any, Markup]]:
    views = list(comparison.columns)
    if len(views) > MOST_COLUMNS:
        worst = sorted(views, key=lambda view: -(view.distance or 0))[:MOST_COLUMNS]
        views = [view for view in views if view in worst]
    return [(view, column_chart(view)) for view in views]


def _pairs(associations: Associations) -> dict[str, Any] | None:
    n = len(associations.names)
    if n < 2:
        return None
    real, synthetic, control = associations.real, associations.synthetic, associations.control
    difference = synthetic - real
    strength = np.nan_to_num(np.maximum(real, synthetic) * (1 - np.eye(n))).sum(axis=1)
    kept = np.sort(np.argsort(-strength, kind="stable")[:MOST_PAIRED_COLUMNS])
    grid = np.ix_(kept, kept)
    names = [associations.names[at] for at in kept]
    rows, columns = np.tril_indices(n, -1)
    order = np.argsort(-np.nan_to_num(np.abs(difference[rows, columns])), kind="stable")[:10]
    table = [
        {
            "pair": (associations.names[columns[at]], associations.names[rows[at]]),
            "real": float(real[rows[at], columns[at]]),
            "synthetic": float(synthetic[rows[at], columns[at]]),
            "difference": float(difference[rows[at], columns[at]]),
            "control": None if control is None else float((control - real)[rows[at], columns[at]]),
        }
        for at in order
        if np.isfinite(difference[rows[at], columns[at]])
    ]
    return {
        "n": n,
        "shown": len(names),
        "stacked": len(names) > 15,
        "map": heat_map(names, real[grid], synthetic[grid], "Associations of pairs of columns"),
        "differences": heat_map(names, *(difference[grid],) * 2, "Synthetic minus real", signed=True),
        "table": table,
        "mean": _mean_absolute(difference),
        "reference": None if control is None else _mean_absolute(control - real),
    }


def _mean_absolute(matrix: Any) -> float | None:
    cells = matrix[np.tril_indices(len(matrix), -1)]
    cells = cells[np.isfinite(cells)]
    return float(np.abs(cells).mean()) if len(cells) else None
