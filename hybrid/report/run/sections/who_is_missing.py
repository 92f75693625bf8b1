"""Groups of people who are missing: by suppression, or by their share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hybrid.anonymize.result import LEAST, LeftOutGroup, group_columns, left_out_by_group
from hybrid.base.sentence import sentence
from hybrid.evaluation.engine.intervals import share_interval, simultaneous
from hybrid.evaluation.measure import Measure
from hybrid.publication.table_facts import few, rounded
from hybrid.report.charts.figures import percent
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import MOST_ROWS, TableRow, number, synthetic_measure
from hybrid.report.run.sections.section import ReportedRun, Section
from hybrid.table.cells import LEAST_CELL

ANCHOR = "who-is-missing"
CONFIDENCE = 0.95
MOST_SERVED = 5
"""Groups shown of each table of errors or likeness."""
TEMPLATE = """\
{% if missing.left_out %}
<h3>{{ _("Left out by suppression") }}</h3>
{{ exposure_table(["Group", "People", "Left out", "Interval for all at once"], missing.left_out) }}
<p class="note small">{{ _("The highest low end first. People without any record of the group in the anonymized table; the interval is about people like them, and holds for all {n:number} groups together. Shares are those of counts rounded to tens.", n=missing.groups) }}</p>
{% endif %}
{% if missing.shares is not none %}
<h3>{{ _("Smaller share in the released table") }}</h3>
{% if missing.shares %}
{{ exposure_table(["Group", "Share of the data", "Share of the table", "Missing", "Interval for all at once"], missing.shares) }}
<p class="note small">{{ _("Missing: 1 − share of the table / share of the data; 1 is nobody, 0 is the full share. Only groups whose interval lies above 0: chance alone makes none of them in 95 of 100 tables.") }}</p>
{% else %}<p>{{ _("No group has a smaller share than chance explains. Groups of fewer than {n:number} people are not looked at one by one.", n=missing.least) }}</p>{% endif %}
{% endif %}
{% for title, heads, rows in missing.served %}
<h3>{{ title|say }}</h3>
{{ exposure_table(heads, rows) }}
{% endfor %}
{% if missing.served %}<p class="note small">{{ _("The highest low end first; the intervals hold for all groups of a table together. An error is 0 (sure and right) to 1 (sure and wrong), of numbers a share of their variance; AUC .5: rows of the group look like real ones.") }}</p>{% endif %}
"""


def _collect(run: ReportedRun, smallest: int) -> dict[str, Any] | None:
    # None where all records were kept, or where it happened in a warehouse.
    if run.anonymized is None or not len(run.anonymized.suppressed) or run.anonymized.result.drawn is not None:
        return None
    found = left_out_by_group(run.anonymized, group_columns(run.anonymized.originals.schema), max(smallest, LEAST))
    return {"rows": _left_out_rows(found, smallest), "groups": len(found)}


def _left_out_rows(found: Sequence[LeftOutGroup], smallest: int) -> list[TableRow]:
    """Rows of suppression by group, the highest low end first.

    The report leaves the house: shares and intervals are those of counts rounded to tens, so that neither one person
    nor the few who remain of a group show. Counts below ``smallest``, or that round to none, are not shown.
    """
    level = simultaneous(CONFIDENCE, len(found))
    told = {one: (rounded(one.left_out), rounded(one.people)) for one in found if one.left_out >= smallest}
    bounds = {one: share_interval(out / of, of, level) for one, (out, of) in told.items() if out}
    shown = sorted((one for one in bounds if one != found[0]), key=lambda one: -bounds[one][0])
    rows = []
    for one in [found[0], *shown[:MOST_ROWS]]:
        name = f"{one.column}: {one.group}" if one.column else one.group
        share = between = ""
        if one in bounds:
            out, of = told[one]
            share, between = percent(out / of), " to ".join(map(percent, bounds[one]))
        rows.append(TableRow((name,), (few(one.people), share or "few", between or "–")))
    return rows


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    measure, suppressed = synthetic_measure(inputs.evaluation, "group_exclusion"), inputs.collected.get(ANCHOR)
    if measure is None and suppressed is None:
        return None
    least = max(LEAST_CELL, inputs.comparison.minimum_cell if inputs.comparison else LEAST)
    shares = None
    if measure is not None:
        groups = [one for one in measure.details["groups"] if one["low"] > 0 and one["people"] >= least]
        shares = [_share_row(one) for one in groups[:MOST_ROWS]]
    left_out = suppressed or {"rows": [], "groups": 0}
    told = {"left_out": left_out["rows"], "groups": left_out["groups"], "shares": shares, "least": least}
    return {"missing": told | {"served": list(_served(inputs, least))}}


def _served(inputs: ReportInputs, least: int) -> Iterator[tuple[str, list[str], list[TableRow]]]:
    title: str
    for metric in inputs.evaluation.metrics:
        outcome = metric.outcome
        if metric.stage != "synthetic" or not isinstance(outcome, Measure):
            continue
        if metric.name == "tstr_groups":
            head, title = "Rise of the error", sentence("groups.models", column=str(metric.column))
        elif metric.name == "discriminator_groups":
            head, title = "AUC", "Rows that a classifier separates from real ones, by group"
        else:
            continue
        groups = [one for one in outcome.details["groups"] if one["people"] >= least][:MOST_SERVED]
        rows = [TableRow((f"{one['column']}: {one['group']}",), _score(one)) for one in groups]
        if rows:
            yield title, ["Group", "People never seen", head, "Interval for all at once"], rows


def _score(group: Mapping[str, Any]) -> tuple[str, str, str]:
    return few(group["people"]), number(group["value"]), f"{number(group['low'])} to {number(group['high'])}"


def _share_row(group: dict[str, Any]) -> TableRow:
    bounds = f"{number(group['low'])} to {number(group['high'])}"
    shares = percent(group["share"]), percent(group["share_there"])
    return TableRow((f"{group['column']}: {group['group']}",), (*shares, number(group["value"]), bounds))


SECTION = Section(
    anchor=ANCHOR,
    title="Who is missing",
    lead="Groups of people that are left out, or are rarer in the released table than in the data.",
    template=TEMPLATE,
    values=_values,
    collect=_collect,
)
