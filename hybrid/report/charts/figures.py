"""Charts of reports as inline SVG.

Everywhere: what is real is a filled bar, what is synthetic a line or a diamond, a reference a hollow diamond; no
figure needs colour to be read. Sizes are in CSS pixels at natural size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import get_args

import numpy as np
from markupsafe import Markup

from hybrid.base.arrays import Array
from hybrid.base.language import ENGLISH, Language
from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Subject
from hybrid.report.charts import svg
from hybrid.report.run.inputs import LossCurve, MetricHistory, TradeOffPoint
from hybrid.report.side_by_side import ColumnView
from hybrid.table.cells import OTHER

WIDTH = 360.0


"""Natural width of a figure in a card."""


def percent(share: float) -> str:
    """Format a share (0..1) as per cent; "<0.1 %" for tiny ones."""
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{100 * share:.1f} %"


def column_chart(view: ColumnView, language: Language = ENGLISH) -> Markup:
    """One column, real beside synthetic: bars of categories, or a histogram with round bounds."""
    if view.cells is None:
        return Markup()
    return _histogram(view, language) if view.cells.edges else _bars(view, language)


def _bars(view: ColumnView, language: Language) -> Markup:
    say, form = language.say, language.number
    cells = view.cells
    assert cells is not None
    pool = len(cells) - 1
    rows = [at for at in range(len(cells)) if at != pool or cells.pooled or view.synthetic[at] > 0]
    named = [share for shares in (view.real, view.synthetic) for share in shares[:pool]]
    top = max([float(share) for share in named] or [float(view.synthetic[pool])]) or 1.0
    left, right, step, first = 122.0, WIDTH - 106, 19.0, 14.0
    parts = [svg.text(WIDTH - 58, 8, say("real %"), "tick", text_anchor="end")]
    parts.append(svg.text(WIDTH, 8, say("synth. %"), "tick", text_anchor="end"))
    for row, at in enumerate(rows):
        real, synthetic = float(view.real[at]), float(view.synthetic[at])
        y = first + row * step + step / 2
        label = say(f"{OTHER} ({cells.pooled} pooled)") if at == pool else cells.labels[at]
        shown = "few" if np.isnan(real) else f"{100 * real:.1f}"
        title = say(f"{label}: real {shown} %, synthetic {100 * synthetic:.1f} %")
        x = [left + min(share / top, 1.0) * (right - left) for share in (0 if np.isnan(real) else real, synthetic)]
        parts += [
            svg.text(left - 6, y + 4, label, "label pool" if at == pool else "label", longest=19, text_anchor="end"),
            svg.rect(left, y - 6, x[0] - left, 12, "real", title),
            svg.text(WIDTH - 58, y + 4, say("few") if np.isnan(real) else form(shown), "number", text_anchor="end"),
            svg.text(WIDTH, y + 4, form(f"{100 * synthetic:.1f}"), "number", text_anchor="end"),
        ]
        if max(real, synthetic) > top:  # only the pool can be: its bar is cut
            parts.append(svg.path(f"M{right - 12:.1f} {y + 8:.1f}l5 -16h4l-5 16Z", "cut"))
        else:
            parts.append(svg.diamond(x[1], y, 4.2, "synthetic", title))
    height = first + step * len(rows) + 2
    parts.append(svg.line(left, first, left, height, "axis"))
    return svg.figure(WIDTH, height, parts, say(sentence("chart.shares", column=view.name)))


def _histogram(view: ColumnView, language: Language) -> Markup:
    cells = view.cells
    assert cells is not None
    slots = np.array(cells.slots, dtype=float)
    real, synthetic = view.real / slots, view.synthetic / slots
    top = max(real.max(), synthetic.max(), 1e-9)
    height, left, right = 112.0, 2.0, WIDTH - 2
    unit = (right - left) / slots.sum()
    starts = left + np.concatenate([[0.0], np.cumsum(slots)]) * unit
    parts = []
    steps = f"M{left:.1f} {height:.1f}"
    for at, label in enumerate(cells.labels):
        shares = f"real {percent(view.real[at])}, synthetic {percent(view.synthetic[at])}"
        title = f"{language.label(label)}: {language.number(language.say(shares))}"
        bar, level = real[at] / top * (height - 6), height - synthetic[at] / top * (height - 6)
        x, width = float(starts[at]), float(starts[at + 1] - starts[at])
        parts.append(svg.rect(x + 0.5, height - bar, width - 1, bar, "real", title))
        parts.append(svg.rect(x, 0, width, height, "hover", title))
        steps += f"V{level:.1f}H{starts[at + 1]:.1f}"
    parts += [svg.path(steps + f"V{height:.1f}", "synthetic-line"), svg.line(left, height, right, height, "axis")]
    parts += _ticks([language.number(edge) for edge in cells.edges], left, unit, height)
    below = 18.0
    if _widens(cells.edges):
        below = 32.0
        parts.append(svg.text(right, height + 28, language.say("logarithmic axis"), "tick", text_anchor="end"))
    said = language.say(sentence("chart.distribution", column=view.name))
    return svg.figure(WIDTH, height + below, parts, said)


def _widens(edges: Sequence[str]) -> bool:
    """True where bounds at equal distances on the axis are numbers farther and farther apart."""
    try:
        steps = np.diff([float(edge.replace(",", "")) for edge in edges])
    except ValueError:  # dates and times
        return False
    return len(steps) > 1 and bool((steps[1:] > 1.2 * steps[0]).any())


def _ticks(edges: Sequence[str], left: float, unit: float, y: float) -> list[str]:
    parts = []
    free_from = 0.0
    for at, text in enumerate(edges, start=1):
        x, half = left + at * unit, len(text) * 3.1
        parts.append(svg.line(x, y, x, y + 3, "axis"))
        if x - half >= free_from and x + half <= WIDTH:
            parts.append(svg.text(x, y + 14, text, "tick", text_anchor="middle"))
            free_from = x + half + 8
    return parts


CLASS_SIZES = (1, 2, 5, 10, 20, 50, 100, 1000)


def class_size_chart(
    before: Array | None, after: Array | None, k: int, least: int, language: Language = ENGLISH
) -> Markup:
    """Share of records by people in their class (a number for each record), before and after; a line marks k.

    What fewer than ``least`` records are is said to be few, without a number.
    """
    names = [f"{low}–{high - 1}" if high - low > 1 else str(low) for low, high in pairwise(CLASS_SIZES)]
    names.append(f"{CLASS_SIZES[-1]}+")
    counts = [np.zeros(len(names)) if sizes is None else _records_by_size(sizes) for sizes in (before, after)]
    hidden = [(count > 0) & (count < least) for count in counts]
    shares = [np.where(few, 0, n) / max(n.sum(), 1) for n, few in zip(counts, hidden, strict=True)]
    width, height, top = 480.0, 150.0, max(float(share.max()) for share in shares) or 1.0
    unit = width / len(names)
    parts = []
    for at, name in enumerate(names):
        x = at * unit
        for side, (offset, class_) in enumerate(((0.12, "real"), (0.5, "synthetic-bar"))):
            bar, few = shares[side][at] / top * (height - 22), hidden[side][at]
            if not bar and not few:
                continue
            parts.append(svg.rect(x + offset * unit, height - bar, 0.36 * unit, bar, class_))
            middle, shown = x + (offset + 0.18) * unit, language.say("few") if few else f"{100 * shares[side][at]:.0f}"
            parts.append(svg.text(middle, height - bar - 4, shown, "tick", text_anchor="middle"))
        parts.append(svg.text(x + unit / 2, height + 15, name, "tick", text_anchor="middle"))
    parts.append(svg.line(0, height, width, height, "axis"))
    first = next((at for at, low in enumerate(CLASS_SIZES) if low >= k), len(CLASS_SIZES))
    parts += [
        svg.line(first * unit, 0, first * unit, height + 4, "limit"),
        svg.text(first * unit + 5, 10, f"k = {k}", "tick"),
    ]
    title = language.say("Share of records by people in their class, before and after")
    return svg.figure(width, height + 20, parts, title)


def _records_by_size(sizes: Array) -> Array:
    at = np.searchsorted(CLASS_SIZES, np.maximum(sizes, 1), side="right") - 1
    counts: Array = np.bincount(at, minlength=len(CLASS_SIZES)).astype(np.float64)
    return counts


def trade_off_chart(points: Sequence[TradeOffPoint], language: Language = ENGLISH) -> Markup:
    """Information loss against the suppression limit; the chosen point is filled."""
    width, height, left = 420.0, 170.0, 40.0
    ordered = sorted(points, key=lambda point: point.limit)
    across = svg.linear(0, max(len(ordered) - 1, 1), left + 14, width - 26)
    places = [across(at) for at in range(len(ordered))]
    top = max([point.loss for point in ordered] + [0.1]) * 1.15
    y = svg.linear(0, top, height, 14)
    step = next((step for step in (0.02, 0.05, 0.1, 0.2) if top / step < 6), 0.25)
    parts = [svg.line(left, height, width, height, "axis")]
    parts += svg.grid(left, width, [(y(share), f"{100 * share:.0f} %") for share in np.arange(0, top, step)])
    parts.append(svg.curve(zip(places, [y(point.loss) for point in ordered], strict=True), "synthetic-line"))
    for x, point in zip(places, ordered, strict=True):
        shares = {"limit": percent(point.limit), "loss": percent(point.loss), "gone": percent(point.suppressed)}
        title = language.say("limit {limit:form}: loss {loss:form}, {gone:form} suppressed", **shares)
        parts.append(svg.circle(x, y(point.loss), 4.5, "synthetic" if point.chosen else "hollow", title))
        parts.append(svg.text(x, y(point.loss) - 9, f"{100 * point.loss:.0f}", "tick", text_anchor="middle"))
    parts += svg.below(
        height + 15,
        [(x, language.number(f"{100 * point.limit:g} %")) for x, point in zip(places, ordered, strict=True)],
    )
    return svg.figure(width, height + 20, parts, language.say("Information loss against the suppression limit"))


def loss_chart(losses: Sequence[LossCurve], language: Language = ENGLISH) -> Markup:
    """The generator's losses over its steps or epochs, one line each."""
    width, height, left = 480.0, 170.0, 50.0
    known = np.array([point for loss in losses for point in loss.points], dtype=float)
    to_x, x_ticks = svg.scale(known[:, 0], left, width - 10)
    to_y, y_ticks = svg.scale(known[:, 1], height, 14)
    parts = [svg.line(left, height, width, height, "axis")]
    parts += svg.below(height + 15, [(to_x(at), language.number(f"{at:g}")) for at in x_ticks])
    parts += svg.grid(left, width, [(to_y(tick), language.number(f"{tick:.3g}")) for tick in y_ticks])
    for at, loss in enumerate(losses):
        points = [(to_x(done), to_y(value)) for done, value in loss.points]
        style = "synthetic-line" if at == 0 else "second-line"
        end = f"{language.number(f'{loss.points[-1][1]:.4g}')} {language.say('at the end')}"
        parts.append(svg.curve(points, style, f"{loss.name}: {end}"))
    return svg.figure(width, height + 20, parts, language.say("Loss while training"))


