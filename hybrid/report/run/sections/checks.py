"""All checks that are met, the leaks that the verdict would have noticed, and the guarantee in technical words."""

from __future__ import annotations

from typing import Any

from hybrid.publication.power import POWER, not_tried
from hybrid.publication.verdict import folded
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section
from hybrid.report.run.sections.verdict import CHECKS

ROWS = """\
{% macro rows(checks) %}
<div class="scroll" tabindex="0"><table class="stack checks">
<thead><tr><th>{{ _("Result") }}</th><th>{{ _("Rule") }}</th><th>{{ _("Found") }}</th></tr></thead>
<tbody>
{% for check in checks %}
<tr class="{{ check.standing|replace(" ", "-") if check.applies else "none" }}"><td class="mark-status">{{ (signs[check.standing] if check.applies else "– does not apply")|say }}</td><th scope="row">{{ check.rule|own }}</th><td>{{ check.message|say }}{% set to_try = check.to_try(language) %}{% if check.details or to_try %}<details><summary>{{ _("Details" if check.decision == "pass" else "Details, and what to try") }}</summary>{% if check.details %}{{ check.details|say }}.{% endif %}{% if to_try %}<p>{{ _("To try:") }} {{ to_try }}.</p>{% endif %}</details>{% endif %}</td></tr>
{% endfor %}
</tbody></table></div>
{% endmacro %}
"""
"""Macro of a table of checks."""
TEMPLATE = (
    ROWS
    + """\
{% if open %}
<h3>{{ _("What a person must look at") }}</h3>
{{ rows(open) }}
{% endif %}
{% if power %}
<h3>{{ _("Which test leaks this verdict would have caught") }}</h3>
<p class="note">{{ _("Leaks of known size were planted into copies of the released table, and the rules applied again.") }}</p>
<ul>
{% for check in power %}<li>{{ signs[check.status]|say }}: {{ check.message|say }}</li>
{% endfor %}
</ul>
{% if not_tried %}<p>{{ not_tried|say }}</p>{% endif %}
{% endif %}
{% if met %}
<details><summary>{{ folded|say }}</summary>{{ rows(met) }}</details>
{% endif %}
<details><summary>{{ _("The guarantee in technical words") }}</summary><blockquote>{{ run.guarantee|say }}</blockquote>{% if run.verdict %}<p class="note">{{ _("Policy: {name}.", name=run.verdict.policy) }}{% if run.draw %}{% set draw = run.draw|say %} {{ draw[0]|upper }}{{ draw[1:] }}. {{ _("The certificate of a release states the number of the draw at which it was published.") }}{% endif %}</p>{% endif %}</details>
"""
)


def _values(inputs: ReportInputs) -> dict[str, Any]:
    checks = () if inputs.verdict is None else inputs.verdict.checks
    return {
        "signs": CHECKS,
        "open": () if inputs.verdict is None else inputs.verdict.open_checks,
        "met": [check for check in checks if check.decision == "pass"],
        "folded": "" if inputs.verdict is None else folded(inputs.verdict),
        "not_tried": not_tried(checks),
        "power": [check for check in checks if check.rule.startswith(POWER)],
    }


SECTION = Section(
    anchor="checks",
    title="Checks",
    lead="All rules of the policy, and what was found.",
    template=TEMPLATE,
    values=_values,
)
