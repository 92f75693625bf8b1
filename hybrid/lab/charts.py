"""Charts of the laboratory's page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from hybrid.lab.contestants import title
from hybrid.lab.league import Entry
from hybrid.lab.tracks import Track
from hybrid.report.charts import svg

WIDTH, HEIGHT = 250.0, 120.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 8.0, 8.0, 22.0
LEAST_APART = 42.0
"""Least distance between two labels of an axis."""


class Cost(NamedTuple):
    """A metric in the chart of costs."""

    title: str
    seconds: float
    power: float
    """Share of the trials with a leak that noticed it, 0..1."""
    trusted: bool


def dial_value(track: Track, position: int) -> str:
    """Value of a level as it is written on an axis."""
    value = track.series.levels[position].value
    if track.series.scale == "share":
        return f"{100 * value:g} %"
    if position == 0 and track.series.scale == "order":
        return "none"
    return f"{value:g}"


def curve_chart(track: Track, entry: Entry) -> Markup:
    """Excess over the levels.

    One thin line per repetition, the mean thick, the band of tables without a leak behind.
    """
    curve = track.curve
    band = entry.null_band
    values = np.concatenate([curve.excess.ravel(), band, [0.0]])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    high = high if high > low else low + 1

    def x(position: float) -> float:
        return LEFT + position * (WIDTH - LEFT - RIGHT) / max(len(track.series.levels) - 1, 1)

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def line(means: Sequence[float], class_: str) -> str:
        points = [f"{x(at):.1f} {y(value):.1f}" for at, value in enumerate(means) if not math.isnan(value)]
        return svg.path("M" + "L".join(points), class_) if len(points) > 1 else ""

    parts = [svg.rect(LEFT, y(band[1]), WIDTH - LEFT - RIGHT, y(band[0]) - y(band[1]), "null-band", "without a leak")]
    parts += [svg.line(LEFT, y(0), WIDTH - RIGHT, y(0), "axis")]
    parts += [line(seed, "seed-line") for seed in curve.excess.T.tolist()]
    parts.append(line(curve.means.tolist(), "synthetic-line"))
    if track.sensitivity.position is not None and track.series.scale != "none":
        at = track.sensitivity.position + 1
        shown = f"noticed from {dial_value(track, at)} on"
        parts.append(svg.line(x(at), TOP, x(at), HEIGHT - BOTTOM, "limit"))
        parts.append(svg.circle(x(at), y(float(curve.means[at])), 4, "synthetic", shown))
    last = len(track.series.levels) - 1
    for at in _labelled(last + 1):
        anchor = "start" if at == 0 else "end" if at == last else "middle"
        parts.append(svg.text(x(at), HEIGHT - 6, dial_value(track, at), "tick", text_anchor=anchor))
    for value in (high, 0.0):
        shown = f"{value:.2f}".rstrip("0").rstrip(".")
        parts.append(svg.text(LEFT - 4, y(value) + 4, shown, "tick", text_anchor="end"))
    words = f"Excess over {track.series.dial}: {_described(track)}"
    return Markup(svg.figure(WIDTH, HEIGHT, [part for part in parts if part], words))


def _labelled(n_levels: int) -> list[int]:
    """Levels whose values are written below the axis, without overlap."""
    apart = math.ceil(LEAST_APART * max(n_levels - 1, 1) / (WIDTH - LEFT - RIGHT))
    last = n_levels - 1
    return [*range(0, max(last - apart, 0) + 1, apart), last] if last else [0]


def sparkline(track: Track) -> Markup:
    """The mean curve without axes."""
    means = track.curve.means
    known = means[~np.isnan(means)]
    if len(known) < 2:
        return Markup("")
    low, high = min(float(known.min()), 0.0), max(float(known.max()), 1e-9)
    points = [
        f"{2 + at * 76 / (len(means) - 1):.1f} {20 - (value - low) / (high - low) * 17:.1f}"
        for at, value in enumerate(means)
        if not math.isnan(value)
    ]
    parts = [svg.path("M" + "L".join(points), "synthetic-line")]
    return Markup(svg.figure(80, 22, parts, _described(track), class_="spark"))


def cost_chart(costs: Sequence[Cost]) -> Markup:
    """Share of leaks noticed against processor seconds; trusted metrics are filled.

    Names stand beside the metrics that no other one beats in both.
    """
    width, height, left, bottom = 640.0, 300.0, 46.0, 36.0
    seconds = [max(each.seconds, 1e-3) for each in costs]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)) + 1e-9)
    high = max(high, low + 1)

    def x(value: float) -> float:
        return left + (math.log10(max(value, 1e-3)) - low) / (high - low) * (width - left - 110)

    def y(value: float) -> float:
        return 12 + (1 - value) * (height - 12 - bottom)

    parts = [svg.line(left, y(0), width - 100, y(0), "axis")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(svg.line(left, y(share), width - 100, y(share), "grid"))
        parts.append(svg.text(left - 6, y(share) + 4, f"{100 * share:.0f} %", "tick", text_anchor="end"))
    parts += [
        svg.text(x(10.0**power), height - 18, f"{10.0**power:g} s", "tick", text_anchor="middle")
        for power in range(low, high + 1)
    ]
    parts.append(svg.text(left, height - 3, "processor seconds per table", "tick"))
    front: list[float] = []
    for each in sorted(costs, key=lambda each: (each.seconds, -each.power)):
        title = f"{each.title}: {each.power:.0%} noticed, {each.seconds:.2f} s"
        parts.append(svg.circle(x(each.seconds), y(each.power), 4.5, "synthetic" if each.trusted else "hollow", title))
        if each.power > max(front, default=-1.0):
            front.append(each.power)
            parts.append(svg.text(x(each.seconds) + 8, y(each.power) + 4, each.title, "tick"))
    return Markup(svg.figure(width, height, parts, "Share of leaks noticed against processor seconds, per metric"))


def correlation_chart(matrix: pd.DataFrame) -> Markup:
    """Correlations as squares below the diagonal: the fuller, the nearer to 1 or -1.

    In each the correlation in hundredths. Negative ones have a colour of their own.

    Parameters
    ----------
    matrix : pandas.DataFrame
        Of metrics, in -1..1, NaN where there is none.
    """
    names = list(matrix.index)
    left, cell = 190.0, 22.0
    parts = []
    for row, one in enumerate(names):
        y = 6 + row * cell
        parts.append(svg.text(left - 6, y + 15, f"{title(one)} {row + 1}", "tick", longest=34, text_anchor="end"))
        for column, other in enumerate(names[:row]):
            value = float(matrix.iat[row, column])
            if math.isnan(value):
                continue
            x, side = left + column * cell, max(abs(value), 0.08) * (cell - 2)
            said = f"{title(one)} and {title(other)}: {value:.2f}"
            centre = (cell - side) / 2
            colour = "negative" if value < 0 else "agreeing"
            parts.append(svg.rect(x + centre, y + centre, side, side, colour, said))
            parts.append(svg.text(x + cell / 2, y + 15, f"{100 * value:.0f}", "cell", text_anchor="middle"))
        parts.append(svg.text(left + row * cell + cell / 2, y + 15, str(row + 1), "tick", text_anchor="middle"))
    size = len(names) * cell
    return Markup(svg.figure(left + size + 4, size + 10, parts, "Rank correlations of the metrics, in hundredths"))


def _described(track: Track) -> str:
    """The means as text."""
    means = track.curve.means
    known = (at for at in range(len(means)) if not math.isnan(means[at]))
    return "; ".join(f"{dial_value(track, at)}: {means[at]:.3f}" for at in known)
