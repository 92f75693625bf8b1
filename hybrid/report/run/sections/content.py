"""Largest differences between the table and its source, in the data's own words, with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hybrid.base.words import listed
from hybrid.evaluation.measure import Evaluation
from hybrid.publication.facts import DIFFERENCES, differences_of
from hybrid.report.charts.figures import column_chart
from hybrid.report.charts.svg import quiet
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import synthetic_measure
from hybrid.report.run.sections.analyses import first_page_lines
from hybrid.report.run.sections.protection import ANCHOR as PROTECTION
from hybrid.report.run.sections.section import Section
from hybrid.report.run.sections.verdict import ANCHOR as VERDICT
from hybrid.report.side_by_side import ColumnView

MOST = 5
"""Columns and pairs shown: those that differ most."""
SHOWN = 0.0005
"""Least difference that is not 0.000 where it is printed."""
TEMPLATE = """\
{% if said %}
<div class="scroll" tabindex="0"><table><thead><tr><th>{{ _("Largest difference") }}</th><th>{{ _("In the data’s own words") }}</th></tr></thead><tbody>
{% for what, words in said %}
<tr><th scope="row">{{ what|say }}</th><td>{{ words|say }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if columns or pairs %}
<h3>{{ _("Columns that differ most") }}</h3>
{% if not columns %}<p>{{ _("No column differs by 0.0005 or more from the data.") }}</p>
{% endif %}
<p class="note small">{{ _("Bars: the real training records. Line or diamond: the table. Distance: 0 is equal, 1 is nothing in common.") }}{% if controlled %} {{ _("Control: real people kept apart.") }}{% endif %}{% if replaced %} {{ _("The bars, too, are without values that fewer than {n:number} people have, which were replaced. The lines above say what that lost.", n=replaced) }}{% endif %}{% if unseen %} {{ _("Columns have no picture where fewer than {n:number} people have each value, such as {names:names}.", n=least, names=unseen) }}{% endif %}</p>
{% if like_control %}<p>{{ _("None of these columns differs more from the training records than the real people kept apart do.") }}</p>
{% endif %}
<div class="cards three">
{% for view, unit, chart in columns %}
<article class="card"><h4>{{ view.name }}{% if unit %} <span class="note">({{ unit }})</span>{% endif %}</h4><p>{{ _("distance") }} <b>{{ view.distance|number }}</b>{% if view.reference is not none %}, {{ _("control") }} {{ view.reference|number }}{% endif %}</p>{{ chart }}</article>
{% endfor %}
{% if pairs %}
<article class="card"><h4>{{ _("Pairs of columns whose link fell most") }}</h4><p>{{ _("0: the columns are independent. 1: one decides the other.") }}</p>
<table>
<thead><tr><th>{{ _("Pair") }}</th><th class="n">{{ _("Real") }}</th><th class="n">{{ _("Table") }}</th></tr></thead><tbody>
{% for a, b, real, synthetic in pairs %}
<tr><th scope="row">{{ a }} {{ _("and") }} {{ b }}</th><td class="n">{{ real|number }}</td><td class="n">{{ synthetic|number }}</td></tr>
{% endfor %}
</tbody></table></article>
{% endif %}
</div>
{% elif alike %}
<p>{{ _("No column differs by 0.0005 or more from the data.") }}</p>
{% endif %}
"""


def _said(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    for found in differences_of(evaluation):
        yield DIFFERENCES[found.metric], found.said
    yield from first_page_lines(evaluation)


def _columns(views: Sequence[ColumnView], evaluation: Evaluation) -> list[ColumnView]:
    """Those that differ most, beyond what control does; the one that the lines above name is the first."""
    found = synthetic_measure(evaluation, "lost_column")
    named = None if found is None else found.details.get("worst")
    known = [view for view in views if (view.distance or 0.0) >= SHOWN]
    known.sort(key=lambda view: (view.name != named, (view.reference or 0.0) - (view.distance or 0.0)))
    return known[:MOST]


def _pairs(evaluation: Evaluation) -> list[tuple[str, str, float, float]]:
    """Of the metric that says its worst pair, so that the table begins with that."""
    found = synthetic_measure(evaluation, "lost_link")
    pairs = [] if found is None else found.details["pairs"]
    fallen = [one for one in pairs if one["train"] - one["table"] >= SHOWN]
    return [(one["a"], one["b"], one["train"], one["table"]) for one in fallen[:MOST]]


def _publish(inputs: ReportInputs) -> dict[str, Any]:
    config = (inputs.collected.get(VERDICT) or {}).get("config") or {}
    return config.get("publish") or {}


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    if inputs.comparison is None:
        return None
    worst = _columns(inputs.comparison.columns, inputs.evaluation)
    protection = inputs.collected.get(PROTECTION) or {}
    units = {name: said.get("unit") for name, said in _publish(inputs).get("columns", {}).items()}
    unseen = [view.name for view in inputs.comparison.columns if view.distance is None]
    return {
        "controlled": any(view.reference is not None for view in worst),
        "replaced": protection["min_count"] if protection.get("columns") else 0,
        "unseen": listed(unseen[:MOST]),
        "least": inputs.comparison.minimum_cell,
        "alike": any(view.distance is not None for view in inputs.comparison.columns),
        "said": list(_said(inputs.evaluation)),
        "columns": [(view, units.get(view.name), quiet(column_chart(view, inputs.language))) for view in worst],
        "like_control": bool(worst) and all((one.distance or 0.0) <= (one.reference or 0.0) for one in worst),
        "pairs": _pairs(inputs.evaluation),
    }


SECTION = Section(
    anchor="content",
    title="What the table keeps and loses",
    lead="The largest differences between the table and the data that it was made from.",
    template=TEMPLATE,
    values=_values,
)
