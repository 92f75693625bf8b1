"""Charts of the laboratory, the tuning and the desk, as inline SVG.

Everywhere: what is real is a filled bar, what is synthetic a line or a diamond, a reference a hollow diamond; no
figure needs colour to be read. Sizes are in CSS pixels at natural size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from hybrid.base.arrays import Array
from hybrid.base.language import ENGLISH, Language
from hybrid.report.charts import svg


@dataclass(frozen=True)
class FrontierPoint:
    """One setting: success of an attack with its interval, and usefulness."""

    name: str
    value: float
    low: float
    high: float
    useful: float
    decided: bool = True
    """Whether it was among the last, which are drawn with their intervals and names."""
    chosen: bool = False


def frontier_chart(points: Sequence[FrontierPoint], allowed: float, across: str, upwards: str) -> Markup:
    """Usefulness against disclosure; the chosen setting is filled, what is allowed a dashed line."""
    width, height, left = 560.0, 260.0, 46.0
    ends = [end for one in points for end in ((one.low, one.high) if one.decided else (one.value,))]
    to_x, x_ticks = svg.scale(np.array([*ends, allowed]), left, width - 10)
    to_y, y_ticks = svg.scale(np.array([one.useful for one in points]), height, 24)
    parts = [svg.line(left, height, width, height, "axis")]
    parts += svg.below(height + 15, [(to_x(at), f"{at:.2f}") for at in x_ticks])
    parts += svg.grid(left, width, [(to_y(tick), f"{tick:.2f}") for tick in y_ticks])
    parts.append(svg.line(to_x(allowed), 18, to_x(allowed), height, "limit"))
    parts.append(svg.text(to_x(allowed) - 5, 24, "allowed", "tick", text_anchor="end"))
    for one in sorted(points, key=lambda one: (one.decided, one.chosen)):
        x, y = to_x(one.value), to_y(one.useful)
        title = f"{one.name}: {one.value:.3f} ({one.low:.3f} to {one.high:.3f}), usefulness {one.useful:.3f}"
        if one.decided:
            parts.append(svg.line(to_x(one.low), y, to_x(one.high), y, "whisker"))
            parts.append(svg.text(x, y - 9, one.name, "label", text_anchor="middle"))
        parts.append(svg.circle(x, y, 5 if one.decided else 3, "synthetic" if one.chosen else "hollow", title))
    parts.append(svg.text(0, 10, upwards, "tick"))
    parts.append(svg.text((left + width) / 2, height + 32, across, "tick", text_anchor="middle"))
    return svg.figure(width, height + 38, parts, f"{upwards} against {across}")


CURVE_LEFT, CURVE_RIGHT = 34.0, 242.0


"""Places of the first and the last level."""


LEAST_APART = 42.0


"""Least distance between two labels of an axis."""


def curve_chart(
    excess: Array,
    means: Array,
    band: tuple[float, float],
    levels: Sequence[str],
    dial: str,
    noticed: int | None,
    language: Language = ENGLISH,
) -> Markup:
    """Excess of a metric over the levels of a leak.

    One thin line per repetition, the mean thick, the band of tables without a leak behind.

    Parameters
    ----------
    excess, means : numpy.ndarray, shapes (n_levels, n_seeds) and (n_levels,)
        NaN where nothing was measured.
    band : tuple of (float, float)
        Of tables without a leak.
    noticed : int or None
        First level whose leak is noticed.
    """
    width, height, left, right = 250.0, 120.0, CURVE_LEFT, CURVE_RIGHT
    levels = [_level(level, language) for level in levels]
    values = np.concatenate([excess.ravel(), band, [0.0]])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    high = high if high > low else low + 1
    last = len(levels) - 1
    x, y = svg.linear(0, max(last, 1), left, right), svg.linear(low, high, height - 22, 8)
    upper, lower = y(band[1]), y(band[0])
    parts = [svg.rect(left, upper, right - left, lower - upper, "null-band", language.say("without a leak"))]
    parts.append(svg.line(left, y(0), right, y(0), "axis"))
    for heights, class_ in (*((seed, "seed-line") for seed in excess.T), (means, "synthetic-line")):
        points = [(x(at), y(value)) for at, value in enumerate(heights.tolist()) if not math.isnan(value)]
        parts += [svg.curve(points, class_)] if len(points) > 1 else []
    if noticed is not None:
        at, shown = x(noticed), language.say("noticed from {level} on", level=levels[noticed])
        parts.append(svg.line(at, 8, at, height - 22, "limit"))
        parts.append(svg.circle(at, y(float(means[noticed])), 4, "synthetic", shown))
    for level in _labelled(last + 1):
        anchor = "start" if level == 0 else "end" if level == last else "middle"
        parts.append(svg.text(x(level), height - 6, levels[level], "tick", text_anchor=anchor))
    for value in (high, 0.0):
        shown = language.number(f"{value:.2f}".rstrip("0").rstrip("."))
        parts.append(svg.text(left - 4, y(value) + 4, shown, "tick", text_anchor="end"))
    words = {"dial": language.own(dial), "values": _in_words(means, levels, language)}
    return svg.figure(width, height, parts, language.say("Excess over {dial}: {values}", **words))


def _level(text: str, language: Language) -> str:
    """Text of a level, with its numbers in the form of a language."""
    return language.number(language.own(text))


def _labelled(n_levels: int) -> list[int]:
    apart = math.ceil(LEAST_APART * max(n_levels - 1, 1) / (CURVE_RIGHT - CURVE_LEFT))
    last = n_levels - 1
    return [*range(0, max(last - apart, 0) + 1, apart), last] if last else [0]


def sparkline(means: Array, levels: Sequence[str], language: Language = ENGLISH) -> Markup:
    """The mean curve without axes."""
    known = means[~np.isnan(means)]
    if len(known) < 2:
        return Markup()
    x = svg.linear(0, len(means) - 1, 2, 78)
    y = svg.linear(min(float(known.min()), 0.0), max(float(known.max()), 1e-9), 20, 3)
    points = [(x(at), y(value)) for at, value in enumerate(means.tolist()) if not math.isnan(value)]
    shown = _in_words(means, [_level(level, language) for level in levels], language)
    return svg.figure(80, 22, [svg.curve(points, "synthetic-line")], shown, class_="spark")


def _in_words(means: Array, levels: Sequence[str], language: Language) -> str:
    shown = zip(levels, means.tolist(), strict=True)
    return "; ".join(f"{level}: {language.number(f'{mean:.3f}')}" for level, mean in shown if not math.isnan(mean))


class CostPoint(NamedTuple):
    """A metric in the chart of costs."""

    title: str
    seconds: float
    power: float
    """Share of the trials with a leak that noticed it, 0..1."""
    trusted: bool


def cost_chart(costs: Sequence[CostPoint], language: Language = ENGLISH) -> Markup:
    """Share of leaks noticed against processor seconds; trusted metrics are filled.

    Names stand beside the metrics that no other one beats in both.
    """
    width, height, left, right, bottom = 640.0, 300.0, 46.0, 540.0, 264.0
    logarithms = [math.log10(max(each.seconds, 1e-3)) for each in costs]
    low = math.floor(min(logarithms))
    high = max(math.ceil(max(logarithms) + 1e-9), low + 1)
    x, y = svg.linear(low, high, left, right - 10), svg.linear(0, 1, bottom, 12)
    parts = [svg.line(left, bottom, right, bottom, "axis")]
    parts += svg.grid(left, right, [(y(share), f"{100 * share:.0f} %") for share in (0, 0.25, 0.5, 0.75, 1)])
    parts += svg.below(
        height - 18, [(x(power), language.number(f"{10.0**power:g} s")) for power in range(low, high + 1)]
    )
    parts.append(svg.text(left, height - 3, language.say("processor seconds per table"), "tick"))
    most = -1.0
    for at, each in sorted(zip(logarithms, costs, strict=True), key=lambda pair: (pair[1].seconds, -pair[1].power)):
        noticed = {"title": each.title, "share": f"{100 * each.power:.0f}", "seconds": f"{each.seconds:.2f}"}
        title = language.say("{title}: {share:number} % noticed, {seconds:number} s", **noticed)
        parts.append(svg.circle(x(at), y(each.power), 4.5, "synthetic" if each.trusted else "hollow", title))
        if each.power > most:
            most = each.power
            parts.append(svg.text(x(at) + 8, y(each.power) + 4, each.title, "tick"))
    described = language.say("Share of leaks noticed against processor seconds, per metric")
    return svg.figure(width, height, parts, described)


DESK_WIDTH, DESK_HEIGHT = 640.0, 280.0


"""Size of a chart of the desk; below, where its axes begin and end."""


DESK_LEFT, DESK_RIGHT, DESK_BOTTOM = 56.0, 570.0, 252.0


@dataclass(frozen=True)
class Line:
    """One line of :func:`line_chart`."""

    name: str
    """Stands at its end."""
    values: tuple[float | None, ...]
    """One for each position of the axis; None: there is none."""
    chosen: bool = False
    """Drawn thick."""


@dataclass(frozen=True)
class Dot:
    """One point of a scatter chart."""

    name: str
    x: float
    y: float
    filled: bool = False
    named: bool = False
    """Whether its name stands beside it; else it is its title only."""


def line_chart(
    lines: Sequence[Line], positions: Sequence[float], at: int, unit: str, language: Language = ENGLISH
) -> Markup:
    """Lines over common positions; equal lines have one label.

    Parameters
    ----------
    lines : sequence of Line
        Values of 0 or more.
    positions : sequence of float
        Shares, 0..1, increasing.
    unit : str
        "%": values are shares, 0..1.
    """
    known = [value for one in lines for value in one.values if value is not None]
    top = max([*known, 1e-9]) * 1.05
    x = svg.linear(positions[0], max(positions[-1], positions[0] + 1e-9), DESK_LEFT + 14, DESK_RIGHT)
    y = svg.linear(0, top, DESK_BOTTOM, 16)
    parts = [svg.line(DESK_LEFT, y(0), DESK_RIGHT, y(0), "axis")]
    ticks = [(value, f"{100 * value:g} %" if unit == "%" else f"{value:.3g}") for value in round_ticks(0, top)]
    parts += svg.grid(DESK_LEFT, DESK_RIGHT, [(y(value), words) for value, words in ticks])
    ticks = [(value, language.number(words)) for value, words in ticks]
    labels = [language.number(f"{100 * one:g} %") for one in positions]
    parts += svg.below(DESK_HEIGHT - 8, [(x(one), label) for one, label in zip(positions, labels, strict=True)])
    ends: dict[tuple[float | None, ...], list[str]] = {}
    for one in lines:
        points = [(x(place), y(value)) for place, value in zip(positions, one.values, strict=True) if value is not None]
        if not points:
            continue
        parts.append(svg.curve(points, "line chosen" if one.chosen else "line"))
        parts += [svg.circle(place, height, 3.2, "hollow") for place, height in points]
        ends.setdefault(one.values, []).append(one.name)
        marked = one.values[at]
        if one.chosen and marked is not None:
            parts.append(svg.circle(x(positions[at]), y(marked), 6, "filled"))
    named = sorted(
        (y([one for one in values if one is not None][-1]), _joined(names)) for values, names in ends.items()
    )
    heights = apart([height for height, _ in named], 13, DESK_BOTTOM - 4)
    parts += [
        svg.text(DESK_RIGHT + 8, height + 4, name, "tick") for height, (_, name) in zip(heights, named, strict=True)
    ]
    return _desk_figure(parts, "; ".join(_described(one, labels, unit, language) for one in lines))


def _joined(names: Sequence[str]) -> str:
    """Names of equal lines, with what they begin with said once: "k = 3, 5"."""
    begin = names[0].rpartition(" ")[0] + " "
    rests = [name.removeprefix(begin) for name in names[1:]]
    return ", ".join([names[0], *rests])


def apart(heights: Sequence[float], least: float, lowest: float) -> list[float]:
    """Increasing heights moved as little as needed to be ``least`` apart and at most ``lowest``."""
    found: list[float] = []
    for one in heights:
        found.append(max(one, found[-1] + least) if found else one)
    limit = lowest
    for place in reversed(range(len(found))):
        found[place] = min(found[place], limit)
        limit = found[place] - least
    return found


def round_ticks(low: float, high: float) -> list[float]:
    """Three to seven multiples of 1, 2 or 5 times a power of ten within a range."""
    power = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = next(one * power for one in (5, 2, 1) if (high - low) / (one * power) >= 3)
    return [at * step for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


STRIP_WIDTH, STRIP_HEIGHT = 120.0, 36.0


def strip_chart(name: str, shares: Sequence[tuple[str, float]], language: Language = ENGLISH) -> Markup:
    """Small bars of the shares of a column's values, without axes; nothing without shares.

    Parameters
    ----------
    shares : sequence of (str, float)
        Label and share of each bar, 0..1.
    """
    if not shares:
        return Markup()
    top = max(share for _, share in shares) or 1.0
    width = STRIP_WIDTH / len(shares)
    parts = []
    for at, (label, share) in enumerate(shares):
        height = share / top * (STRIP_HEIGHT - 2)
        said = f"{label}: {language.number(f'{100 * share:.1f}')} %"
        parts.append(svg.rect(at * width, STRIP_HEIGHT - height, max(width - 1, 0.5), height, "share", said))
    told = "; ".join(f"{label} {100 * share:.0f} %" for label, share in shares)
    return svg.figure(STRIP_WIDTH, STRIP_HEIGHT, parts, f"{name}: {told}", class_="strip", styled=False)


def scatter_chart(
    dots: Sequence[Dot], across: str, upwards: str, language: Language = ENGLISH, *, log: bool = False
) -> Markup:
    """Points over two axes that span them.

    Parameters
    ----------
    dots : sequence of Dot
        One or more; with ``log`` x is above 0.
    """
    places = [math.log10(one.x) if log else one.x for one in dots]
    (low_x, high_x), (low_y, high_y) = _span(places), _span([one.y for one in dots])
    right, bottom = DESK_RIGHT - 60, DESK_BOTTOM - 12
    x, y = svg.linear(low_x, high_x, DESK_LEFT, right), svg.linear(low_y, high_y, bottom, _BELOW_TITLE)
    parts = [
        svg.line(DESK_LEFT, at, to, end, "axis") for at, to, end in ((bottom, right, bottom), (bottom, DESK_LEFT, 16))
    ]
    parts += svg.grid(
        DESK_LEFT, right, [(y(value), language.number(f"{value:.4g}")) for value in round_ticks(low_y, high_y)]
    )
    across_ticks = np.linspace(low_x, high_x, 5) if log else round_ticks(low_x, high_x)
    parts += svg.below(
        bottom + 15, [(x(at), language.number(f"{10**at:.2g}" if log else f"{at:.4g}")) for at in across_ticks]
    )
    parts += svg.below(DESK_HEIGHT - 4, [((DESK_LEFT + right) / 2, across)])
    parts.append(svg.text(2, 10, upwards, "tick"))
    at = [(x(place), y(one.y)) for place, one in zip(places, dots, strict=True)]
    for point, one in zip(at, dots, strict=True):
        parts.append(svg.circle(*point, 5, "filled" if one.filled else "hollow", one.name))
    taken = [(left - 6, top - 6, left + 6, top + 6) for left, top in at]
    for point, one in zip(at, dots, strict=True):
        if one.named:
            box = _free_place(point, min(len(one.name), _LONGEST_NAME) * _CHARACTER, taken)
            taken.append(box)
            parts.append(svg.text(box[0], box[3] - 3, one.name, "tick", longest=_LONGEST_NAME))
    told = "; ".join(f"{one.name}: {language.number(f'{one.x:.3g}, {one.y:.3g}')}" for one in dots)
    return _desk_figure(parts, f"{across}, {upwards}. {told}")


_BELOW_TITLE, _LONGEST_NAME, _CHARACTER = 28.0, 24, 6.8
"""Height of a scatter's top below its title; characters of a name that are shown; width of one."""
Box = tuple[float, float, float, float]


