"""Estimates of users, from the table beside those from real people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hybrid.base.sentence import Sentence, sentence
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.publication.unfit import model_conclusions
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import TableRow, number, synthetic_measure
from hybrid.report.run.sections.section import Section

MOST = 60
"""Estimates shown: all of models, then means and shares that differ most."""
MOST_GROUPS = 30
"""Groups shown: those of the lowest overlap."""
_OF_COLUMN = " ~ 1"
"""End of the formula of a mean or a share."""
CHANCE = 1.96
"""Standard errors beyond which 5 in 100 differences lie by chance."""
TEMPLATE = """\
{% if rows %}
{{ exposure_table(["Analysis", "Estimate", "Real", "Table", "Overlap", "Difference", "By anonymization", "In words"], rows) }}
<p class="note small">{{ _("Real, table: estimate, with the interval that holds the value for the population in 95 of 100 cases, if the table’s model is right. Overlap: 1 if both intervals are equal, 0 if they have nothing in common. Difference: of the table’s estimate, in standard errors of the real one. In words: chance where the rows that were drawn, and the sample of records, explain the difference; bias where they do not. More rows or tables do not remove a bias.") }}</p>
{% if anonymized %}<p class="note small">{{ _("By anonymization: the difference of the anonymized and restored records, before a generator. It comes from generalized values, from people left out, and from the sample. The rest is the generator’s.") }}</p>{% endif %}
{% else %}<p class="missing">{{ _("No estimates were compared.") }}</p>{% endif %}
{% if width is not none %}<p>{{ _("With the survey’s strata and clusters, standard errors from the table are {n:form} times those from real people (median).", n=width) }}{% if width < 0.8 %} {{ _("The table does not show how alike people of a cluster are, and intervals from it are too narrow.") }}{% endif %}</p>{% endif %}
{% if groups %}
<h3>{{ _("By group of people") }}</h3>
{{ exposure_table(["Column", "Group", "Differs most", "Estimates", "Overlap", "Of people kept apart", "Conclusions kept", "Real", "Table", "Difference"], groups) }}
<p class="note small">{{ _("The same analyses within each group of enough people, without the column that makes the groups; the group of the lowest overlap first. Of people kept apart: the overlap of real people of the group whom no generator saw; chance lowers it, too. The table tells less about a group whose overlap is far below that.") }}</p>
{% endif %}
{% for text, reason in left_out %}
<p class="missing">{% if text %}{{ text|own }}: {% endif %}{{ reason|say }}</p>
{% endfor %}
"""


def first_page_lines(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Lines for the page that people decide by: one for each model, and the mean or share that differs most.

    None where no estimates were compared.
    """
    found = synthetic_measure(evaluation, "interval_overlap")
    if found is None:
        return
    yield from (("Conclusions", one.sentence) for one in model_conclusions(evaluation))
    of_columns = [one for one in found.details["estimates"] if one["analysis"].endswith(_OF_COLUMN)]
    known = [one for one in of_columns if one["table"] is not None and one["real"] is not None]
    if known:
        yield "Estimate", _said(max(known, key=lambda one: abs(one["difference"])))


def _left_out(text: str, why: str) -> tuple[str, str]:
    """Formula and reason of an analysis that was not made; a reason with facts names the formula itself."""
    if isinstance(why, Sentence) and "formula" in why.facts:
        return "", sentence(why.template, **{**why.facts, "formula": _plain(text)})
    return _plain(text), why.removeprefix(f"{text}: ")


def _said(estimate: Mapping[str, Any]) -> str:
    column = _plain(estimate["analysis"].removesuffix(_OF_COLUMN))
    facts = {"n": estimate["table"][0], "real": estimate["real"][0]}
    return sentence("analyses.of_column", column=column, name=estimate["name"], **facts)


def _plain(analysis: str) -> str:
    """A formula without the marks around its columns."""
    return analysis.replace("`", "")


def _interval(found: tuple[float, float, float] | None) -> str:
    return "none" if found is None else f"{found[0]:g} ({found[1]:g} to {found[2]:g})"


def _rows(found: Measure, anonymized: Mapping[tuple[str, str], float]) -> list[TableRow]:
    estimates = sorted(found.details["estimates"], key=lambda one: (one["concluded"] is None, -abs(one["difference"])))
    rows = []
    for one in estimates[:MOST]:
        before = anonymized.get((one["analysis"], one["name"]))
        words = "no estimate" if one["table"] is None else "chance"
        if abs(one["difference"]) > CHANCE * one["noise"]:
            words = "bias"
        shown = (
            _interval(one["real"]),
            _interval(one["table"]),
            number(one["overlap"]),
            number(one["difference"]),
            "–" if before is None else number(before),
            words,
        )
        rows.append(TableRow((_plain(one["analysis"]), one["name"]), shown))
    return rows


def _group_rows(found: Measure) -> list[TableRow]:
    rows = []
    for one in found.details["groups"][:MOST_GROUPS]:
        worst = one["worst"]
        shown = (
            str(one["estimates"]),
            number(one["overlap"]),
            "–" if one["reference"] is None else number(one["reference"]),
            f"{one['kept']} of {one['conclusions']}" if one["conclusions"] else "–",
            _interval(worst["real"]),
            _interval(worst["table"]),
            number(worst["difference"]),
        )
        about = f"{_plain(worst['analysis'])}: {worst['name']}"
        rows.append(TableRow((one["column"], one["group"], about), shown))
    return rows


def _values(inputs: ReportInputs) -> dict[str, Any] | None:
    found = synthetic_measure(inputs.evaluation, "interval_overlap")
    if found is None:
        return None
    before = inputs.evaluation.find("interval_overlap", "anonymized")
    known = before.outcome.details["estimates"] if before is not None and isinstance(before.outcome, Measure) else []
    anonymized = {(one["analysis"], one["name"]): one["difference"] for one in known if one["table"] is not None}
    return {
        "rows": _rows(found, anonymized),
        "anonymized": bool(anonymized),
        "groups": _group_rows(found),
        "width": found.details["width_of_survey"],
        "left_out": [_left_out(text, why) for text, why in found.details["left_out"].items()],
    }


SECTION = Section(
    anchor="analyses",
    title="What an analyst may conclude",
    lead="Means, shares and models that users estimate, from the table beside those from real people.",
    template=TEMPLATE,
    values=_values,
)
