"""Metrics and verdicts at every stage, and the improvement over the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hybrid.base.language import ENGLISH, Language
from hybrid.evaluation.improvement import improvements
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable, Subject
from hybrid.publication.verdict import SEVERITY, Check, Verdict
from hybrid.report.charts.figures import STAGES, stage_chart
from hybrid.report.run.inputs import MetricText, ReportInputs, title_of
from hybrid.report.run.metrics import BETTER, STATES, TableRow, domain_of, interval_text, number
from hybrid.report.run.sections.section import Section
from hybrid.report.run.sections.verdict import CHECKS

NOT_APPLYING = "does not apply"
TEMPLATE = """\
{% if stages %}
<div class="scroll" tabindex="0"><table class="stage stack">
<thead><tr><th>{{ _("Metric") }}</th>{% for stage in stage_names %}<th class="n">{{ stage|capitalize|say }}</th>{% endfor %}<th>{{ _("On one scale") }} ({% for stage in stage_names %}{{ (stage|capitalize|say)[0] }}{{ ", " if not loop.last }}{% endfor %})</th></tr></thead><tbody>
{% for row in stages %}
<tr><th scope="row">{{ row.title|say }}{{ ": " ~ row.about if row.about else "" }}<br><span class="second">{{ row.better|say }}</span></th>
{% for cell in row.cells %}
{% set lines = cell.split("\\n") %}
<td class="n" data-label="{{ stage_names[loop.index0]|say }}">{{ lines[0]|figure }}{% if lines|length > 1 %}<br><span class="second">{{ lines[1]|figure }}</span>{% endif %}</td>
{% endfor %}
<td class="chart">{{ row.chart }}</td></tr>
{% endfor %}
</tbody></table></div>
{% if of_one_fold %}<p class="note small">{{ _("What compares with people never seen is pooled over all folds for the synthetic table, and of the first fold alone for the others: their intervals are wider.") }}</p>{% endif %}
{% else %}<p class="missing">{{ _("No metric was measured at more than one stage.") }}</p>{% endif %}
{% if stage_verdicts %}
<h3>{{ _("What the policy would say at each stage") }}</h3>
<div class="scroll" tabindex="0"><table>
<thead><tr><th>{{ _("Rule about metrics") }}</th>{% for stage in run.stage_verdicts %}<th>{{ stage|capitalize|say }}</th>{% endfor %}</tr></thead><tbody>
<tr><th scope="row">{{ _("all together") }}</th>{% for stage, found in run.stage_verdicts.items() %}<td class="{{ found.status }}"><span class="mark-status">{{ signs[found.status]|say }}</span></td>{% endfor %}</tr>
{% for rule, statuses in stage_verdicts %}
<tr><th scope="row">{{ rule|own }}</th>{% for status in statuses %}<td class="{{ status|replace(" ", "-") }}"><span class="mark-status">{{ (signs[status]|say) if status in signs else "–" }}</span></td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
<p class="note small">{{ _("As if that stage’s table were to be released; rules about the intermediate table are left out. Rules on which the stages differ come first.") }}</p>
{% endif %}
{% if improvements %}
<h3>{{ _("What anonymizing first improves") }}</h3>
{{ exposure_table(["Metric", "Synthetic against baseline", "Difference", "Interval", "Relative", "Eq. 5.3 as printed"][:2 + improvements[0].numbers|length], improvements) }}
<p class="note small">{{ _("Synthetic minus baseline, in the metric’s own unit. Better or worse holds for these two tables, and only beyond the interval of the difference. The interval is that of the records alone: another training of the same generator may change either number by more. `hybrid compare` with several seeds measures that. Relative (a positive share is less of it) only of metrics that are zero without a leak, where the baseline’s own interval excludes zero.") }}</p>
{% endif %}
"""


@dataclass(frozen=True)
class StageRow:
    """One metric at the four stages."""

    title: str
    about: str
    better: str
    cells: tuple[str, ...]
    chart: Markup


def stage_rows(evaluation: Evaluation, texts: Mapping[str, MetricText], language: Language = ENGLISH) -> list[StageRow]:
    """Metrics measured at more than one stage, one row each."""
    rows = []
    at_stages: dict[tuple[str, str | None], dict[Subject, MetricResult]] = {}
    for metric in evaluation.metrics:
        at_stages.setdefault((metric.name, metric.column), {})[metric.stage] = metric
    for (name, column), found in at_stages.items():
        if len(found) < 2:
            continue
        first = next(iter(found.values()))
        outcomes = {stage: found[stage].outcome for stage in STAGES if stage in found}
        measured = {
            stage: (outcome.value, outcome.low, outcome.high)
            for stage, outcome in outcomes.items()
            if isinstance(outcome, Measure)
        }
        text = texts.get(name) or MetricText(title_of(name), "")
        rows.append(
            StageRow(
                title=text.title,
                about=column or "",
                better=BETTER[first.family, first.direction],
                cells=tuple(_stage_cell(found.get(stage)) for stage in STAGES),
                chart=stage_chart(measured, domain_of(list(found.values())), language),
            )
        )
    return rows


def folds_differ(evaluation: Evaluation) -> bool:
    """True if the synthetic table is measured in more folds than another."""
    pooled = {
        one.stage for one in evaluation.metrics if isinstance(one.outcome, Measure) and "folds" in one.outcome.details
    }
    return "synthetic" in pooled and pooled < {*evaluation.stages}


def _stage_cell(metric: MetricResult | None) -> str:
    if metric is None:
        return "–"
    if isinstance(metric.outcome, NotComputable):
        return STATES[metric.outcome.state]
    interval = interval_text(metric.outcome)
    return number(metric.outcome.value) + ("" if interval == "–" else f"\n{interval}")


def improvement_rows(
    evaluation: Evaluation, texts: Mapping[str, MetricText], language: Language = ENGLISH
) -> list[TableRow]:
    """Improvement of the pipeline over its generator alone, by metric."""
    rows = []
    for found in sorted(improvements(evaluation), key=lambda one: (one.low is None, one.better is None)):
        title = language.say(texts[found.name].title if found.name in texts else title_of(found.name))
        about = f"{title}: {found.column}" if found.column else title
        words = {True: "better here", False: "worse here", None: "no difference beyond the interval"}[found.better]
        bounds = "–" if found.low is None else f"{number(found.low)} to {number(found.high)}"
        words = "no interval" if found.low is None else words
        shares = (found.relative, found.printed)
        columns = ("–" if share is None else f"{100 * share:.0f} %".replace("-", "−") for share in shares)
        rows.append(TableRow((about, language.say(words)), (number(found.difference), bounds, *columns)))
    if all(row.numbers[-1] == "–" for row in rows):
        return [TableRow(row.names, row.numbers[:-1]) for row in rows]
    return rows


def stage_verdict_rows(verdicts: Mapping[Subject, Verdict]) -> list[tuple[str, list[str]]]:
    """Worst status of every rule by stage; rules on which stages differ first."""
    worst: dict[str, dict[Subject, Check]] = {}
    for stage, verdict in verdicts.items():
        for check in verdict.checks:
            known = worst.setdefault(check.rule, {})
            if stage not in known or _gravity(check) > _gravity(known[stage]):
                known[stage] = check
    rows = [
        (rule, [_shown(found[stage]) if stage in found else "–" for stage in verdicts]) for rule, found in worst.items()
    ]
    return sorted(rows, key=lambda row: len(set(row[1])) == 1)


def _gravity(check: Check) -> tuple[int, bool]:
    return SEVERITY[check.decision], check.applies


def _shown(check: Check) -> str:
    return check.status if check.applies else NOT_APPLYING


def _values(inputs: ReportInputs) -> dict[str, Any]:
    return {
        "stage_names": STAGES,
        "of_one_fold": bool(inputs.evaluation.crossed) and folds_differ(inputs.evaluation),
        "stages": stage_rows(inputs.evaluation, inputs.metric_texts, inputs.language),
        "stage_verdicts": stage_verdict_rows(inputs.stage_verdicts),
        "signs": CHECKS | {NOT_APPLYING: f"– {NOT_APPLYING}"},
        "improvements": improvement_rows(inputs.evaluation, inputs.metric_texts, inputs.language),
    }


SECTION = Section(
    anchor="stages",
    title="Stages",
    lead="The same measurement at each stage, in raw values. Baseline: the same generator trained on the original records.",
    template=TEMPLATE,
    values=_values,
)
