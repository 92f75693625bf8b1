"""Stages of the run with row counts, and the generator's losses."""

from __future__ import annotations

from typing import Any

from hybrid.report.charts.figures import loss_chart
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if run.steps %}
<ol class="walk">
{% for step in run.steps %}
<li><span class="name">{{ step.name|say }}</span><span class="track"><span class="rows" style="width:{{ "%.1f"|format(72 * step.rows / most_rows) }}%"></span><b>{{ step.rows|count }}</b></span><span class="time">{{ "" if step.seconds is none else ("%.1f s"|format(step.seconds) if step.seconds >= 0.05 else "<0.1 s")|form }}</span>
{% if step.note %}<span class="why">{{ step.note|own }}</span>{% endif %}</li>
{% endfor %}
</ol>
{% else %}<p class="missing">{{ _("No stages were recorded.") }}</p>{% endif %}
{% if losses %}
<h3>{{ _("Training of the generator") }}</h3>
<figure>{{ losses }}<figcaption>{{ _("Over steps or epochs:") }} {% for loss in run.losses %}{{ loss.name|replace("_", " ") }} ({{ _("solid" if loop.first else "dashed") }}, {{ loss.points[-1][1]|number }} {{ _("at the end") }}){{ ", " if not loop.last else "." }}{% endfor %} {{ _("Lower fits the training records better, which need not be a better table.") }}</figcaption></figure>
{% endif %}
"""


def _values(inputs: ReportInputs) -> dict[str, Any]:
    return {
        "losses": loss_chart(inputs.losses, inputs.language) if inputs.losses else None,
        "most_rows": max((step.rows for step in inputs.steps), default=0) or 1,
    }


SECTION = Section(
    anchor="walk",
    title="Pipeline",
    lead="What happened to the rows, step by step. Bars are rows; real records are counted in tens.",
    template=TEMPLATE,
    values=_values,
)
