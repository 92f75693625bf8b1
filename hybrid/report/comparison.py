"""Strategies side by side: what each costs in utility and what it gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.arrays import Array
from hybrid.report.figures import scatter_chart
from hybrid.report.inputs import MetricText, title_of
from hybrid.report.metrics import BETTER, number
from hybrid.report.pareto import pareto_front
from hybrid.report.render import environment

PRIVACY_AXES = ("singling_out", "identical_match", "inference", "linkability", "dcr_share", "dcr_score")
"""Metrics drawn against utility, by preference."""
UTILITY_AXES = ("tstr", "discriminator", "association_difference", "total_variation")
"""The utility they are drawn against: the first of these that was measured."""
MOST_PICTURES = 4
MOST_MEANS = 8


@dataclass(frozen=True)
class _Axis:
    """One metric of the synthetic table: its column in the comparison, and how to read it."""

    column: str
    title: str
    better: str
    sign: int
    """1 if higher is better, -1 if lower is."""

    @property
    def in_baseline(self) -> str:
        """The column of the same metric for the generator alone."""
        return self.column.replace("synthetic.", "baseline.", 1)


def render_comparison(
    title: str,
    comparison: pd.DataFrame,
    factors: Sequence[str],
    metrics: Sequence[str],
    texts: Mapping[str, MetricText] | None = None,
) -> str:
    """A comparison as one self-contained HTML document.

    Parameters
    ----------
    title : str
        Heading.
    comparison : pandas.DataFrame
        One row per configuration and seed: ``configuration``, a column per factor, ``seed``, ``status`` ("ok" or
        not), ``reason``, possibly ``verdict``, and a column per metric.
    factors : sequence of str
        Columns that say what was varied.
    metrics : sequence of str
        Columns ``<stage>.<metric>[.<column>]``; a missing value is a metric without a number.
    texts : mapping of str to MetricText, optional
        Explanations by metric name (``hybrid.report.describe``). Without a direction a metric is in the table,
        but in no picture.

    Returns
    -------
    str
        HTML with inline styles and figures; its one script sorts the table and loads nothing.
    """
    ok = comparison[comparison["status"] == "ok"]
    privacy, utility = _axes(metrics, texts or {}, PRIVACY_AXES), _axes(metrics, texts or {}, UTILITY_AXES)
    pictures = [_picture(ok, factors, axis, utility[0]) for axis in privacy[:MOST_PICTURES]] if utility else []
    means = (privacy + utility)[:MOST_MEANS]
    return (
        environment()
        .get_template("comparison.html")
        .render(
            title=title,
            n_configurations=comparison["configuration"].nunique(),
            n_rows=len(comparison),
            n_failed=len(comparison) - len(ok),
            pictures=pictures,
            configurations=_configurations(comparison, factors, [picture["front"] for picture in pictures]),
            means=means,
            factors=[(factor, _means(ok, factor, means)) for factor in factors],
            header=_header(comparison, factors, metrics),
            rows=_rows(comparison, factors, metrics),
            texts=_explained(metrics, texts or {}),
        )
    )


def _axes(metrics: Sequence[str], texts: Mapping[str, MetricText], preferred: Sequence[str]) -> list[_Axis]:
    axes = []
    for name in preferred:
        text = texts.get(name)
        for column in metrics:
            stage, _, rest = column.partition(".")
            found, _, about = rest.partition(".")
            if stage == "synthetic" and found == name and text and text.direction and text.family:
                shown = text.title + (f", {about}" if about else "")
                better = BETTER[text.family, text.direction]
                axes.append(_Axis(column, shown, better, 1 if text.direction == "higher" else -1))
    return axes


def _picture(ok: pd.DataFrame, factors: Sequence[str], privacy: _Axis, utility: _Axis) -> dict[str, Any]:
    columns = [privacy.column, utility.column]
    grouped = ok.groupby("configuration", sort=False)
    mean, low, high = (getattr(grouped[columns], name)() for name in ("mean", "min", "max"))
    front = pareto_front(*(axis.sign * mean[axis.column].to_numpy(float) for axis in (privacy, utility)))
    settings = grouped[list(factors)].first()
    titles = [
        f"{name}: {', '.join(f'{factor} = {row[factor]}' for factor in factors)}" for name, row in settings.iterrows()
    ]
    return {
        "privacy": privacy,
        "utility": utility,
        "front": [str(name) for name, on in zip(mean.index, front, strict=True) if on],
        "chart": scatter_chart(
            names=[str(name) for name in mean.index],
            titles=titles,
            x=_spans(mean, low, high, utility.column),
            y=_spans(mean, low, high, privacy.column),
            front=front,
            baseline=_baseline(ok, privacy, utility),
            labels=(f"{utility.title} ({utility.better})", f"{privacy.title} ({privacy.better})"),
        ),
    }


def _configurations(
    comparison: pd.DataFrame, factors: Sequence[str], fronts: Sequence[Sequence[str]]
) -> list[tuple[str, list[str], int, int]]:
    """Name, settings, how many runs ended well, and how many fronts it is on."""
    return [
        (
            str(name),
            [str(runs[factor].iloc[0]) for factor in factors],
            int((runs["status"] == "ok").sum()),
            sum(str(name) in front for front in fronts),
        )
        for name, runs in comparison.groupby("configuration", sort=False)
    ]


def _spans(mean: pd.DataFrame, low: pd.DataFrame, high: pd.DataFrame, column: str) -> Array:
    """Mean, least and greatest value over the seeds; shape (n_configurations, 3)."""
    spans: Array = np.column_stack([table[column].to_numpy(float) for table in (mean, low, high)])
    return spans


def _baseline(ok: pd.DataFrame, privacy: _Axis, utility: _Axis) -> Array:
    """Distinct points (utility, privacy) of generators without anonymization, over the seeds; shape (n, 2)."""
    columns = [utility.in_baseline, privacy.in_baseline]
    if not set(columns) <= set(ok.columns):
        return np.zeros((0, 2))
    points: Array = ok.groupby("configuration")[columns].mean().dropna().drop_duplicates().to_numpy(float)
    return points


def _means(ok: pd.DataFrame, factor: str, axes: Sequence[_Axis]) -> list[tuple[str, int, list[str]]]:
    """Per value of the factor: how many runs, and the mean of each metric over them, with its standard error."""
    rows = []
    for value, runs in ok.groupby(factor, sort=False, dropna=False):
        cells = [_mean_text(runs[axis.column].dropna()) for axis in axes]
        rows.append((str(value), len(runs), cells))
    return rows


def _mean_text(values: pd.Series) -> str:
    if values.empty:
        return "–"
    error = f" ± {number(float(values.sem()))}" if len(values) > 1 else ""
    return number(float(values.mean())) + error


def _header(comparison: pd.DataFrame, factors: Sequence[str], metrics: Sequence[str]) -> list[tuple[str, bool]]:
    """Columns of the big table, and whether they hold numbers."""
    known = ["configuration", *factors, "seed", "status", "verdict"]
    texts = [(name, False) for name in known if name in comparison.columns]
    return texts + [(name, True) for name in metrics]


def _rows(comparison: pd.DataFrame, factors: Sequence[str], metrics: Sequence[str]) -> list[dict[str, Any]]:
    header = _header(comparison, factors, metrics)
    rows = []
    for record in comparison.to_dict("records"):
        cells = [_cell(record.get(name), numeric) for name, numeric in header]
        reason = record.get("reason")
        rows.append({"cells": cells, "reason": str(reason) if record["status"] != "ok" and reason else ""})
    return rows


def _cell(value: Any, numeric: bool) -> tuple[str, str, bool]:
    """Text, key to sort by, and whether it is a number."""
    missing = value is None or (isinstance(value, float) and not np.isfinite(value))
    if numeric:
        return ("–", "", True) if missing else (number(float(value)), repr(float(value)), True)
    return ("" if missing else str(value), "" if missing else str(value), False)


def _explained(metrics: Sequence[str], texts: Mapping[str, MetricText]) -> list[tuple[str, str, str]]:
    """Name, sentence and direction of every metric in the table."""
    names = dict.fromkeys(column.partition(".")[2].partition(".")[0] for column in metrics)
    rows = []
    for name in names:
        text = texts.get(name, MetricText(title_of(name), ""))
        better = BETTER[text.family, text.direction] if text.family and text.direction else ""
        rows.append((name, text.sentence, better))
    return rows
