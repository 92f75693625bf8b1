"""Associations of pairs of columns, real beside synthetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.language import Language
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.report.charts.figures import heat_map
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import number
from hybrid.report.run.sections.section import Section
from hybrid.report.side_by_side import PairAssociations

TEMPLATE = """\
{% if pairs %}
<p>{{ _("On average over all pairs the synthetic table is off by {value:form}.", value=pairs.mean) }}{% if pairs.reference is not none %} {{ _("The control set is off by {value:form}.", value=pairs.reference) }}{% endif %} {{ _("Lower is closer.") }}</p>
<div class="pair{{ " stacked" if pairs.stacked }}">
<figure><div class="scroll" tabindex="0">{{ pairs.map }}</div><figcaption>{{ _("Below the diagonal real, above it synthetic, in hundredths. The closer the two halves mirror each other, the better.") }}{% if pairs.n > pairs.shown %} {{ _("The {shown:number} of {n:number} columns with the strongest associations.", shown=pairs.shown, n=pairs.n) }}{% endif %}</figcaption></figure>
<figure><div class="scroll" tabindex="0">{{ pairs.differences }}</div><figcaption>{{ _("Synthetic minus real, in hundredths. A minus sign and a dashed border: weaker in the synthetic table than in the real one.") }}</figcaption></figure>
</div>
<h3>{{ _("The ten pairs that differ most") }}</h3>
<div class="scroll" tabindex="0"><table>
<thead><tr><th>{{ _("Pair") }}</th><th class="n">{{ _("Real") }}</th><th class="n">{{ _("Synthetic") }}</th><th class="n">{{ _("Difference") }}</th><th class="n">{{ _("Control − real") }}</th></tr></thead><tbody>
{% for row in pairs.table %}
<tr><th scope="row">{{ row.pair[0] }} × {{ row.pair[1] }}</th><td class="n">{{ row.real|number }}</td><td class="n">{{ row.synthetic|number }}</td><td class="n">{{ row.difference|number }}</td><td class="n">{{ row.control|number }}</td></tr>
{% endfor %}
</tbody></table></div>
{% else %}<p class="missing">{{ _("Fewer than two columns could be compared.") }}</p>{% endif %}
{% if dates %}
<h3>{{ _("Dates of a row that lie close together") }}</h3>
<div class="scroll" tabindex="0"><table>
<thead><tr><th>{{ _("From") }}</th><th>{{ _("To") }}</th><th class="n">{{ _("Difference of the times between") }}</th><th class="n">{{ _("Out of order, real") }}</th><th class="n">{{ _("Out of order, synthetic") }}</th><th class="n">{{ _("Equal, real") }}</th><th class="n">{{ _("Equal, synthetic") }}</th></tr></thead><tbody>
{% for row in dates %}
<tr><th scope="row">{{ row.first }}</th><td>{{ row.second }}</td><td class="n">{{ row.distance|number }}</td><td class="n">{{ row.out_of_order_real|percent }}</td><td class="n">{{ row.out_of_order|percent }}</td><td class="n">{{ row.equal_real|percent }}</td><td class="n">{{ row.equal|percent }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="note small">{{ _("Difference: 0 where the times between are spread alike, 1 where they share nothing. Out of order: the other way round than in most real rows. Counts of real rows are rounded up to tens.") }}</p>
{% endif %}
"""


MOST_LISTED = 10
"""Pairs in the table: those that differ most."""
MOST_PAIRED_COLUMNS = 20
"""Columns in the maps of associations; of wider tables those with the strongest ones."""


def _pairs(associations: PairAssociations, language: Language) -> dict[str, Any] | None:
    n = len(associations.names)
    if n < 2:
        return None
    real, synthetic, control = associations.real, associations.synthetic, associations.control
    difference = synthetic - real
    strength = np.nan_to_num(np.maximum(real, synthetic) * (1 - np.eye(n))).sum(axis=1)
    kept = np.sort(np.argsort(-strength, kind="stable")[:MOST_PAIRED_COLUMNS])
    grid = np.ix_(kept, kept)
    names = [associations.names[at] for at in kept]
    table = [
        {
            "pair": (associations.names[a], associations.names[b]),
            "real": float(real[a, b]),
            "synthetic": float(synthetic[a, b]),
            "difference": float(difference[a, b]),
            "control": None if control is None else float((control - real)[a, b]),
        }
        for a, b in associations.most_different(MOST_LISTED)
    ]
    return {
        "n": n,
        "shown": len(names),
        "stacked": len(names) > 15,
        "map": heat_map(names, real[grid], synthetic[grid], "Associations of pairs of columns", language),
        "differences": heat_map(names, *(difference[grid],) * 2, "Synthetic minus real", language, signed=True),
        "table": table,
        "mean": number(_mean_absolute(difference)),
        "reference": None if control is None else number(_mean_absolute(control - real)),
    }


def _mean_absolute(matrix: Any) -> float | None:
    cells = matrix[np.tril_indices(len(matrix), -1)]
    cells = cells[np.isfinite(cells)]
    return float(np.abs(cells).mean()) if len(cells) else None


def _dates(evaluation: Evaluation) -> list[dict[str, Any]]:
    found = evaluation.find("gaps_between_dates", "synthetic")
    if found is None or not isinstance(found.outcome, Measure):
        return []
    return sorted(found.outcome.details["pairs"], key=lambda one: -float(one["distance"]))


def _values(inputs: ReportInputs) -> dict[str, Any]:
    return {
        "pairs": _pairs(inputs.comparison.associations, inputs.language) if inputs.comparison else None,
        "dates": _dates(inputs.evaluation),
    }


SECTION = Section(
    anchor="pairs",
    title="Pairs",
    lead="Strength of association between columns: Cramér’s V of the cells above, from 0 (independent) to 1 (one decides the other).",
    template=TEMPLATE,
    values=_values,
)
