"""Technical guarantee of a release: what its readers may rely on, and what not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from hybrid.anonymize.models import describe
from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.techniques.protocol import LabelTechnique
from hybrid.anonymize.techniques.registry import technique_of
from hybrid.base.sentence import Fact, sentence, sentences
from hybrid.constraints.registry import learns_values
from hybrid.evaluation.measure import Evaluation, Measure, NotComputable
from hybrid.protect import ProtectOptions
from hybrid.publication import private_words
from hybrid.publication.gate import folds_of, measured_sentence
from hybrid.publication.table_facts import few, public_household, public_risk
from hybrid.sample import SampleOptions
from hybrid.synthesize import registry
from hybrid.table.data_options import EACH_ROW
from hybrid.transition import reads_originals


def technique_sentences(result: AnonymizationResult) -> Iterator[str]:
    """Sentence of each step: its work and its promise."""
    for step in result.steps or ():
        columns = ", ".join(map(str, step.get("columns") or ()))
        try:
            yield technique_of(step["options"]).words(columns, step.get("facts") or {})
        except (ValidationError, KeyError, TypeError):
            yield sentence("guarantee.unknown")


def loss_sentence(loss: Mapping[str, Any]) -> str:
    """Public sentence on how :attr:`AnonymizationResult.loss` weighs the quasi-identifiers; empty for masked values."""
    name = loss.get("name")
    if name in ("masking", None):
        return ""
    if name in ("aecs", "discernibility"):
        return sentence("loss.sizes")
    known = _association(loss.get("use") or ()) if name == "association" else ""
    if weights := loss.get("weights"):
        listed = tuple(sentence("loss.weight", column=column, n=f"{weight:g}") for column, weight in weights.items())
        return sentences(known, sentence("loss.weights", weights=listed))
    return known or sentence("loss.alike")


def _association(declared: Sequence[Any]) -> str:
    if not declared:
        return sentence("loss.association")
    return sentence("loss.association.use", columns=", ".join(map(str, declared)))


def masks_values(result: AnonymizationResult | None) -> bool:
    """True if a step put other values in place, or is unknown."""
    return result is not None and not all(_labels(step) for step in result.steps or ())


def makes_labels(result: AnonymizationResult | None) -> bool:
    """True if some quasi-identifiers have labels of hierarchies."""
    return result is not None and (result.steps is None or any(_labels(step) for step in result.steps))


def has_local_privacy(result: AnonymizationResult) -> bool:
    """True if the sentence of a step claims local differential privacy."""
    return any((step.get("facts") or {}).get("epsilon") for step in result.steps or ())


def _labels(step: Mapping[str, Any]) -> bool:
    try:
        return isinstance(technique_of(step["options"]), LabelTechnique)
    except (ValidationError, KeyError, TypeError):
        return False


WHITE_BOX = "membership_whitebox"
"""The metric of an attacker who holds the model."""


def guarantee_sentence(
    anonymization: AnonymizationResult | None,
    config: Mapping[str, Any],
    evaluation: Evaluation,
    *,
    private: bool = False,
) -> str:
    """Guarantee of a release to its readers, in a few sentences without cell value, seed or path.

    Parameters
    ----------
    anonymization : AnonymizationResult or None
        None if nothing was anonymized.
    config : mapping
        The run's configuration as resolved (JSON types).
    evaluation : Evaluation
        Which privacy metrics were measured on the synthetic table.
    private : bool
        Whether the run's explanation claims differential privacy.
    """
    if private and private_words.is_dp(config):
        return sentences(*private_words.guarantee(config))
    made = [sentence("guarantee.nothing")] if anonymization is None else _made(config, anonymization)
    start: list[str] = [*made]
    start += [*_taken(config), *_constrained(config), *_conditional(config), *_filtered(config), *_raked(config)]
    k = 0 if anonymization is None else anonymization.k
    several = _several_rows(config)
    tables = [config.get("data") or {}, *(config.get("tables") or {}).values()]
    households = any(table.get("household") for table in tables)
    holders = "training households" if households else "persons" if several else "training records"
    start += _protected(config.get("protect"), k, holders, labelled=makes_labels(anonymization))
    if several:
        start.append(_linked(config))
    if households:
        start.append(sentence("guarantee.no_households"))
    end = [_sampled(config, several, anonymization), _claim(anonymization, private), *_measured(evaluation)]
    folds = folds_of(config)
    return sentences(*start, *end, "" if folds is None else measured_sentence(folds))


def _made(config: Mapping[str, Any], anonymization: AnonymizationResult) -> Iterator[str]:
    yield from _anonymity(anonymization)
    yield from _searched(config, anonymization)
    yield from _person_table(config, anonymization)
    yield from _restored(config, anonymization)


def _claim(anonymization: AnonymizationResult | None, private: bool) -> str:
    if private:
        return sentence("guarantee.claim")
    local = anonymization is not None and has_local_privacy(anonymization)
    return sentence("guarantee.claim.local" if local else "guarantee.claim.none")


def _anonymity(result: AnonymizationResult) -> Iterator[str]:
    if not result.k_anonymous:
        yield sentence("guarantee.not_together")
        yield sentence("guarantee.suppressed", n=few(result.suppressed).capitalize(), of=few(result.records))
        yield from technique_sentences(result)
        yield sentence("guarantee.unmasked")
        return
    yield _k_anonymity(result)
    yield from _drawn(result)
    if result.coarsened:
        yield sentence("guarantee.coarsened", n=few(result.coarsened))
    yield from technique_sentences(result)
    if result.population_risk is not None:
        risk = public_risk(result.population_risk)
        yield sentence("guarantee.risk", mean=risk["risk_mean"], most=risk["risk_max"])
    if result.household is not None:
        yield household_sentence(result.household)
    unmasked = "guarantee.only.below" if result.below else "guarantee.only"
    yield sentence("guarantee.only.masked" if masks_values(result) else unmasked)


def _k_anonymity(result: AnonymizationResult) -> str:
    models = tuple(map(describe, result.models))
    alone = sentence("guarantee.k.alone", k=result.k)
    k = sentence("guarantee.k.models", k=alone, models=models) if models else alone
    table, checked = sentence("guarantee.k.table"), "guarantee.k.on.checked" if result.verified else "guarantee.k.on"
    if result.drawn is not None:
        table, checked = sentence("guarantee.k.table.warehouse"), "guarantee.k.on.warehouse"
    counts: dict[str, Fact] = {"n": result.smallest, "suppressed": few(result.suppressed), "of": few(result.records)}
    if result.rows_are_persons:
        counted = sentence("guarantee.k.records", **counts)
    else:
        lost: dict[str, Fact] = {"lost": few(result.lost_people), "people": few(result.people)}
        counted = sentence("guarantee.k.persons", **counts, **lost, known=result.known_rows)
    return sentence("guarantee.k", table=table, k=k, on=sentence(checked), counted=counted)


def _searched(config: Mapping[str, Any], result: AnonymizationResult) -> Iterator[str]:
    given = (config.get("anonymize") or {}).get("levels") or {}
    if result.steps is None and (result.levels is None or not set(result.levels) <= set(given)):
        yield sentence("guarantee.searched")


def household_sentence(found: Mapping[str, float]) -> str:
    """Statement of the risk of households, in rounded numbers."""
    public = public_household(found)
    households = few(int(found["households"]))
    return sentence("guarantee.household", n=households, mean=public["risk_mean"], most=public["risk_max"])


def _drawn(result: AnonymizationResult) -> Iterator[str]:
    if result.drawn is None:
        return
    if result.rows_are_persons:
        yield sentence("guarantee.drawn", n=few(result.drawn))
    else:
        yield sentence("guarantee.drawn.persons", n=few(result.drawn), people=few(result.drawn_persons))
    yield sentence("guarantee.drawn.labels", k=result.k, unit=result.unit)


def _protected(protect: Any, k: int, holders: str, *, labelled: bool) -> Iterator[str]:
    # Nothing is known of an audited file.
    if not isinstance(protect, Mapping):
        yield sentence("guarantee.unprotected")
        return
    options = ProtectOptions.model_validate(protect)
    who: dict[str, Fact] = {"holders": holders, "also": holders.removeprefix("training ")}
    who["least"] = options.least_holders(k)
    if kept := sorted(name for name, choice in options.columns.items() if choice == "keep"):
        yield sentence("guarantee.protected.but", **who, kept=", ".join(kept))
    else:
        yield sentence("guarantee.protected", **who)
    if labelled:
        yield sentence("guarantee.protected.below")


def _restored(config: Mapping[str, Any], anonymization: AnonymizationResult) -> Iterator[str]:
    transition = config.get("transition") or {}
    if not transition:
        return
    table = sentence("guarantee.of.k" if anonymization.k_anonymous else "guarantee.of.any")
    if transition.get("method") == "original" and transition.get("order") != "post":
        yield sentence("guarantee.real", table=table)
        return
    method = str(transition.get("method"))
    masked, labels = masks_values(anonymization), makes_labels(anonymization)
    if reads_originals(transition):
        unlike = "guarantee.put_back.masked" if masked else "guarantee.put_back.labels"
        put_back = sentence("guarantee.put_back.both" if masked and labels else unlike, method=method)
        yield sentence("guarantee.by_originals", put_back=put_back, table=table)
        return
    if masked:
        yield sentence("guarantee.masked_stay", method=method)
    if labels:
        yield sentence("guarantee.by_domain", put_back=sentence("guarantee.put_back.labels", method=method))


def _constrained(config: Mapping[str, Any]) -> Iterator[str]:
    declared = declared_constraints(config)
    if not declared:
        return
    broken = sentence("guarantee.broken.left_out" if _writes_no_rows(config) else "guarantee.broken.drawn_again")
    learns = learns_values(declared)
    yield sentence("guarantee.broken.learned", broken=broken) if learns else sentence("guarantee.broken", broken=broken)


def _writes_no_rows(config: Mapping[str, Any]) -> bool:
    return (config.get("synthesize") or {}).get("generator") == "none"


def _conditional(config: Mapping[str, Any]) -> Iterator[str]:
    balance = (config.get("synthesize") or {}).get("balance")
    if balance is not None:
        yield sentence("guarantee.balanced", column=balance["column"])
    if where_of(config) is None:
        return
    if is_linked(config):
        rows = sentence("guarantee.where.linked", table=config["person"])
    else:
        rows = sentence("guarantee.where.persons" if draws_persons(config) else "guarantee.where.rows")
    yield sentence("guarantee.where", rows=rows)


def _raked(config: Mapping[str, Any]) -> Iterator[str]:
    if margins := config.get("margins"):
        yield sentence("guarantee.raked", columns=", ".join(margins["totals"]), n=f"{100 * margins['most']:g}")


def where_of(config: Mapping[str, Any]) -> str | None:
    """Condition on drawn rows of a configuration; None without one."""
    where = (config.get("synthesize") or {}).get("where")
    return None if where is None else str(where)


def _filtered(config: Mapping[str, Any]) -> Iterator[str]:
    options = (config.get("synthesize") or {}).get("filter")
    if not options:
        return
    drop, score = options.get("action") == "drop", str(options.get("score"))
    if is_linked(config):
        name = "guarantee.near.linked.left_out" if drop else "guarantee.near.linked.drawn_again"
        near = sentence(name, table=config["person"], score=score)
    else:
        near = sentence("guarantee.near.left_out" if drop else "guarantee.near.drawn_again", score=score)
    yield sentence("guarantee.near", near=near)


_WHOSE = {
    "training": ("training records", "training persons"),
    "intermediate": ("records of the intermediate table", "persons of the intermediate table"),
}
"""What is sampled: records, or persons with several."""


def _sampled(config: Mapping[str, Any], several: bool, anonymization: AnonymizationResult | None) -> str:
    sample = SampleOptions.model_validate(config.get("sample") or {})
    first = sample.effective.order == "pre"
    records = _WHOSE["training" if anonymization is None or first else "intermediate"][several]
    used: str
    if anonymization is not None and anonymization.drawn is not None:
        used = sentence("guarantee.used.drawn")
    elif first:
        used = sentence("guarantee.used.first", used=_used(sample, records))
    else:
        used = _used(sample, records)
    if _writes_no_rows(config):
        return sentence("guarantee.untrained", used=used)
    return sentence("guarantee.trained", used=used, generator=str((config.get("synthesize") or {}).get("generator")))


def _taken(config: Mapping[str, Any]) -> Iterator[str]:
    used = (config.get("split") or {}).get("rows")
    if used is not None:
        yield sentence("guarantee.taken.people" if is_linked(config) else "guarantee.taken", n=used)


def is_linked(config: Mapping[str, Any]) -> bool:
    """True if the configuration is about linked tables."""
    return bool(config.get("tables"))


def declared_constraints(config: Mapping[str, Any]) -> list[Any]:
    """Constraints between columns of the table, or of all linked tables."""
    tables = (config.get("tables") or {}).values()
    return [*(config.get("constraints") or ()), *(one for table in tables for one in table.get("constraints") or ())]


def _person_table(config: Mapping[str, Any], result: AnonymizationResult) -> Iterator[str]:
    if not is_linked(config):
        return
    table, below = config["person"], result.below
    if not below:
        yield sentence("guarantee.linked", table=table)
        return
    yield sentence("guarantee.linked.below", table=table, names=", ".join(below), n=len(below))
    for name, one in below.items():
        yield sentence(
            "guarantee.below",
            table=name,
            names=", ".join(one.columns),
            k=one.smallest,
            n=few(one.suppressed),
            of=few(one.records),
            lost=few(one.lost_people),
            people=few(one.people),
        )
        yield sentence("guarantee.below.several", table=name, known=one.known_rows)


def _several_rows(config: Mapping[str, Any]) -> bool:
    return is_linked(config) or (config.get("data") or {}).get("person") not in (None, EACH_ROW)


def draws_persons(config: Mapping[str, Any]) -> bool:
    """True if the generator drew persons with all their rows."""
    if is_linked(config):
        return True
    data, synthesize = config.get("data") or {}, config.get("synthesize") or {}
    able = registry.draws_persons(str(synthesize.get("generator")), synthesize.get("options") or {})
    return _several_rows(config) and data.get("max_rows") != 1 and able


def has_person_number(config: Mapping[str, Any]) -> bool:
    """True if the published rows have identifiers."""
    return (config.get("output") or {}).get("identifiers") != "drop"


def _linked(config: Mapping[str, Any]) -> str:
    if is_linked(config):
        return sentence("guarantee.people.linked")
    if draws_persons(config):
        return sentence("guarantee.people.numbered" if has_person_number(config) else "guarantee.people")
    return sentence("guarantee.rows.numbered" if has_person_number(config) else "guarantee.rows")


def _used(sample: SampleOptions, records: str) -> str:
    if sample.method == "none" or sample.beta == 1:
        return sentence("guarantee.used", records=records)
    drawn: dict[str, Fact] = {"records": records, "share": f"{sample.beta:g}"}
    if sample.method == "beta":
        return sentence("guarantee.used.beta", **drawn)
    if sample.method == "simple":
        return sentence("guarantee.used.simple", **drawn)
    stratum = sentence("guarantee.stratum.class")
    if sample.by != "equivalence_class":
        stratum = sentence("guarantee.stratum", columns=", ".join(sample.by))
    if sample.allocation == "proportional":
        used = sentence("guarantee.used.strata", **drawn, stratum=stratum)
    else:
        name = "guarantee.used.stratum.least" if sample.minimum else "guarantee.used.stratum"
        used = sentence(name, **drawn, stratum=stratum)
    return sentence("guarantee.used.least", used=used, n=sample.minimum) if sample.minimum else used


def _kept_model(evaluation: Evaluation) -> Iterator[str]:
    metric = evaluation.find(WHITE_BOX, "synthetic")
    if metric is None:
        return
    outcome = metric.outcome
    if isinstance(outcome, NotComputable):
        found = sentence("guarantee.model.untried", reason=outcome.reason)
    else:
        found = sentence("guarantee.model.auc", auc=_auc(outcome))
    yield sentence("guarantee.model", found=found)


def _auc(found: Measure) -> str:
    """An AUC with two digits and its interval, where it has one."""
    n, low, high = (f"{end:.2f}" if end is not None else "" for end in (found.value, found.low, found.high))
    return sentence("guarantee.model.auc.between", n=n, low=low, high=high) if low else sentence("count", n=n)


def _measured(evaluation: Evaluation) -> Iterator[str]:
    privacy = [metric for metric in evaluation.metrics if (metric.family, metric.stage) == ("privacy", "synthetic")]
    done = list(dict.fromkeys(metric.name for metric in privacy if isinstance(metric.outcome, Measure)))
    failed = [name for name in dict.fromkeys(metric.name for metric in privacy) if name not in done]
    yield sentence("guarantee.measured", metrics=", ".join(done)) if done else sentence("guarantee.measured.none")
    if failed:
        yield sentence("guarantee.measured.failed", metrics=", ".join(failed))
    yield from _kept_model(evaluation)
    if evaluation.all_rows is not None:
        yield sentence("guarantee.measured.rows", n=evaluation.all_rows.judged, rows=evaluation.all_rows.rows)
