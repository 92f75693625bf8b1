"""First page: verdict, lamps, open checks and protection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hybrid.base.language import Language
from hybrid.base.sentence import sentence
from hybrid.publication.criteria import Criterion, criterion_of
from hybrid.publication.first_page import Concern, RunFacts, concern, first_page
from hybrid.publication.in_short import in_short
from hybrid.publication.power import POWER, not_tried, untried_forms
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import WORST_FIRST, Check, Standing, Verdict
from hybrid.report.charts.figures import limit_chart
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import ReportedRun, Section

ANCHOR = "verdict"
TEMPLATE = """\
{% macro sentences(title, lines, n_forms=0) %}
{% if lines %}
<h3>{{ title|say }}</h3><ul>{% for line in lines %}<li>{{ line|say }}</li>{% endfor %}{% if n_forms %}<li>{{ _("Leaks of {n:number} further forms were not planted; the details name them.", n=n_forms) }}</li>{% endif %}</ul>
{% endif %}
{% endmacro %}
{% if page %}
<div class="verdict {{ run.verdict.status }}"><span class="sign" aria-hidden="true">{{ verdict[0] }}</span><strong>{{ verdict[1]|say }}</strong><p>{{ page.answer|say }}{% for line in page.promise %}<br><b>{{ line|say }}</b>{% endfor %}{% if page.table %}<br><span class="note">{{ page.table[0]|say }}</span>{% endif %}{% if purpose %}<br>{{ _("Stated use: {uses}.", uses=purpose.uses|join("; ")) if purpose.uses else _("No use is stated (publish.uses).") }}{% endif %}</p>
{% if page.unsettled or page.not_for or purpose and purpose.not_for %}
<ul>{% for line in page.not_for %}<li>{{ line|say }}</li>{% endfor %}{% for use in (purpose.not_for if purpose else ()) %}<li>{{ _("Not for: {use}", use=use) }}</li>{% endfor %}{% for line in page.unsettled %}<li>{{ line|say }}</li>{% endfor %}</ul>
{% endif %}
</div>
{% if run.verdict.open_checks %}
<h3>{{ _("Why the table must not leave") if run.verdict.status == "block" else _("What a person must look at") }}</h3>
{% if found %}
<div class="scroll" tabindex="0"><table class="stack checks">
<thead><tr><th>{{ _("Result") }}</th><th>{{ _("Rule") }}</th><th>{{ _("Found") }}</th><th>{{ _("To try") }}</th></tr></thead>
<tbody>
{% for check, short, to_try in found %}
<tr class="{{ check.standing|replace(" ", "-") }}"><td class="mark-status">{{ signs[check.standing]|say }}</td><th scope="row">{{ check.rule|own }}</th><td>{{ short|say }}</td><td>{{ to_try }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if more %}<p>{{ _("Not met either: {rules:items}.", rules=more|join(", ")) if not n_more else _("Not met either: {rules:items}; and {n:number} more, see the details.", rules=more|join(", "), n=n_more) }}</p>{% endif %}
{% if unjudged %}<p>{{ _("Not judged, for reasons that the details give: {rules:items}.", rules=unjudged|join(", ")) }}</p>{% endif %}
{% for leak in unseen %}<p>{{ _("It is not known whether the checks would notice {leak:text}.", leak=leak) }}</p>{% endfor %}
{% endif %}
<h3>{{ _("Risks for the people in the data") }}</h3>
<ul class="lamps">
{% for lamp in page.lamps %}
<li class="{{ lamp.status|replace(" ", "-") }}">
<div><p class="lamp"><b>{{ lamp.question|say }}</b><span class="mark-status">{{ lights[lamp.status]|say }}</span>{% if lamp.place %}<span class="place {{ lamp.place|replace(" ", "-") }}">{{ lamp.placed|say }}</span>{% endif %}</p><p>{{ lamp.answer|say }}</p><p class="note small">{{ criteria[lamp.criterion]|say }}</p></div>
{% if lamp.findings %}
<table class="parts"><caption>{{ lamp.unit|say }}</caption>
<thead><tr><td></td><th scope="col">{{ _("measured") }}</th><th scope="col">{{ _("up to") }}</th><th scope="col">{{ _("allowed") }}</th></tr></thead>
<tbody>
{% for each in lamp.findings %}
<tr class="{{ each.status|replace(" ", "-") }}"><th scope="row">{{ each.about|say }}{{ bar(each) }}</th>{% for number in (each.measured, each.up_to, each.allowed) %}<td class="n">{{ number|say if number else "–" }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table>
{% endif %}
</li>
{% endfor %}
</ul>
{% if page.lamps|selectattr("findings")|list %}<p class="note">{{ _("Up to: a leak of this size cannot be ruled out with the people there are.") }} {{ _("Bars: green is allowed, red forbids a release if it is certain. The dot is what was measured, the line reaches up to what cannot be ruled out.") }}</p>{% endif %}
<div class="plain columns">
{{ sentences("How people are protected", page.protection) }}
{{ sentences("What the table is, and who decided", page.table[1:] + page.decided) }}
{{ sentences("What was not tried", not_attacked, n_forms) }}
</div>
{% else %}
<div class="verdict none"><span class="sign" aria-hidden="true">–</span><strong>{{ _("No verdict") }}</strong><p>{{ _("No policy was applied to this run.") }}</p></div>
{% endif %}
{% if not page or run.verdict.status != "block" %}<div class="sign-off" aria-hidden="true"><span>{{ _("Data steward") }}</span><span>{{ _("Date") }}</span><span>{{ _("Signature") }}</span></div>{% endif %}
"""


CONCERNS: dict[Concern, str] = {
    "people": "review.people",
    "unknown": "review.unknown",
    "use": "review.use",
    "making": "review.making",
}
"""Title of a review by its gravest concern."""
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


MOST_OPEN, MOST_NAMED = 6, 12
"""Unmet rules whose findings the first page states, and those that it names beside them; the details have all."""
CONTENT = ("lost_column", "lost_link", "lost_prediction", "group_exclusion", "tstr")
"""Metrics of what the table keeps, whose rules come first among equals."""


def _collect(run: ReportedRun, smallest: int) -> dict[str, Any]:  # noqa: ARG001 - counts of the whole table only
    result = None if run.anonymized is None else run.anonymized.result
    tables = run.table, run.control, run.synthetic
    return {
        "owner": run.policy.owner,
        "config": run.config.model_dump(mode="json"),
        "table": TableFacts.of(
            *tables, anonymized=result is not None, rows=run.released_rows, learned=run.learned_records
        ),
        "anonymization": result,
        "private": run.is_private,
        "protected": None if run.protected is None else run.protected.result.to_json(),
    }


def _in_order(checks: Sequence[Check]) -> list[Check]:
    """The worst first; among equals first what the table keeps, and then one of each question about people."""
    seen: Counter[tuple[Standing, Criterion | None]] = Counter()
    places = []
    for check in checks:
        about = check.standing, criterion_of(check.metric)
        places.append((WORST_FIRST.index(check.standing), check.metric not in CONTENT, seen[about]))
        seen[about] += 1
    return [check for _, check in sorted(zip(places, checks, strict=True), key=lambda one: one[0])]


def _lines(checks: Sequence[Check], language: Language) -> Iterator[tuple[Check, str, str]]:
    """Each check with its finding in short, and what to try unless the line above says the same."""
    above = ""
    for check in checks:
        to_try = check.to_try(language)
        yield check, in_short(check), language.say("as above") if to_try and to_try == above else to_try
        above = to_try


def _purpose(config: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Uses that the publisher states, and those that the table is not for."""
    said = config.get("publish") or {}
    return {key: said.get(key) or () for key in ("uses", "not_for")}


def _title(verdict: Verdict) -> str:
    found = concern(verdict) if verdict.status == "review" else None
    return VERDICTS[verdict.status][1] if found is None else sentence(CONCERNS[found])


def _values(inputs: ReportInputs) -> dict[str, Any]:
    if inputs.verdict is None:
        return {"page": None}
    collected = inputs.collected.get(ANCHOR)
    facts = None
    if collected is not None:
        created = inputs.created.date().isoformat()
        facts = RunFacts(inputs.name, created, **collected)
    open_ = inputs.verdict.open_checks
    found = _in_order([check for check in open_ if check.standing != "not judged"])
    unknown = [check for check in open_ if check.standing == "not judged"]
    of_leaks = [check for check in unknown if check.rule.startswith(POWER) and check.subject]
    page = first_page(inputs.verdict, inputs.evaluation, facts)
    others = list(dict.fromkeys(check.rule for check in found[MOST_OPEN:]))
    n_forms = len(untried_forms(inputs.verdict.checks))
    return {
        "page": page,
        "purpose": None if facts is None or inputs.verdict.status == "block" else _purpose(facts.config),
        "not_attacked": [line for line in page.not_attacked if not n_forms or line != not_tried(inputs.verdict.checks)],
        "n_forms": n_forms,
        "verdict": (VERDICTS[inputs.verdict.status][0], _title(inputs.verdict)),
        "signs": CHECKS,
        "lights": LIGHTS,
        "criteria": CRITERIA,
        "found": list(_lines(found[:MOST_OPEN], inputs.language)),
        "more": others[:MOST_NAMED],
        "n_more": max(len(others) - MOST_NAMED, 0),
        "unjudged": list(dict.fromkeys(check.rule for check in unknown if check not in of_leaks)),
        "unseen": [check.subject for check in of_leaks] if inputs.verdict.status != "block" else [],
        "bar": lambda finding: limit_chart(finding.on_scale, inputs.language),
    }


SECTION = Section(
    anchor=ANCHOR,
    title="Verdict",
    template=TEMPLATE,
    values=_values,
    collect=_collect,
)
