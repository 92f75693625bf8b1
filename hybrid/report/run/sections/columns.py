"""Distribution of every column, real beside synthetic."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from hybrid.report.charts.figures import column_chart
from hybrid.report.charts.side_by_side import TableComparison
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if columns %}
<ul class="legend">
<li><svg width="22" height="14" aria-hidden="true"><rect class="real" width="22" height="14"/></svg>real (training records)</li>
<li><svg width="30" height="14" aria-hidden="true"><path class="synthetic-line" d="M0 10H14V3H30"/></svg>synthetic</li>
<li><svg width="14" height="14" aria-hidden="true"><path class="synthetic" d="M2 7L7 2L12 7L7 12Z"/></svg>synthetic</li>
</ul>
<p class="note small">Distance: half the sum of the absolute differences of the shares, 0 (equal) to 1 (nothing in common); lower is closer. Beside it what the control set, real records the generator never saw, scores. Real are the training records that the generator may learn from, after the protection of values. What fewer than {{ run.comparison.minimum_cell }} people hold is pooled, however many rows they have, outer intervals are open. Histograms are per step of the axis; the bar of a pool may be cut.{% if n_columns > columns|length %} The {{ columns|length }} of {{ n_columns }} columns that differ most are shown.{% endif %}</p>
<div class="cards">
{% for view, chart in columns %}
<article class="card"><h3>{{ view.name }}</h3>
<p>{{ view.kind }}, {{ view.role|replace("_", "-") }}{% if view.distance is not none %}<br>distance <b>{{ view.distance|number }}</b>{% if view.reference is not none %}, control {{ view.reference|number }}{% endif %}{% endif %}
{% if view.missing_real is none %}<br>missing values: too small a group to show{% elif view.missing_real or view.missing_synthetic %}<br>missing: real {{ view.missing_real|percent }}, synthetic {{ view.missing_synthetic|percent }}{% endif %}</p>
{% if chart %}{{ chart }}{% else %}<p class="missing">{{ "No values." if view.missing_real == 1 else "One value only, or too few to show any." }}</p>{% endif %}
</article>
{% endfor %}
</div>
{% else %}<p class="missing">No columns were compared.</p>{% endif %}
"""


MOST_COLUMNS = 120
"""Columns drawn; of wider tables those that differ most."""


def _columns(comparison: TableComparison) -> list[tuple[Any, Markup]]:
    views = list(comparison.columns)
    if len(views) > MOST_COLUMNS:
        worst = sorted(views, key=lambda view: -(view.distance or 0))[:MOST_COLUMNS]
        views = [view for view in views if view in worst]
    return [(view, column_chart(view)) for view in views]


def _values(inputs: ReportInputs) -> dict[str, Any]:
    comparison = inputs.comparison
    return {
        "columns": _columns(comparison) if comparison else [],
        "n_columns": len(comparison.columns) if comparison else 0,
    }


SECTION = Section(
    anchor="columns",
    title="Columns",
    lead="Every column, real beside synthetic.",
    template=TEMPLATE,
    values=_values,
)
