"""Verdict of the gate, check by check.

With the guarantee and the headline figures.
"""

from __future__ import annotations

from typing import Any

from hybrid.publication.power import POWER
from hybrid.report.charts.figures import percent
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if verdict %}
<div class="verdict {{ run.verdict.status }}"><span class="sign" aria-hidden="true">{{ verdict[0] }}</span><strong>{{ verdict[1] }}</strong><p>{{ verdict[2] }}<br><span class="note">Policy: {{ run.verdict.policy }}</span></p></div>
{% else %}
<div class="verdict none"><span class="sign" aria-hidden="true">–</span><strong>No verdict</strong><p>No policy was applied to this run.</p></div>
{% endif %}
<blockquote>{{ run.guarantee }}</blockquote>
{% if figures %}
<dl class="facts">
{% for figure, meaning in figures %}
<div><dt>{{ figure }}</dt><dd>{{ meaning }}</dd></div>
{% endfor %}
</dl>
{% endif %}
{% if run.verdict and run.verdict.checks %}
{% macro rows(checks) %}
<div class="scroll"><table class="stack">
<thead><tr><th>Status</th><th>Rule</th><th>Found</th><th>What to try</th></tr></thead>
<tbody>
{% for check in checks %}
<tr class="{{ check.status|replace(" ", "-") }}"><td class="mark-status">{{ signs[check.status] }}</td><th scope="row">{{ check.rule }}</th><td>{{ check.message }}</td><td>{{ check.hint if check.decision != "pass" else "" }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endmacro %}
{% if run.verdict.open_checks %}{{ rows(run.verdict.open_checks) }}{% endif %}
{% if power %}
<h3>What this verdict would have noticed</h3>
<p class="note">Leaks of known size were planted into copies of the released table, and the rules applied again.</p>
<ul>
{% for check in power %}<li>{{ signs[check.status] }}: {{ check.message }}</li>
{% endfor %}
</ul>
{% endif %}
{% if met %}
<details><summary>{{ met|length }} rules are met or do not apply</summary>{{ rows(met) }}</details>
{% endif %}
{% endif %}
<div class="sign-off" aria-hidden="true"><span>Data steward</span><span>Date</span><span>Signature</span></div>
"""


VERDICTS = {
    "pass": ("✓", "Pass", "Every rule of the policy is met."),
    "review": ("!", "Review", "A person must decide: at least one rule asks for it, none blocks."),
    "block": ("✕", "Block", "At least one rule of the policy is broken; this table must not leave."),
}
"""Sign, word and meaning of each verdict."""
CHECKS = {"pass": "✓ pass", "review": "! review", "block": "✕ block", "not judged": "? not judged"}
"""Sign and word of each check's status."""


def _headline(inputs: ReportInputs) -> list[tuple[str, str]]:
    """Headline figures beside the verdict."""
    figures = []
    if inputs.steps:
        figures += [(f"{inputs.steps[0].rows:,}", "records came in"), (f"{inputs.steps[-1].rows:,}", "rows go out")]
    if inputs.anonymization:
        result = inputs.anonymization
        figures += [
            (f"{result['min_class_size']:,}", f"records in the smallest class (k = {result['k']})"),
            (percent(result["suppressed"] / max(result["records"], 1)), "of the records suppressed"),
        ]
    return figures


def _values(inputs: ReportInputs) -> dict[str, Any]:
    checks = inputs.verdict.checks if inputs.verdict else ()
    return {
        "verdict": VERDICTS[inputs.verdict.status] if inputs.verdict else None,
        "figures": _headline(inputs),
        "signs": CHECKS,
        "power": [check for check in checks if check.rule.startswith(POWER)],
        "met": [check for check in checks if check.decision == "pass"],
    }


SECTION = Section(
    anchor="verdict",
    title="Verdict",
    template=TEMPLATE,
    values=_values,
)
