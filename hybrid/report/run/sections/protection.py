"""Protected columns, and those left as they are."""

from __future__ import annotations

from typing import Any

from hybrid.publication.private_words import is_dp, steps
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import ReportedRun, Section

ANCHOR = "protection"
TEMPLATE = """\
{% if protection.columns %}
<p>{{ _("Values that fewer than {n:number} people of the training data hold were replaced before anything learned from them; in generalized columns, whose labels are made of the true values, below the same label.", n=protection.min_count) }} {{ _("Numbers and dates beyond the {n:number} smallest and largest were set to that limit, and those that few people hold were drawn anew between their neighbours.", n=protection.min_count) }}</p>
<ul>
{% for sentence in protection.columns %}<li>{{ sentence|say }}</li>
{% endfor %}
</ul>
{% elif protection.private %}
<ul>
{% for sentence in protection.private %}<li>{{ sentence|say }}</li>
{% endfor %}
</ul>
<p class="note">{{ _("Rare values were not replaced one by one: the noise hides them with all others.") }}</p>
{% else %}<p class="missing">{{ _("Protection is off: values of single people went into everything that learns.") }}</p>{% endif %}
"""


def _collect(run: ReportedRun, smallest: int) -> dict[str, Any]:  # noqa: ARG001  (few records are not counted out)
    config = run.config.model_dump(mode="json")
    private = list(steps(config)) if is_dp(config) else []
    if run.protected is None:
        return {"min_count": 0, "columns": [], "private": private}
    found = run.protected.result
    return {
        "min_count": found.min_count,
        "columns": [column.sentence for column in found.columns],
        "private": private,
    }


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    found = inputs.collected.get(ANCHOR)
    return None if found is None else {"protection": found}


SECTION = Section(
    anchor=ANCHOR,
    title="Protection of values",
    template=TEMPLATE,
    values=_values,
    collect=_collect,
)
