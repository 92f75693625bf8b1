"""Metrics of utility and fidelity, and column importances of a model."""

from __future__ import annotations

from typing import Any

from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import MOST_ROWS, TableRow, metric_groups, number
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{{ metric_tables(utility, "No utility metric was asked for.") }}
{% for target, rows in importances.items() if rows %}
<h3>{{ _("What models of {column} look at", column=target) }}</h3>
{{ exposure_table(["Column", "Rank, real", "Importance, real", "Rank, synthetic", "Importance, synthetic"], rows) }}
<p class="note small">{{ _("Importance: what a model loses on real people when the column is shuffled. The same order means that models of the synthetic rows use the same columns.") }}</p>
{% endfor %}
{% if fidelity %}<h3>{{ _("Closeness to the data") }}</h3>{{ metric_tables(fidelity, "") }}{% endif %}
"""


def importance_rows(evaluation: Evaluation) -> dict[str, list[TableRow]]:
    """Feature importances by target: models of the real and the synthetic rows."""
    tables = {}
    for metric in evaluation.metrics:
        outcome = metric.outcome
        if metric.name != "importance_agreement" or metric.stage != "synthetic" or not isinstance(outcome, Measure):
            continue
        real, synthetic = outcome.details["real"], outcome.details["table"]
        ranks = {name: at for at, name in enumerate(sorted(synthetic, key=lambda name: -synthetic[name]), start=1)}
        order = sorted(real, key=lambda name: -real[name])[:MOST_ROWS]
        tables[metric.column or ""] = [
            TableRow((name,), (str(at), number(real[name]), str(ranks[name]), number(synthetic[name])))
            for at, name in enumerate(order, start=1)
        ]
    return tables


def _values(inputs: ReportInputs) -> dict[str, Any]:
    return {
        "utility": metric_groups(inputs.evaluation, "utility", inputs.metric_texts, language=inputs.language),
        "fidelity": metric_groups(inputs.evaluation, "fidelity", inputs.metric_texts, language=inputs.language),
        "importances": importance_rows(inputs.evaluation),
    }


SECTION = Section(
    anchor="utility",
    title="Utility",
    lead="What the synthetic table is good for, and how close it stays to the data.",
    template=TEMPLATE,
    values=_values,
)
