"""Distribution of every column, real beside synthetic."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from hybrid.base.language import Language
from hybrid.report.charts.figures import column_chart, percent
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section
from hybrid.report.side_by_side import TableComparison

TEMPLATE = """\
{% if columns %}
<ul class="legend">
<li><svg width="22" height="14" aria-hidden="true"><rect class="real" width="22" height="14"/></svg>{{ _("real (training records)") }}</li>
<li><svg width="30" height="14" aria-hidden="true"><path class="synthetic-line" d="M0 10H14V3H30"/></svg>{{ _("synthetic") }}</li>
<li><svg width="14" height="14" aria-hidden="true"><path class="synthetic" d="M2 7L7 2L12 7L7 12Z"/></svg>{{ _("synthetic") }}</li>
</ul>
<p class="note small">{{ _("Distance: 0 = same distribution, 1 = no overlap. “Control” is what real people kept apart score.") }} {{ _("Real are the training records, after the protection of values.") }} {{ _("What fewer than {n:number} people hold is pooled, and outer intervals are open.", n=run.comparison.minimum_cell) }} {{ _("Histograms are per step of the axis; the bar of a pool may be cut.") }}{% if n_columns > columns|length %} {{ _("The {shown:number} of {n:number} columns that differ most are shown.", shown=columns|length, n=n_columns) }}{% endif %}</p>
<div class="cards">
{% for view, chart in columns %}
<article class="card"><h3>{{ view.name }}</h3>
<p>{{ view.kind|string|say }}, {{ view.role|replace("_", "-")|say }}{% if view.distance is not none %}<br>{{ _("distance") }} <b>{{ view.distance|number }}</b>{% if view.reference is not none %}, {{ _("control") }} {{ view.reference|number }}{% endif %}{% endif %}
{% if view.missing_real is none %}<br>{{ _("missing values: too small a group to show") }}{% elif view.missing_real or view.missing_synthetic %}<br>{{ _("missing: real {real:form}, synthetic {synthetic:form}", real=share(view.missing_real), synthetic=share(view.missing_synthetic)) }}{% endif %}</p>
{% if chart %}{{ chart }}{% else %}<p class="missing">{{ _("No values." if view.missing_real == 1 else "One value only, or too few to show any.") }}</p>{% endif %}
</article>
{% endfor %}
</div>
{% else %}<p class="missing">{{ _("No columns were compared.") }}</p>{% endif %}
"""


MOST_COLUMNS = 120
"""Columns drawn; of wider tables those that differ most."""


def _columns(comparison: TableComparison, language: Language) -> list[tuple[Any, Markup]]:
    views = list(comparison.columns)
    if len(views) > MOST_COLUMNS:
        worst = sorted(views, key=lambda view: -(view.distance or 0))[:MOST_COLUMNS]
        views = [view for view in views if view in worst]
    return [(view, column_chart(view, language)) for view in views]


def _values(inputs: ReportInputs) -> dict[str, Any]:
    comparison = inputs.comparison
    return {
        "columns": _columns(comparison, inputs.language) if comparison else [],
        "share": percent,
        "n_columns": len(comparison.columns) if comparison else 0,
    }


SECTION = Section(
    anchor="columns",
    title="Columns",
    lead="Every column, real beside synthetic.",
    template=TEMPLATE,
    values=_values,
)