INTERVAL_WIDTH = 150.0


def interval_chart(
    value: float,
    low: float | None,
    high: float | None,
    reference: float | None,
    domain: tuple[float, float],
    language: Language = ENGLISH,
) -> Markup:
    """Value (filled), interval (line) and reference (hollow) on a common scale, on which zero is marked."""
    start, end = domain
    scale = (INTERVAL_WIDTH - 16) / ((end - start) or 1.0)

    def x(number: float) -> float:
        return 8 + (min(max(number, start), end) - start) * scale

    parts = [svg.line(8, 10, INTERVAL_WIDTH - 8, 10, "grid")]
    if start <= 0 <= end:
        parts.append(svg.line(x(0), 4, x(0), 16, "axis"))
    if low is not None and high is not None:
        parts += [svg.line(x(low), 10, x(high), 10, "whisker"), svg.line(x(low), 6, x(low), 14, "whisker")]
        parts.append(svg.line(x(high), 6, x(high), 14, "whisker"))
    if reference is not None:
        parts.append(
            svg.diamond(x(reference), 10, 6, "hollow", language.say("reference {value:form}", value=f"{reference:.4g}"))
        )
    parts.append(svg.circle(x(value), 10, 3.6, "synthetic", language.number(f"{value:.4g}")))
    return svg.figure(INTERVAL_WIDTH, 20, parts, language.say("value, interval and reference"), class_="interval")


