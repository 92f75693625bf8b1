"""Classes, levels, suppression and transition of the anonymized table."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.arrays import Array
from hybrid.publication.guarantee import household_sentence, loss_sentence, masks_values, technique_sentences
from hybrid.report.charts.figures import class_size_chart, trade_off_chart
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if anonymity %}
{% set result = anonymity.result %}
{% if anonymity.steps %}<p>{% if not anonymity.k_anonymous %}No k-anonymity: no step made groups that are equal in all quasi-identifiers. {% endif %}{{ anonymity.steps|join(" ") }}</p>{% endif %}
{% if anonymity.whole %}<p>Counted on all rows in the warehouse, from which {{ result.drawn|few }} records were drawn.</p>{% endif %}
<p>{% if anonymity.k_anonymous %}k = {{ result.k }}{% else %}Masked{% endif %}{% if anonymity.models %}, with {{ anonymity.models|join("; ") }}{% endif %}. {{ result.classes|count }} classes; the smallest holds {% if result.persons is defined %}{{ result.min_class_persons|count }} persons{% else %}{{ result.min_class_size|count }} records{% endif %}.
Of {{ result.records|few }} records {{ result.suppressed|few }} were suppressed{% if result.persons is defined %}, and of {{ result.persons|few }} persons {{ result.suppressed_persons|few }} lost all their records. k counts persons, for attackers who know {{ result.known_rows }} {{ 'row' if result.known_rows == 1 else 'rows' }} of each{% endif %}.
{% if result.coarsened is defined and result.coarsened %}{{ result.coarsened|few|capitalize }} records have coarser labels in classes of their own instead of being left out. {% endif %}Information loss ({{ result.loss.name }}): {{ result.loss.value|number }}; 0 means nothing was lost, 1 everything. {{ anonymity.weighed }}
{% if not anonymity.masked %}{{ "No other generalization of this kind loses less." if result.optimal else "The least possible loss is at most " ~ (result.gap|number) ~ " below that." }}{% endif %}{% if anonymity.measures %}Measures of other programs: {{ anonymity.measures|join(", ") }}; lower is less in each.{% endif %}</p>
{% if anonymity.household %}<p>{{ anonymity.household }}</p>{% endif %}
{% if anonymity.classes %}
<h3>Class sizes</h3>
<figure>{{ anonymity.classes }}<figcaption>Per cent of the records by the number of people who share all their quasi-identifiers: left bars as they came, right bars after {{ "masking" if anonymity.masked else "generalization" }}.{% if anonymity.unique is not none %} {{ anonymity.unique|percent }} of the records were of people who are alone.{% endif %}</figcaption></figure>
{% endif %}
{% if anonymity.levels %}
<h3>{{ "Information loss by column" if anonymity.masked else "Chosen levels" }}</h3>
<div class="scroll"><table>
<thead><tr><th>Quasi-identifier</th><th class="n">Level</th><th class="n">of</th><th class="n">Information loss</th><th>Meaning</th></tr></thead>
<tbody>
{% for name, level, top, loss in anonymity.levels %}
<tr><th scope="row">{{ name }}</th><td class="n">{{ "–" if level is none else level }}</td><td class="n">{{ "–" if top is none else top }}</td><td class="n">{{ loss|number }}</td><td>{{ "masked" if level is none and anonymity.masked else "differs by cell" if level is none else "kept as it is" if level == 0 else "fully generalized" if level == top else "generalized" }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="note small">Level 0 is the value itself, the highest level is one label for everybody. Loss per attribute: 0 (nothing) to 1 (everything), lower keeps more.</p>
{% endif %}
{% if anonymity.trade_off %}
<h3>Suppression against information loss</h3>
<figure>{{ anonymity.trade_off }}<figcaption>Information loss (per cent, lower keeps more) of the best solution at each suppression limit. Filled: the one chosen.</figcaption></figure>
{% endif %}
{% if anonymity.cells %}
<h3>Where the restored values came from</h3>
<div class="scroll"><table><thead><tr><th>Step of the fallback chain</th><th class="n">Cells</th><th class="n">Share</th></tr></thead><tbody>
{% for step, cells in run.fallbacks.items() %}
<tr><th scope="row">{{ step }}</th><td class="n">{{ cells|count }}</td><td class="n">{{ (cells / anonymity.cells)|percent }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if run.give_away %}
<h3>Disclosure by the transition</h3>
{% if run.give_away.per_attribute %}
<div class="scroll"><table><thead><tr><th>Quasi-identifier</th><th class="n">Records that got their own value back</th><th class="n">By chance (uniform)</th></tr></thead><tbody>
{% for name, hits in run.give_away.per_attribute.items() %}
<tr><th scope="row">{{ name }}</th><td class="n">{{ hits.share|percent }}</td><td class="n">{{ hits.chance|percent }}</td></tr>
{% endfor %}
{% if run.give_away.joint %}<tr><th scope="row">all together</th><td class="n">{{ run.give_away.joint.share|percent }}</td><td class="n">{{ run.give_away.joint.chance|percent }}</td></tr>{% endif %}
</tbody></table></div>
<p class="note small">Of the sampled records after the transition, before any generator. Lower is better.{% if anonymity.masked %} Of a masked column: records whose masked value is their own.{% endif %}</p>
{% endif %}
{% if run.give_away.seeds %}
<p>For a restored row, {{ run.give_away.seeds.median|number }} (median) real persons agree in labels and in all columns that are not {{ "masked" if anonymity.masked else "generalized" }}, and at least {{ run.give_away.seeds.least|count }}.{% if anonymity.k_anonymous %} For {{ run.give_away.seeds.below_k|few if run.give_away.seeds.below_k else 'none' }} of {{ run.give_away.records|count }} rows fewer than k = {{ result.k }} do.{% endif %}</p>
{% endif %}
<p class="note small">In the table that came out of it, {{ run.give_away.reappearing_rows|count }} of {{ run.give_away.records|count }} rows equal an original record in every column; its smallest group of equal quasi-identifiers has {{ run.give_away.k }} rows.</p>
{% endif %}
{% if result.verified %}
<p class="note small">Verified after the fact: {% for name, value in result.verified.items() %}{{ name }} = {{ value }}{{ ", " if not loop.last else "." }}{% endfor %}</p>
{% endif %}
{% else %}<p class="missing">The table was not anonymized before the generator saw it.</p>{% endif %}
"""

