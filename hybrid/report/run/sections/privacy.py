"""Metrics of privacy: attacks, nearest records, secrets and exposed subgroups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from hybrid.base.language import ENGLISH, Language
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.report.charts.figures import nearest_chart
from hybrid.report.run.inputs import ReportInputs, title_of
from hybrid.report.run.metrics import MOST_ROWS, TableRow, interval_text, metric_groups, number, synthetic_measure
from hybrid.report.run.sections.section import Section
from hybrid.table.cells import in_column

TEMPLATE = """\
{% if run.league %}
<p class="note">{{ _("“Laboratory”, beside each number: whether its metric noticed leaks that were made on purpose, in the laboratory {name} on {tables}.", name=run.league.name, tables=run.league.tables|join(", ")) }} {{ _("It is about those tables and their size; with fewer people, small leaks are noticed later.") }}</p>
{% endif %}
{{ metric_tables(privacy, "No privacy metric was asked for: this report says nothing about risk.") }}
{% if nearest %}
<h3>{{ _("Nearest records") }}</h3>
<ul class="legend">
<li><svg width="30" height="14" aria-hidden="true"><path class="synthetic-line" d="M0 7H30"/></svg>{{ _("synthetic rows to training records") }}</li>
<li><svg width="30" height="14" aria-hidden="true"><path class="second-line" d="M0 7H30"/></svg>{{ _("synthetic rows to people never seen") }}</li>
<li><svg width="30" height="14" aria-hidden="true"><path class="axis-line" d="M0 7H30"/></svg>{{ _("people never seen to training records") }}</li>
</ul>
<figure>{{ nearest }}<figcaption>{{ _("Distance to the nearest record (standardized numbers, one-hot categories), by the share of rows at most that near. Where rows lie nearer to training records than to people never seen, the first line lies below the second. Both sets have the same size.") }}</figcaption></figure>
{% endif %}
{% if secrets %}
<h3>{{ _("Inference of each secret") }}</h3>
{{ exposure_table(["Secret", "Inferred for training people", "Inferred for people never seen", "Risk", "Interval"], secrets) }}
<p class="note small">{{ _("The secret is inferred from the nearest row by all other columns. Risk: the difference between the two, as a share of what could still be inferred; 0 is no leak, 1 is everything; lower is safer. The surest leak first.") }}</p>
{% endif %}
{% if disagreeing %}
<h3>{{ _("Where attackers of a secret disagree") }}</h3>
{{ exposure_table(["Secret", "Risk by a model", "Risk by the nearest rows", "The nearest rows are those of"], disagreeing) }}
<p class="note small">{{ _("A model trained on the table is asked about a person’s own other columns; the other attackers read the secret off the rows nearest to these. Listed are secrets for which their intervals do not overlap. The larger number is the risk: an attacker chooses.") }}</p>
{% endif %}
{% for name, rows in subgroups.items() if rows %}
<h3>{{ _("Subgroups whose members are recognised best" if name == "membership_subgroups" else "Subgroups whose secrets are inferred best") }}</h3>
{{ exposure_table(["Subgroup", "Training records", "AUC (.5 is guessing)" if name == "membership_subgroups" else "Risk (0 is no leak)", "Interval for all at once"], rows) }}
{% endfor %}
{% if subgroups %}<p class="note small">{{ _("Lower is safer; the surest leak first. Only subgroups with enough records on both sides are looked at; the intervals hold for all of them together.") }}</p>{% endif %}
"""


BY_MODEL, BY_ROWS = "inference_model", ("inference", "inference_neighbours")
"""Attack on a secret by a model, and those by the rows nearest to a person."""


def nearest_record(evaluation: Evaluation, language: Language = ENGLISH) -> Markup:
    """Chart of the distances to the nearest record; empty if not measured."""
    measure = synthetic_measure(evaluation, "dcr_share")
    curves = None if measure is None else measure.details.get("curves")
    return nearest_chart(curves, language) if curves else Markup()


def subgroup_rows(evaluation: Evaluation, language: Language = ENGLISH) -> dict[str, list[TableRow]]:
    """Most exposed subgroups by attack, of those large enough to name."""
    tables = {}
    for name in ("membership_subgroups", "inference_subgroups"):
        measure = synthetic_measure(evaluation, name)
        if measure is not None:
            tables[name] = [_subgroup(row, language) for row in measure.details["most_exposed"][:MOST_ROWS]]
    return tables


def _subgroup(row: Mapping[str, Any], language: Language) -> TableRow:
    told = f"{row['secret']}: " if "secret" in row else ""
    columns, values = row["column"].split(" and "), row["group"].split(" and ")
    parts = zip(columns, values, strict=True) if len(columns) == len(values) else [(row["column"], row["group"])]
    names = (
        told + f" {language.say('and')} ".join(language.label(in_column(column, value)) for column, value in parts),
    )
    bounds = f"{number(row['low'])} to {number(row['high'])}"
    return TableRow(names, (f"{row['members']:,}", number(row["value"]), bounds))


def secret_rows(evaluation: Evaluation) -> list[TableRow]:
    """Inference risk of every secret, with the rates for train and control."""
    rows = []
    for metric in evaluation.metrics:
        outcome = metric.outcome
        if metric.name != "inference" or metric.stage != "synthetic" or not isinstance(outcome, Measure):
            continue
        told = [_rate(outcome, side) for side in ("train", "control")]
        bounds = f"{number(outcome.low)} to {number(outcome.high)}"
        rows.append((outcome.low or 0.0, TableRow((metric.column or "",), (*told, number(outcome.value), bounds))))
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]


def disagreeing_rows(evaluation: Evaluation) -> list[TableRow]:
    """Secrets that a model and the nearest rows infer differently, beyond their intervals."""
    found: dict[tuple[str, str], Measure] = {
        (metric.name, metric.column or ""): metric.outcome
        for metric in evaluation.metrics
        if metric.stage == "synthetic" and isinstance(metric.outcome, Measure)
    }
    rows = []
    for (name, secret), by_model in found.items():
        if name != BY_MODEL:
            continue
        for other in BY_ROWS:
            by_rows = found.get((other, secret))
            if by_rows is not None and _apart(by_model, by_rows):
                told = [f"{number(each.value)} ({interval_text(each)})" for each in (by_model, by_rows)]
                rows.append(TableRow((secret,), (*told, title_of(other))))
    return rows


def _apart(one: Measure, other: Measure) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _rate(measure: Measure, side: str) -> str:
    low, high = measure.details[f"{side}_interval"]
    return f"{number(measure.details[f'{side}_rate'])} ({number(low)} to {number(high)})"


def _values(inputs: ReportInputs) -> dict[str, Any]:
    return {
        "privacy": metric_groups(inputs.evaluation, "privacy", inputs.metric_texts, inputs.league, inputs.language),
        "nearest": nearest_record(inputs.evaluation, inputs.language),
        "secrets": secret_rows(inputs.evaluation),
        "disagreeing": disagreeing_rows(inputs.evaluation),
        "subgroups": subgroup_rows(inputs.evaluation, inputs.language),
    }


SECTION = Section(
    anchor="privacy",
    title="Privacy",
    lead="What an attacker learns from the synthetic table about people in the training data, beside what the same attack finds about people who were never in it.",
    template=TEMPLATE,
    values=_values,
)
