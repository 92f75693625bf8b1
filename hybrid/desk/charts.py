"""Charts of the desk as inline SVG, styled by classes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from hybrid.report.charts import svg

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640.0, 280.0, 56.0, 70.0, 16.0, 28.0


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Parameters
    ----------
    name : str
        Stands at its end.
    values : tuple of (float or None)
        One for each position of the axis; None: there is none.
    chosen : bool
        Drawn thick.
    """

    name: str
    values: tuple[float | None, ...]
    chosen: bool = False


@dataclass(frozen=True)
class Dot:
    """One point of a scatter chart."""

    name: str
    x: float
    y: float
    filled: bool = False
    named: bool = False
    """Whether its name stands beside it; else it is its title only."""


def line_chart(lines: Sequence[Line], positions: Sequence[str], at: int, unit: str) -> Markup:
    """Lines over common positions.

    Parameters
    ----------
    lines : sequence of Line
        Values of 0 or more.
    positions : sequence of str
        Labels of the axis.
    at : int
        Position that is marked on the chosen line.
    unit : str
        "%": values are shares, 0..1.
    """
    known = [value for one in lines for value in one.values if value is not None]
    top = max([*known, 1e-9]) * 1.1

    def x(position: int) -> float:
        return LEFT + 14 + position * (WIDTH - LEFT - RIGHT - 14) / max(len(positions) - 1, 1)

    def y(value: float) -> float:
        return TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)

    parts = [svg.line(LEFT, y(0), WIDTH - RIGHT, y(0), "axis")]
    for step in range(5):
        value = top * step / 5
        shown = f"{100 * value:.0f} %" if unit == "%" else f"{value:.3g}"
        parts.append(svg.line(LEFT, y(value), WIDTH - RIGHT, y(value), "grid"))
        parts.append(svg.text(LEFT - 6, y(value) + 4, shown, "tick", text_anchor="end"))
    parts += [
        svg.text(x(place), HEIGHT - 8, label, "tick", text_anchor="middle") for place, label in enumerate(positions)
    ]
    free = HEIGHT
    for one in sorted(lines, key=lambda one: -(one.values[-1] or 0)):
        points = [(x(place), y(value)) for place, value in enumerate(one.values) if value is not None]
        if not points:
            continue
        steps = "M" + "L".join(f"{place:.1f} {height:.1f}" for place, height in points)
        parts.append(svg.path(steps, "line chosen" if one.chosen else "line"))
        parts += [svg.circle(place, height, 3.2, "hollow") for place, height in points]
        free = points[-1][1] if free == HEIGHT else max(points[-1][1], free + 13)
        parts.append(svg.text(points[-1][0] + 8, free + 4, one.name, "tick"))
        marked = one.values[at]
        if one.chosen and marked is not None:
            parts.append(svg.circle(x(at), y(marked), 6, "filled"))
    return _figure(parts, "; ".join(_described(one, positions, unit) for one in lines))


def scatter_chart(dots: Sequence[Dot], across: str, upwards: str, *, log: bool = False) -> Markup:
    """Points over two axes that span them.

    Parameters
    ----------
    dots : sequence of Dot
        One or more; with ``log`` x is above 0.
    across, upwards : str
        Titles of the axes.
    log : bool
        Whether the axis across is logarithmic.
    """

    def scaled(value: float) -> float:
        return math.log10(value) if log else value

    low_x, high_x = _span([scaled(one.x) for one in dots])
    low_y, high_y = _span([one.y for one in dots])

    def x(value: float) -> float:
        return LEFT + (scaled(value) - low_x) / (high_x - low_x) * (WIDTH - LEFT - RIGHT - 60)

    def y(value: float) -> float:
        return TOP + (high_y - value) / (high_y - low_y) * (HEIGHT - TOP - BOTTOM - 12)

    left, right = (10**low_x, 10**high_x) if log else (low_x, high_x)
    parts = [svg.line(LEFT, y(low_y), x(right), y(low_y), "axis"), svg.line(LEFT, y(low_y), LEFT, y(high_y), "axis")]
    for step in range(5):
        value = low_y + step / 4 * (high_y - low_y)
        place = low_x + step / 4 * (high_x - low_x)
        parts.append(svg.line(LEFT, y(value), x(right), y(value), "grid"))
        parts.append(svg.text(LEFT - 6, y(value) + 4, f"{value:.2g}", "tick", text_anchor="end"))
        shown = 10**place if log else place
        parts.append(svg.text(x(shown), y(low_y) + 15, f"{shown:.2g}", "tick", text_anchor="middle"))
    middle = (x(left) + x(right)) / 2
    parts += [svg.text(middle, HEIGHT - 4, across, "tick", text_anchor="middle"), svg.text(2, 10, upwards, "tick")]
    for one in dots:
        parts.append(svg.circle(x(one.x), y(one.y), 5, "filled" if one.filled else "hollow", one.name))
        if one.named:
            parts.append(svg.text(x(one.x) + 8, y(one.y) + 4, one.name, "tick", longest=24))
    told = "; ".join(f"{one.name}: {one.x:.3g}, {one.y:.3g}" for one in dots)
    return _figure(parts, f"{across}, {upwards}. {told}")


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Least and greatest value with a margin."""
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    return low - room, high + room


def _figure(parts: Sequence[str], description: str) -> Markup:
    """An ``<svg>`` without inline style, which the policy of the pages forbids."""
    content = svg.element("title", escape(description)) + "".join(parts)
    return Markup(svg.element("svg", content, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", role="img", class_="chart"))


def _described(one: Line, positions: Sequence[str], unit: str) -> str:
    shown = [
        f"{label}: {'–' if value is None else f'{100 * value:.1f} %' if unit == '%' else f'{value:.4g}'}"
        for label, value in zip(positions, one.values, strict=True)
    ]
    return f"{one.name}: {', '.join(shown)}"
