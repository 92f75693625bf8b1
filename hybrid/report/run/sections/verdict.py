"""First page: verdict, lamps, open checks and protection."""

from __future__ import annotations

from typing import Any

from hybrid.publication.first_page import RunFacts, first_page
from hybrid.publication.power import POWER, not_tried
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Standing, folded
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import ReportedRun, Section

TEMPLATE = """\
{% macro rows(checks) %}
<div class="scroll"><table class="stack checks">
<thead><tr><th>Result</th><th>Rule</th><th>Found</th></tr></thead>
<tbody>
{% for check in checks %}
<tr class="{{ check.standing|replace(" ", "-") if check.applies else "none" }}"><td class="mark-status">{{ signs[check.standing] if check.applies else "– does not apply" }}</td><th scope="row">{{ check.rule }}</th><td>{{ check.message }}{% if check.details or check.hint %}<details><summary>{{ "Details" if check.decision == "pass" else "Details, and what to try" }}</summary>{{ check.details }}{% if check.hint %}<p>To try: {{ check.hint }}.</p>{% endif %}</details>{% endif %}</td></tr>
{% endfor %}
</tbody></table></div>
{% endmacro %}
{% macro sentences(title, lines) %}
{% if lines %}
<div><h3>{{ title }}</h3><ul>{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul></div>
{% endif %}
{% endmacro %}
{% if page %}
<div class="verdict {{ run.verdict.status }}"><span class="sign" aria-hidden="true">{{ verdict[0] }}</span><strong>{{ verdict[1] }}</strong><p>{{ page.answer }}{% for line in page.promise %}<br><b>{{ line }}</b>{% endfor %}{% if page.table %}<br><span class="note">{{ page.table[0] }}</span>{% endif %}</p></div>
<h3>Risks for the people in the data</h3>
<ul class="lamps">
{% for lamp in page.lamps %}
<li class="{{ lamp.status|replace(" ", "-") }}"><p class="lamp"><b>{{ lamp.question }}</b><span class="mark-status">{{ lights[lamp.status] }}</span></p><p>{{ lamp.sentence }}</p><p class="note small">{{ criteria[lamp.criterion] }}</p></li>
{% endfor %}
</ul>
{% if run.verdict.open_checks %}
<h3>What a person must look at</h3>
{{ rows(run.verdict.open_checks) }}
{% endif %}
{% if power %}
<h3>What this verdict would have noticed</h3>
<p class="note">Leaks of known size were planted into copies of the released table, and the rules applied again.</p>
<ul>
{% for check in power %}<li>{{ signs[check.status] }}: {{ check.message }}</li>
{% endfor %}
</ul>
{% if not_tried %}<p>{{ not_tried }}</p>{% endif %}
{% endif %}
{% if met %}
<details><summary>{{ folded }}</summary>{{ rows(met) }}</details>
{% endif %}
<div class="pair plain">
{{ sentences("How people are protected", page.protection) }}
{{ sentences("What the table is, and who decided", page.table + page.decided) }}
{{ sentences("What was not tried", page.not_attacked|reject("equalto", not_tried)|list) }}
</div>
{% else %}
<div class="verdict none"><span class="sign" aria-hidden="true">–</span><strong>No verdict</strong><p>No policy was applied to this run.</p></div>
{% endif %}
<details><summary>The guarantee in technical words</summary><blockquote>{{ run.guarantee }}</blockquote>{% if page %}<p class="note">Policy: {{ run.verdict.policy }}{% if run.draw %}. Judged as the {{ run.draw }}; the certificate of a release states the number at which it was published.{% endif %}</p>{% endif %}</details>
<div class="sign-off" aria-hidden="true"><span>Data steward</span><span>Date</span><span>Signature</span></div>
"""


VERDICTS = {"pass": ("✓", "Pass"), "review": ("!", "Review"), "block": ("✕", "Block")}
"""Sign and word of each verdict."""
CHECKS: dict[Standing, str] = {
    "pass": "✓ pass",
    "not ruled out": "○ not ruled out",
    "review": "! review",
    "block": "✕ block",
    "not judged": "? not judged",
}
"""Sign and words of each check's standing."""
LIGHTS = CHECKS | {"not judged": "? unknown"}
"""Sign and words of each lamp's standing."""
CRITERIA = {
    "singling out": "Singling out, Opinion 05/2014",
    "linkability": "Linkability, Opinion 05/2014",
    "inference": "Inference, Opinion 05/2014",
    "membership": "Membership",
    "copies": "Copies and closeness",
}
"""The technical name below each lamp."""


def _collect(run: ReportedRun, smallest: int) -> dict[str, Any]:  # noqa: ARG001 - counts of the whole table only
    result = None if run.anonymized is None else run.anonymized.result
    tables = run.table, run.control, run.synthetic
    return {
        "owner": run.policy.owner,
        "config": run.config.model_dump(mode="json"),
        "table": TableFacts.of(*tables, anonymized=result is not None, rows=run.released_rows),
        "anonymization": result,
        "private": run.is_private,
    }


def _values(inputs: ReportInputs) -> dict[str, Any]:
    if inputs.verdict is None:
        return {"page": None}
    collected = inputs.collected.get("verdict")
    facts = None
    if collected is not None:
        created = inputs.created.date().isoformat()
        facts = RunFacts(inputs.name, created, protected=inputs.collected.get("protect"), **collected)
    return {
        "page": first_page(inputs.verdict, inputs.evaluation, facts),
        "verdict": VERDICTS[inputs.verdict.status],
        "signs": CHECKS,
        "lights": LIGHTS,
        "criteria": CRITERIA,
        "met": [check for check in inputs.verdict.checks if check.decision == "pass"],
        "folded": folded(inputs.verdict),
        "not_tried": not_tried(inputs.verdict.checks),
        "power": [check for check in inputs.verdict.checks if check.rule.startswith(POWER)],
    }


SECTION = Section(
    anchor="verdict",
    title="Verdict",
    template=TEMPLATE,
    values=_values,
    collect=_collect,
)
