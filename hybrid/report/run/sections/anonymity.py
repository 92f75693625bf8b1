"""Classes, levels, suppression and transition of the anonymized table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from hybrid.anonymize.models import describe
from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.arrays import Array
from hybrid.base.sentence import Fact, sentence
from hybrid.publication.guarantee import household_sentence, loss_sentence, masks_values, technique_sentences
from hybrid.publication.table_facts import few
from hybrid.report.charts.figures import class_size_chart, percent, trade_off_chart
from hybrid.report.run.inputs import ReportInputs
from hybrid.report.run.metrics import number
from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if anonymity %}
{% set result = anonymity.result %}
{% if anonymity.steps %}<p>{% if not anonymity.k_anonymous %}{{ _("No k-anonymity: no step made groups that are equal in all quasi-identifiers.") }} {% endif %}{{ anonymity.steps|map("say")|join(" ") }}</p>{% endif %}
{% if anonymity.whole %}<p>{{ _("Counted on all rows of the source, from which {n:number} records were drawn.", n=result.drawn|few) }}</p>{% endif %}
<p>{% for sentence in anonymity.sentences %}{{ sentence|say }} {% endfor %}{{ _("Information loss ({name:own}): {loss:form}; 0 means nothing was lost, 1 everything.", name=result.loss.name, loss=anonymity.loss) }} {{ anonymity.weighed|say }}
{% if not anonymity.masked %}{% if result.optimal %}{{ _("No other generalization of this kind loses less.") }}{% else %}{{ _("The least possible loss is at most {gap:form} below that.", gap=anonymity.gap) }}{% endif %}{% endif %}{% if anonymity.measures %} {{ _("Measures of other programs, lower is less in each:") }} {% for name, value in anonymity.measures %}{{ name|say }} {{ value|form }}{{ ", " if not loop.last else "." }}{% endfor %}{% endif %}</p>
{% if anonymity.household %}<p>{{ anonymity.household|say }}</p>{% endif %}
{% if anonymity.classes %}
<h3>{{ _("Class sizes") }}</h3>
<figure>{{ anonymity.classes }}<figcaption>{{ _("Per cent of the records by the number of people who share all their quasi-identifiers: left bars as they came, right bars after masking." if anonymity.masked else "Per cent of the records by the number of people who share all their quasi-identifiers: left bars as they came, right bars after generalization.") }}{% if anonymity.unique is not none %} {{ _("{share:form} of the records were of people who are alone.", share=anonymity.unique) }}{% endif %}</figcaption></figure>
{% endif %}
{% if anonymity.levels %}
<h3>{{ _("Information loss by column" if anonymity.masked else "Chosen levels") }}</h3>
<div class="scroll" tabindex="0"><table>
<thead><tr><th>{{ _("Quasi-identifier") }}</th><th class="n">{{ _("Level") }}</th><th class="n">{{ _("Highest level") }}</th><th class="n">{{ _("Information loss") }}</th><th>{{ _("Meaning") }}</th></tr></thead>
<tbody>
{% for name, level, top, loss in anonymity.levels %}
<tr><th scope="row">{{ name }}</th><td class="n">{{ "–" if level is none else level }}</td><td class="n">{{ "–" if top is none else top }}</td><td class="n">{{ loss|number }}</td><td>{{ _("masked" if level is none and anonymity.masked else "differs by cell" if level is none else "kept as it is" if level == 0 else "fully generalized" if level == top else "generalized") }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="note small">{{ _("Level 0 is the value itself, the highest level is one label for everybody. Information loss of a column: 0 (nothing) to 1 (everything).") }}</p>
{% endif %}
{% if anonymity.trade_off %}
<h3>{{ _("Suppression against information loss") }}</h3>
<figure>{{ anonymity.trade_off }}<figcaption>{{ _("Information loss (per cent, lower keeps more) of the best solution at each suppression limit. Filled: the one chosen.") }}</figcaption></figure>
{% endif %}
{% if anonymity.cells %}
<h3>{{ _("Where the restored values came from") }}</h3>
<div class="scroll" tabindex="0"><table><thead><tr><th>{{ _("Step of the fallback chain") }}</th><th class="n">{{ _("Cells") }}</th><th class="n">{{ _("Share") }}</th></tr></thead><tbody>
{% for step, cells in run.fallbacks.items() %}
<tr><th scope="row">{{ step|say }}</th><td class="n">{{ cells|count }}</td><td class="n">{{ (cells / anonymity.cells)|percent }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if run.give_away %}
<h3>{{ _("What the restored values give away") }}</h3>
{% if run.give_away.per_attribute %}
<div class="scroll" tabindex="0"><table><thead><tr><th>{{ _("Quasi-identifier") }}</th><th class="n">{{ _("Records that got their own value back") }}</th><th class="n">{{ _("By chance (uniform)") }}</th></tr></thead><tbody>
{% for name, hits in run.give_away.per_attribute.items() %}
<tr><th scope="row">{{ name }}</th><td class="n">{{ hits.share|percent }}</td><td class="n">{{ hits.chance|percent }}</td></tr>
{% endfor %}
{% if run.give_away.joint %}<tr><th scope="row">{{ _("all together") }}</th><td class="n">{{ run.give_away.joint.share|percent }}</td><td class="n">{{ run.give_away.joint.chance|percent }}</td></tr>{% endif %}
</tbody></table></div>
<p class="note small">{{ _("Of the sampled records after the transition, before any generator. Lower is better.") }}{% if anonymity.masked %} {{ _("Of a masked column: records whose masked value is their own.") }}{% endif %}</p>
{% endif %}
{% for sentence in anonymity.seeds %}<p>{{ sentence|say }}</p>{% endfor %}
<p class="note small">{{ _("In the table that came out of it, {same:number} of {n:number} rows equal an original record in every column. Its smallest group of equal quasi-identifiers has {k:number} rows.", same=run.give_away.reappearing_rows|count, n=run.give_away.records|count, k=run.give_away.k) }}</p>
{% endif %}
{% if anonymity.verified %}<p class="note small">{{ anonymity.verified|map("say")|join(" ") }}</p>{% endif %}
{% else %}<p class="missing">{{ _("The table was not anonymized before the generator saw it.") }}</p>{% endif %}
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
        "sentences": list(_sentences(kept)),
        "k_anonymous": kept.k_anonymous,
        "masked": masks_values(kept),
        "whole": kept.drawn is not None,
        "loss": number(loss["value"]),
        "gap": number(result["gap"]),
        "weighed": loss_sentence(loss),
        "measures": [(_MEASURES[name], f"{value:.4g}") for name, value in (kept.information_loss or {}).items()],
        "seeds": list(_seeds(inputs.give_away or {}, kept)),
        "verified": list(_verified(result.get("verified") or {})),
        "household": household_sentence(result["household"]) if "household" in result else "",
        "classes": class_size_chart(before, after, result["k"], least, inputs.language) if sizes_known else Markup(),
        "unique": _unique(before, least),
        "levels": [(name, levels.get(name), inputs.top_levels.get(name), per_attribute.get(name)) for name in names],
        "trade_off": trade_off_chart(inputs.trade_off, inputs.language) if inputs.trade_off else Markup(),
        "cells": sum(inputs.fallbacks.values()),
    }


def _sentences(result: AnonymizationResult) -> Iterator[str]:
    """Classes, suppression and coarser labels; counts of people are in tens."""
    k: dict[str, Fact] = {"k": result.k} if result.k_anonymous else {}
    if models := tuple(map(describe, result.models)):
        yield sentence("anonymity.k.models" if k else "anonymity.masked.models", **k, models=models)
    else:
        yield sentence("anonymity.k" if k else "anonymity.masked", **k)
    classes = "anonymity.classes" if result.rows_are_persons else "anonymity.classes.persons"
    yield sentence(classes, n=result.classes, least=result.smallest)
    if result.with_above:
        yield sentence("anonymity.above")
    yield sentence("anonymity.suppressed", of=few(result.records), n=few(result.suppressed))
    if not result.rows_are_persons:
        yield sentence("anonymity.lost", of=few(result.people), n=few(result.lost_people))
        yield sentence("anonymity.known", n=result.known_rows)
    if result.coarsened:
        yield sentence("anonymity.coarsened", n=few(result.coarsened))


def _verified(found: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what was checked again; a table for which something of it does not hold is refused before."""
    if "k" in found:
        yield sentence("anonymity.checked", k=found["k"])
    if found.get("models"):
        yield sentence("anonymity.models_hold")
    other = found.get("pycanon") or {}
    if "agrees" in other:
        yield sentence("anonymity.pycanon", n=other["classes"], of=other["of"])


def _seeds(give_away: Mapping[str, Any], result: AnonymizationResult) -> Iterator[str]:
    """Number of real people that can have made a restored row, in words."""
    seeds = give_away.get("seeds")
    if not seeds:
        return
    agree = "anonymity.seeds.masked" if masks_values(result) else "anonymity.seeds"
    yield sentence(agree, n=float(seeds["median"]), least=seeds["least"])
    if result.k_anonymous:
        rows: dict[str, Fact] = {"of": few(give_away["records"]), "k": result.k}
        below = seeds["below_k"]
        yield (
            sentence("anonymity.seeds.below", n=few(below), **rows)
            if below
            else sentence("anonymity.seeds.none", **rows)
        )


def _unique(sharing: Array | None, least: int) -> str | None:
    """Share of the records of people who are alone; None if unknown or a count of few."""
    if sharing is None:
        return None
    alone = int((sharing < 2).sum())
    return percent(alone / max(len(sharing), 1)) if alone == 0 or alone >= least else None


def _values(inputs: ReportInputs) -> dict[str, Any]:
    return {"anonymity": _anonymity(inputs)}


SECTION = Section(
    anchor="anonymity",
    title="Anonymity",
    template=TEMPLATE,
    values=_values,
)