LIMIT_WIDTH, LIMITS_SHOWN = 168.0, 2.5
"""Width of the bar of a limit, and the last number on its scale: 1 is allowed, beyond 2 a release is forbidden."""


def limit_chart(on_scale: tuple[float | None, float | None], language: Language = ENGLISH) -> Markup:
    """Bar of what was measured, and up to what cannot be ruled out, beside what is allowed and what forbids a release.

    Parameters
    ----------
    on_scale : tuple of float or None
        Both as :class:`hybrid.publication.lamps.AttackFinding` has them; nothing is drawn without the first.
    """
    measured, most = on_scale
    if measured is None:
        return Markup()

    def x(number: float) -> float:
        return 6 + min(max(number, 0.0), LIMITS_SHOWN) * (LIMIT_WIDTH - 12) / LIMITS_SHOWN

    parts = [
        svg.rect(x(0), 3, x(1) - x(0), 8, "allowed"),
        svg.rect(x(2), 3, x(LIMITS_SHOWN) - x(2), 8, "forbidden"),
        svg.line(x(1), 7, x(2), 7, "grid"),
    ]
    if most is not None:
        parts.append(svg.line(x(measured), 7, x(most), 7, "whisker"))
    if max(measured, most or 0.0) > LIMITS_SHOWN:
        parts.append(svg.path(f"M{LIMIT_WIDTH - 5:g} 3L{LIMIT_WIDTH:g} 7L{LIMIT_WIDTH - 5:g} 11", "whisker"))
    parts += [svg.line(x(1), 0, x(1), 14, "limit-line"), svg.circle(x(measured), 7, 3.6, "synthetic")]
    return svg.figure(LIMIT_WIDTH, 14, parts, language.say("measured, up to, and allowed"), class_="limits")