def _free_place(point: tuple[float, float], width: float, taken: Sequence[Box]) -> Box:
    """Box of a name beside, above or below its point, where it covers least of what is there already."""
    left, top = point
    starts = [(left + 9, top - 7), (left - 9 - width, top - 7)]
    starts += [(left - share * width, top + shift) for shift in (-21, 8, -35, 22) for share in (0.5, 0, 1)]
    boxes = [(at, height, at + width, height + 14) for at, height in starts]

    def covered(box: Box) -> float:
        outside = max(DESK_LEFT - box[0], 0) + max(box[2] - DESK_WIDTH, 0) + max(box[3] - DESK_BOTTOM + 12, 0)
        return 14 * outside + sum(
            max(min(box[2], one[2]) - max(box[0], one[0]), 0) * max(min(box[3], one[3]) - max(box[1], one[1]), 0)
            for one in taken
        )

    return min(boxes, key=covered)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    return low - room, high + room


def _desk_figure(parts: Sequence[str], description: str) -> Markup:
    return svg.figure(DESK_WIDTH, DESK_HEIGHT, parts, description, class_="chart", styled=False)


def _described(one: Line, positions: Sequence[str], unit: str, language: Language) -> str:
    shown = [
        f"{label}: {'–' if value is None else f'{100 * value:.1f} %' if unit == '%' else f'{value:.4g}'}"
        for label, value in zip(positions, one.values, strict=True)
    ]
    return f"{one.name}: {language.number(', '.join(shown))}"
