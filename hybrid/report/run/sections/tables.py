"""Linked tables of a run: rows, verdicts, and references between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.publication.asked import REFERENCES
from hybrid.publication.facts import DIFFERENCES, differences_of
from hybrid.publication.verdict import Verdict
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section
from hybrid.report.run.sections.verdict import CHECKS

TEMPLATE = """\
<div class="scroll" tabindex="0"><table class="stack checks">
<thead><tr><th>{{ _("Table") }}</th><th>{{ _("Result") }}</th><th>{{ _("Rows") }}</th><th>{{ _("Belongs to") }}</th></tr></thead>
<tbody>
{% for table in tables %}
<tr class="{{ table.status|replace(" ", "-") if table.status else "none" }}"><th scope="row">{% if table.page %}<a href="{{ table.page }}">{{ table.name }}</a>{% else %}{{ table.name }}{% endif %}</th><td class="mark-status">{{ (signs[table.status] if table.status else "– public, as it was given")|say }}</td><td>{{ table.rows|count }}</td><td>{{ table.parents }}</td></tr>
{% endfor %}
</tbody></table></div>
{% if differences %}
<h3>{{ _("What the tables keep and lose") }}</h3>
<p class="note">{{ _("The largest differences between each table and the data that it was made from. The page of a table has pictures and rows.") }}</p>
<div class="scroll" tabindex="0"><table class="stack checks">
<thead><tr><th>{{ _("Table") }}</th><th>{{ _("Largest difference") }}</th><th>{{ _("In the data’s own words") }}</th></tr></thead><tbody>
{% for one in differences %}
<tr><th scope="row">{{ one.table }}</th><td>{{ of[one.metric]|say }}</td><td>{{ one.said|say }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if references %}
<h3>{{ _("References between the tables") }}</h3>
<p class="note">{{ _("Beside each number: what real people who were kept apart score. Numbers of rows per parent row are compared by the largest difference of their distributions.") }}</p>
<div class="scroll" tabindex="0"><table class="wrap">
<thead><tr><th>{{ _("Table") }}</th><th>{{ _("Rows without their parent") }}</th><th>{{ _("Rows per parent row") }}</th><th>{{ _("Dependence on the parent row") }}</th></tr></thead>
<tbody>
{% for name, found in references.items() %}
<tr><th scope="row">{{ name }}</th>{% for text in found %}<td>{{ text|say }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% endif %}
"""
MOST = 12
"""Largest differences shown: of all tables first those of columns, then of pairs; the pages of the tables have the others."""


@dataclass(frozen=True)
class LinkedRow:
    """A table in the list of linked tables."""

    name: str
    """The table."""
    rows: int
    """Released rows."""
    parents: str
    """Tables that it refers to."""
    page: str | None
    """File of its page."""
    verdict: Verdict | None
    """What the policy says of it; None for a public table."""

    @property
    def status(self) -> str:
        return "" if self.verdict is None else self.verdict.status


def _values(inputs: ReportInputs) -> Mapping[str, Any] | None:
    tables = inputs.collected.get("tables")
    if tables is None:
        return None
    found = {table.name: _references(inputs.evaluation, table.name) for table in tables}
    references = {name: texts for name, texts in found.items() if any(texts)}
    differences = sorted(differences_of(inputs.evaluation)[:MOST], key=lambda one: one.table or "")
    return {
        "tables": tables,
        "signs": CHECKS,
        "references": references,
        "differences": differences,
        "of": DIFFERENCES,
    }


def _references(evaluation: Evaluation, table: str) -> list[str]:
    found = [evaluation.find(name, "synthetic", table=table) for name in REFERENCES]
    return [_text(metric) if metric is not None else "" for metric in found]


def _text(metric: MetricResult) -> str:
    if not isinstance(metric.outcome, Measure):
        return ""
    value, reference = metric.outcome.value, metric.outcome.reference
    return f"{value:.3f}" if reference is None else f"{value:.3f} (real {reference:.3f})"


SECTION = Section(
    anchor="tables",
    title="Tables",
    lead="Every table has a page of its own. The worst of them decides.",
    template=TEMPLATE,
    values=_values,
)