STAGES: tuple[Subject, ...] = get_args(Subject)


def stage_chart(
    values: Mapping[Subject, tuple[float, float | None, float | None]],
    domain: tuple[float, float],
    language: Language = ENGLISH,
) -> Markup:
    """One metric at each stage on one scale, a letter each."""
    start, end = domain
    scale = (240.0 - 24) / ((end - start) or 1.0)
    parts = []
    if start <= 0 <= end:
        parts.append(svg.line(12 - start * scale, 0, 12 - start * scale, 4 + 13 * len(values), "axis"))
    for row, (stage, (value, low, high)) in enumerate(values.items()):
        y, x = 9 + 13 * row, 12 + (value - start) * scale
        parts.append(svg.line(12, y, 228, y, "grid"))
        if low is not None and high is not None:
            parts.append(svg.line(12 + (low - start) * scale, y, 12 + (high - start) * scale, y, "whisker"))
        name = language.say(stage.capitalize())
        title = f"{name}: {language.number(f'{value:.4g}')}"
        parts.append(svg.circle(x, y, 6, "synthetic" if stage == "synthetic" else "hollow", title))
        inside = "mark inverse" if stage == "synthetic" else "mark"
        parts.append(svg.text(x, y + 3, name[0], inside, text_anchor="middle"))
    return svg.figure(
        240, 5 + 13 * max(len(values), 1), parts, language.say("the metric at each stage"), class_="stages"
    )


def heat_map(
    names: Sequence[str],
    below: Array,
    above: Array,
    description: str,
    language: Language = ENGLISH,
    *,
    signed: bool = False,
) -> Markup:
    """A square of associations; ``below`` the diagonal and ``above`` it may be two matrices.

    Darker is stronger; every cell also holds its number in hundredths. With ``signed``, values below zero are hatched.
    """
    n, cell, left, top = len(names), 27.0, 118.0, 92.0
    strongest = max(float(np.nanmax(np.abs(np.concatenate([below, above])), initial=0)), 0.1) if signed else 1.0
    parts = []
    for i, name in enumerate(names):
        middle = top + i * cell + cell / 2
        parts.append(svg.text(left - 6, middle + 4, name, longest=18, text_anchor="end"))
        x, y = left + i * cell + cell / 2 + 4, top - 6
        parts.append(svg.text(x, y, name, longest=15, transform=f"rotate(-50 {x:.1f} {y:.1f})"))
        for j, other in enumerate(names):
            if i != j:
                value = float((below if j < i else above)[i, j])
                title = f"{name} × {other}: {language.number(f'{value:.3f}')}"
                parts += _heat_cell(left + j * cell, top + i * cell, cell, value, strongest, title)
    width, height = left + n * cell + 40, top + n * cell + 2
    return svg.figure(width, height, parts, language.say(description), class_="figure heat")


