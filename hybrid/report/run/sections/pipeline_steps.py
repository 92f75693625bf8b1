"""Steps of the run with their rows: in one picture those that changed the number, in the details all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hybrid.report.charts.figures import loss_chart
from hybrid.report.run.inputs import ReportedStage, ReportInputs
from hybrid.report.run.sections.section import Section

STEPS = """\
{% macro walk(steps, most_rows, timed) %}
{% if steps %}
<ol class="walk">
{% for step in steps %}
<li><span class="name">{{ step.name|say }}</span><span class="track"><span class="rows" style="width:{{ "%.1f"|format(72 * step.rows / most_rows) }}%"></span><b>{{ step.rows|count }}</b></span>{% if timed %}<span class="time">{{ "" if step.seconds is none else ("%.1f s"|format(step.seconds) if step.seconds >= 0.05 else "<0.1 s")|form }}</span>{% endif %}
{% if step.note %}<span class="why">{{ step.note|own }}</span>{% endif %}</li>
{% endfor %}
</ol>
{% else %}<p class="missing">{{ _("No stages were recorded.") }}</p>{% endif %}
{% endmacro %}
"""
"""Macro of the picture."""
PICTURE = STEPS + "{{ walk(steps, most_rows, false) }}\n"
ALL = (
    STEPS
    + """\
{{ walk(steps, most_rows, true) }}
{% if losses %}
<h3>{{ _("Training of the generator") }}</h3>
<figure>{{ losses }}<figcaption>{{ _("Over steps or epochs:") }} {% for loss in run.losses %}{{ loss.name|replace("_", " ") }} ({{ _("solid" if loop.first else "dashed") }}, {{ loss.points[-1][1]|number }} {{ _("at the end") }}){{ ", " if not loop.last else "." }}{% endfor %} {{ _("Lower fits the training records better, which need not be a better table.") }}</figcaption></figure>
{% endif %}
"""
)


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    if inputs.files:
        return None
    return {"steps": list(_moving(inputs.steps)), "most_rows": _most_rows(inputs)}


def _all(inputs: ReportInputs) -> dict[str, Any] | None:
    if inputs.files:
        return None
    losses = loss_chart(inputs.losses, inputs.language) if inputs.losses else None
    return {"steps": inputs.steps, "most_rows": _most_rows(inputs), "losses": losses}


def _files(inputs: ReportInputs) -> dict[str, Any] | None:
    if not inputs.files:
        return None
    return {"steps": inputs.files, "most_rows": max(one.rows for one in inputs.files) or 1}


def _most_rows(inputs: ReportInputs) -> int:
    return max((step.rows for step in inputs.steps), default=0) or 1


def _moving(steps: Sequence[ReportedStage]) -> Iterator[ReportedStage]:
    """The first and the last step, and those between that changed the number of rows."""
    for at, step in enumerate(steps):
        if at in (0, len(steps) - 1) or step.rows != steps[at - 1].rows:
            yield step


SECTION = Section(
    anchor="walk",
    title="Pipeline",
    lead="What happened to the rows, step by step. Bars are rows; real records are counted in tens.",
    template=PICTURE,
    values=_values,
)
FILES = Section(
    anchor="files",
    title="Files",
    lead="The rows of the files that were compared.",
    template=PICTURE,
    values=_files,
)
DETAILS = Section(
    anchor="steps",
    title="All steps of the pipeline",
    lead="Every step with its rows and its time, also where it changed no number.",
    template=ALL,
    values=_all,
)
