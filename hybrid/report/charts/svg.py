"""SVG elements and scales of the charts, and the HTML around charts in a notebook or a file.

All text is escaped; colours are CSS classes of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np
from markupsafe import Markup

from hybrid.base.arrays import Array
from hybrid.base.atomic import write_text

_OF_MARK = re.compile(r"(<(?:rect|circle|path)\b[^>]*>)<title>[^<]*</title>")


def element(name: str, content: str = "", **attributes: str | float) -> str:
    """One element; ``class_`` and ``stroke_width`` become ``class`` and ``stroke-width``.

    ``content`` is markup already; attribute values are escaped here.
    """
    text = "".join(f' {key.strip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{text}>{content}</{name}>" if content else f"<{name}{text}/>"


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def figure(
    width: float, height: float, parts: Sequence[str], description: str, *, class_: str = "figure", styled: bool = True
) -> Markup:
    """An ``<svg>`` that scales with its container, with a text alternative.

    Without ``styled`` it has no inline style, which the policy of the desk's pages forbids.
    """
    content = element("title", escape(description)) + "".join(parts)
    box = {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "class_": class_}
    style = {"style": f"--natural:{width:g}px", "preserveAspectRatio": "xMidYMid meet"} if styled else {}
    return Markup(element("svg", content, **box, **style))


def quiet(drawn: Markup) -> Markup:
    """A figure whose marks say nothing when the pointer rests on them."""
    return Markup(_OF_MARK.sub(r"\1", str(drawn)))


def rect(x: float, y: float, width: float, height: float, class_: str, title: str = "") -> str:
    """A rectangle; ``title`` is shown when the pointer rests on it."""
    return element("rect", _title(title), x=x, y=y, width=max(width, 0), height=max(height, 0), class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def circle(x: float, y: float, radius: float, class_: str, title: str = "") -> str:
    return element("circle", _title(title), cx=x, cy=y, r=radius, class_=class_)


def path(steps: str, class_: str, title: str = "") -> str:
    """A path in SVG notation."""
    return element("path", _title(title), d=steps, class_=class_)


def curve(points: Iterable[tuple[float, float]], class_: str, title: str = "") -> str:
    return path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), class_, title)


def grid(left: float, right: float, ticks: Iterable[tuple[float, str]]) -> list[str]:
    """Lines across a chart at heights, each with its text on the left."""
    return [
        part
        for y, shown in ticks
        for part in (line(left, y, right, y, "grid"), text(left - 6, y + 4, shown, "tick", text_anchor="end"))
    ]


def below(y: float, ticks: Iterable[tuple[float, str]]) -> list[str]:
    """Texts of an axis at distances from the left."""
    return [text(x, y, shown, "tick", text_anchor="middle") for x, shown in ticks]


def diamond(x: float, y: float, radius: float, class_: str, title: str = "") -> str:
    steps = f"M{x - radius:.1f} {y:.1f}L{x:.1f} {y - radius:.1f}L{x + radius:.1f} {y:.1f}L{x:.1f} {y + radius:.1f}Z"
    return path(steps, class_, title)


def text(x: float, y: float, content: str, class_: str = "", *, longest: int = 0, **attributes: str | float) -> str:
    """Text, cut after ``longest`` characters (0: never), then in full as its title."""
    shown = content if not longest or len(content) <= longest else content[: longest - 1].rstrip() + "…"
    whole = _title(content) if shown != content else ""
    return element("text", escape(shown) + whole, x=x, y=y, class_=class_ or "label", **attributes)


def _title(content: str) -> str:
    return element("title", escape(content)) if content else ""


LEGEND = Markup("<p>Bars: real. Diamonds and lines: synthetic.</p>")


@dataclass(frozen=True)
class Figure:
    """Charts with their titles, in the look of the report."""

    charts: tuple[tuple[str, Markup], ...]
    """Title and SVG of each; an empty SVG says that too few records are there to show any."""
    text: Markup = LEGEND
    """What stands before them."""

    def __repr__(self) -> str:
        return f"Figure: {', '.join(title for title, _ in self.charts)}; .write(FILE) keeps it as HTML"

    def _repr_html_(self) -> str:
        cards = "".join(
            f"<figure><figcaption>{escape(title)}</figcaption>{chart or 'too few records'}</figure>"
            for title, chart in self.charts
        )
        return f'<div class="hybrid-figure"><style>{_style()}</style>{self.text}{cards}</div>'

    def write(self, path: Path | str) -> None:
        """Write the charts as one HTML file that loads nothing."""
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Charts</title>'
        write_text(Path(path), f"{head}<body>{self._repr_html_()}</body></html>")


@cache
def _style() -> str:
    """Rules of the report about charts, for one element only."""
    lines = files("hybrid.report").joinpath("templates/style.css").read_text(encoding="utf-8").splitlines()
    colours = "\n".join(lines[: lines.index("* { box-sizing: border-box; }")]).replace(":root", ".hybrid-figure")
    rules = "\n".join(line for line in lines if line.startswith("svg"))
    layout = "display: flex; flex-wrap: wrap; gap: 1rem; figure { margin: 0; width: 22rem; } p { width: 100%; }"
    return f"{colours}\n.hybrid-figure {{ {layout}\n{rules} }}"


def scale(values: Array, start: float, end: float) -> tuple[Callable[[float], float], Array]:
    """Scale from values to pixels with margins, and its round ticks."""
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = 0.07 * (high - low) or 0.05 * abs(high) or 0.5
    low, high = low - room, high + room
    power = 10.0 ** np.floor(np.log10((high - low) / 5))
    step = next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= 6)
    ticks = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0
    return linear(low, high, start, end), ticks


def linear(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Scale from values to pixels: ``low`` at ``start``, ``high`` at ``end``."""

    def place(value: float) -> float:
        return float(start + (value - low) / (high - low) * (end - start))

    return place
