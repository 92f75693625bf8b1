"""Changes since the last release, and judged metrics over releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from hybrid.report.charts import svg
from hybrid.report.run.inputs import Night, ReportInputs, Track
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if run.changes %}
<div class="scroll"><table><thead><tr><th>What</th><th>Then</th><th>Now</th></tr></thead><tbody>
{% for change in run.changes %}
<tr><th scope="row">{{ change.what }}</th><td>{{ change.before }}</td><td>{{ change.now }}</td></tr>
{% endfor %}
</tbody></table></div>
{% else %}<p>Nothing.</p>{% endif %}
{% if history %}
<h3>The gate’s metrics from release to release</h3>
<p class="note small">Vertical lines are intervals; the diamond is this run, dots are earlier releases.</p>
<div class="cards">
{% for track, chart in history %}
<article class="card"><h4>{{ track.title }}</h4><p>{{ track.direction }} is better</p>{{ chart }}</article>
{% endfor %}
</div>
{% endif %}
"""


WIDTH, HEIGHT = 360.0, 96.0


def history_chart(track: Track) -> Markup:
    """Chart of one metric by release, with intervals.

    The diamond is this run.
    """
    ends = [end for night in track.nights for end in (night.value, night.low, night.high) if end is not None]
    bottom, top = min(ends), max(ends)
    span = (top - bottom) or 1.0
    left, right = 46.0, WIDTH - 10
    step = (right - left) / max(len(track.nights) - 1, 1)

    def y(value: float) -> float:
        return HEIGHT - 22 - (value - bottom) / span * (HEIGHT - 36)

    parts = [
        svg.text(left - 8, y(value) + 4, f"{value:.3g}", "tick", text_anchor="end")
        for value in dict.fromkeys((bottom, top))
    ]
    places = [(left + at * step, night) for at, night in enumerate(track.nights)]
    line = "".join(f"{'L' if at else 'M'}{x:.1f} {y(night.value):.1f}" for at, (x, night) in enumerate(places))
    parts.append(svg.path(line, "synthetic-line"))
    for x, night in places:
        if night.low is not None and night.high is not None:
            parts.append(svg.line(x, y(night.low), x, y(night.high), "axis"))
        title = _sentence(night)
        last = night is track.nights[-1]
        mark = svg.diamond(x, y(night.value), 5, "synthetic", title) if last else _dot(x, y(night.value), title)
        parts.append(mark)
    parts += _days(places)
    return Markup(svg.figure(WIDTH, HEIGHT, parts, f"{track.title} from release to release"))


def _dot(x: float, y: float, title: str) -> str:
    return svg.circle(x, y, 3, "synthetic", title)


def _sentence(night: Night) -> str:
    interval = "" if night.low is None or night.high is None else f" (interval {night.low:.3g} to {night.high:.3g})"
    return f"{night.day}: {night.value:.3g}{interval}"


def _days(places: Sequence[tuple[float, Night]]) -> list[str]:
    first, last = places[0], places[-1]
    return [
        svg.text(first[0], HEIGHT - 4, first[1].day, "tick", text_anchor="start"),
        svg.text(last[0], HEIGHT - 4, "this run", "tick", text_anchor="end"),
    ]


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    """Values of the fragment; None without an earlier release."""
    if inputs.changes is None:
        return None
    return {"history": [(track, history_chart(track)) for track in inputs.history]}


SECTION = Section(
    anchor="changes",
    title="Changes",
    lead="What differs from the last release.",
    template=TEMPLATE,
    values=_values,
)
