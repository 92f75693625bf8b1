"""Declared constraints between columns, and how they were held."""

from __future__ import annotations

from typing import Any

from hybrid.publication.table_facts import few
from hybrid.report.charts.figures import percent
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import ReportedRun, Section

ANCHOR = "constraints"
TEMPLATE = """\
<div class="scroll" tabindex="0"><table><thead><tr><th>{{ _("Constraint") }}</th><th class="n">{{ _("Rows of the source that break it") }}</th><th class="n">{{ _("First draws that broke it") }}</th><th class="n">{{ _("Released rows that break it") }}</th></tr></thead><tbody>
{% for row in constraints.rows %}
<tr><th scope="row">{{ row.sentence|own }}</th><td class="n">{{ row.source|figure }}</td><td class="n">{{ "–" if row.again is none else row.again|percent }}</td><td class="n">{{ _("cannot be judged") if row.released is none else row.released|count }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="note small">{{ _("First draws that broke it: share of the rows of the generator’s first draw.") }}{% if constraints.again is not none %} {{ _("Any of the constraints was broken in {share:form}.", share=share(constraints.again)) }} {{ _("Of the rows of this draw, {share:form} got other values in the columns concerned, as similar rows have them.", share=share(constraints.repaired)) }} {{ _("Of all draws, {share:form} were thrown out, since no values fitted.", share=share(constraints.thrown)) }}{% endif %} {% if constraints.off %}{{ _("Records left out of the table, since they break one after the stages before: {n:text}.", n=constraints.left_out) }}{% else %}{{ _("Records not learned from, since they break one after the stages before: {n:text}.", n=constraints.left_out) }}{% endif %} {% if constraints.dropped %}{{ _("Rows left out of the table, since no draw for their parent keeps all constraints: {n:number}.", n=constraints.dropped) }} {% endif %}{{ _("Counts of real records are masked.") }}</p>
"""


def _collect(run: ReportedRun, smallest: int) -> dict[str, Any] | None:  # noqa: ARG001  (small counts are masked)
    redrawn = run.redrawn
    if not run.rules or redrawn is None:
        return None
    source = {rule: int(mask.sum()) for rule, mask in run.rules.masks(run.table)}
    released = {rule: int(mask.sum()) for rule, mask in run.rules.masks(run.synthetic)}
    drawn = None if run.is_unsynthesized else redrawn
    rows = [
        {
            "sentence": rule.constraint.sentence,
            "source": _masked(source.get(rule)),
            "again": None if drawn is None else drawn.by_rule.get(rule.constraint.sentence, 0) / max(drawn.rows, 1),
            "released": released.get(rule),
        }
        for rule in run.rules.rules
    ]
    return {
        "rows": rows,
        "again": None if drawn is None else drawn.rate,
        "repaired": redrawn.repaired / max(redrawn.rows, 1),
        "thrown": redrawn.thrown_rate,
        "off": run.is_unsynthesized,
        "left_out": _masked(redrawn.left_out),
        "dropped": redrawn.dropped,
    }


def _masked(count: int | None) -> str:
    # None only where there is not one.
    if count is None:
        return "cannot be judged"
    return few(count) if count else "none"


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    found = inputs.collected.get(ANCHOR)
    return None if found is None else {"constraints": found, "share": percent}


SECTION = Section(
    anchor=ANCHOR,
    title="Constraints between columns",
    lead="What the configuration declares about every row.",
    template=TEMPLATE,
    values=_values,
    collect=_collect,
)
