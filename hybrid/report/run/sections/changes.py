"""Changes since the last release, and judged metrics over releases."""

from __future__ import annotations

from typing import Any

from hybrid.report.charts.figures import history_chart
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if run.changes %}
<div class="scroll" tabindex="0"><table><thead><tr><th>{{ _("What") }}</th><th>{{ _("Then") }}</th><th>{{ _("Now") }}</th></tr></thead><tbody>
{% for change in run.changes %}
<tr><th scope="row">{{ change.what|say }}</th><td>{{ change.before|own }}</td><td>{{ change.now|own }}</td></tr>
{% endfor %}
</tbody></table></div>
{% else %}<p>{{ _("Nothing.") }}</p>{% endif %}
{% if history %}
<h3>{{ _("The judged metrics from release to release") }}</h3>
<p class="note small">{{ _("Vertical lines are intervals; the diamond is this run, dots are earlier releases.") }}</p>
<div class="cards">
{% for track, chart in history %}
<article class="card"><h4>{{ track.title|say }}</h4><p>{{ (track.direction ~ " is better")|say }}</p>{{ chart }}</article>
{% endfor %}
</div>
{% endif %}
"""


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    if inputs.changes is None:
        return None
    return {"history": [(track, history_chart(track, inputs.language)) for track in inputs.history]}


SECTION = Section(
    anchor="changes",
    title="Changes",
    lead="What differs from the last release.",
    template=TEMPLATE,
    values=_values,
)