_MEASURES = {
    "il1s": "IL1s",
    "eigenvalues": "difference of eigenvalues",
    "squared_error": "SSE/SST of numbers",
    "changed": "share of changed categories",
    "average_class_size": "average class size",
    "discernibility": "discernibility",
}
"""Names of the measures of :func:`hybrid.anonymize.techniques.loss.masking_measures`."""


def _anonymity(inputs: ReportInputs) -> dict[str, Any] | None:
    result = inputs.anonymization
    if result is None:
        return None
    kept = AnonymizationResult.from_json(result)
    before, after = inputs.sharing_before, inputs.sharing_after
    sizes_known = before is not None or after is not None
    least = inputs.comparison.minimum_cell if inputs.comparison else result["k"]
    loss = result["loss"]
    per_attribute = loss.get("per_attribute") or {}
    levels = result["levels"] or {}
    names = list(dict.fromkeys([*levels, *per_attribute]))
    return {
        "result": result,
        "steps": list(technique_sentences(kept)),
        "k_anonymous": kept.k_anonymous,
        "masked": masks_values(kept),
        "whole": kept.drawn is not None,
        "weighed": loss_sentence(loss),
        "measures": [f"{_MEASURES[name]} {value:.4g}" for name, value in (kept.information_loss or {}).items()],
        "household": household_sentence(result["household"]) if "household" in result else "",
        "models": [_model(model) for model in result["models"]],
        "classes": class_size_chart(before, after, result["k"], least) if sizes_known else Markup(),
        "unique": _unique(before, least),
        "levels": [(name, levels.get(name), inputs.top_levels.get(name), per_attribute.get(name)) for name in names],
        "trade_off": trade_off_chart(inputs.trade_off) if inputs.trade_off else Markup(),
        "cells": sum(inputs.fallbacks.values()),
    }


def _unique(sharing: Array | None, least: int) -> float | None:
    """Share of the records of people who are alone; None if unknown or a count of few."""
    if sharing is None:
        return None
    alone = int((sharing < 2).sum())
    return alone / max(len(sharing), 1) if alone == 0 or alone >= least else None


def _model(model: dict[str, Any]) -> str:
    name = str(model.get("model", "")).replace("_", "-")
    options = ", ".join(f"{key} = {value}" for key, value in model.items() if key != "model" and value is not None)
    return f"{name} ({options})" if options else name


def _values(inputs: ReportInputs) -> dict[str, Any]:
    return {"anonymity": _anonymity(inputs)}


SECTION = Section(
    anchor="anonymity",
    title="Anonymity",
    template=TEMPLATE,
    values=_values,
)