def _heat_cell(x: float, y: float, cell: float, value: float, strongest: float, title: str) -> list[str]:
    if not np.isfinite(value):
        return [svg.text(x + cell / 2, y + cell / 2 + 4, "·", "tick", text_anchor="middle")]
    strength = min(abs(value) / strongest, 1.0)
    class_ = "heat-cell" if value >= 0 else "heat-cell negative"
    number = "" if round(100 * abs(value)) == 0 else f"{100 * value:.0f}".replace("-", "−")
    square = svg.element(
        "rect",
        svg.element("title", escape(title)),
        x=x + 0.5,
        y=y + 0.5,
        width=cell - 1,
        height=cell - 1,
        class_=class_,
        fill_opacity=0.06 + 0.9 * strength,
    )
    text = svg.text(
        x + cell / 2, y + cell / 2 + 4, number, "mark inverse" if strength > 0.5 else "mark", text_anchor="middle"
    )
    return [square, text]


def history_chart(track: MetricHistory, language: Language = ENGLISH) -> Markup:
    """One metric by release, with intervals; the diamond is this run."""
    width, height, left = 360.0, 96.0, 46.0
    ends = [end for night in track.nights for end in (night.value, night.low, night.high) if end is not None]
    low, high = min(ends), max(ends)
    across = svg.linear(0, max(len(track.nights) - 1, 1), left, width - 10)
    y = svg.linear(low, low + ((high - low) or 1.0), height - 22, 14)
    parts = [
        svg.text(left - 8, y(value) + 4, language.number(f"{value:.3g}"), "tick", text_anchor="end")
        for value in dict.fromkeys((low, high))
    ]
    parts.append(svg.curve([(across(at), y(night.value)) for at, night in enumerate(track.nights)], "synthetic-line"))
    for at, night in enumerate(track.nights):
        x, interval = across(at), ""
        if night.low is not None and night.high is not None:
            parts.append(svg.line(x, y(night.low), x, y(night.high), "axis"))
            interval = language.say(
                " (interval {low:form} to {high:form})", low=f"{night.low:.3g}", high=f"{night.high:.3g}"
            )
        mark, size = (svg.diamond, 5) if night is track.nights[-1] else (svg.circle, 3)
        parts.append(
            mark(x, y(night.value), size, "synthetic", language.number(f"{night.day}: {night.value:.3g}") + interval)
        )
    parts.append(svg.text(left, height - 4, language.number(track.nights[0].day), "tick", text_anchor="start"))
    parts.append(
        svg.text(across(len(track.nights) - 1), height - 4, language.say("this run"), "tick", text_anchor="end")
    )
    return svg.figure(width, height, parts, language.say("{title:text} from release to release", title=track.title))


CURVES = (
    ("to_train", "synthetic-line", "synthetic rows to training records"),
    ("to_control", "second-line", "synthetic rows to people never seen"),
    ("control_to_train", "axis-line", "people never seen to training records"),
)


def nearest_chart(curves: Mapping[str, Sequence[float]], language: Language = ENGLISH) -> Markup:
    """Quantiles of nearest-record distances, to train and to control, by the names of :data:`CURVES`."""
    width, height, left, bottom = 520.0, 230.0, 44.0, 190.0
    top = max(max(curves[name]) for name, *_ in CURVES) or 1.0
    x, y = svg.linear(0, 1, left, width - 10), svg.linear(0, top, bottom, 14)
    parts = [svg.line(left, bottom, width - 10, bottom, "axis")]
    parts += svg.grid(left, width - 10, [(y(tick), language.number(f"{tick:.2g}")) for tick in np.linspace(0, top, 5)])
    parts += svg.below(bottom + 16, [(x(share), f"{100 * share:.0f} %") for share in (0.01, 0.25, 0.5, 0.75, 0.99)])
    for name, class_, words in CURVES:
        points = zip(map(x, curves["quantiles"]), map(y, curves[name]), strict=True)
        parts.append(svg.curve(points, class_, language.say(words)))
    parts.append(svg.text((left + width) / 2, height - 4, language.say("share of rows"), text_anchor="middle"))
    return svg.figure(width, height, parts, language.say("Distance to the nearest record, in train and in control"))
