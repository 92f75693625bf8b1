"""Protection of a run's people in plain sentences, one per step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.sentence import sentence, sentences
from hybrid.constraints.registry import learns_values
from hybrid.protect.protect_table import BELOW_LABELS
from hybrid.publication.guarantee import (
    declared_constraints,
    draws_persons,
    has_person_number,
    is_linked,
    makes_labels,
    masks_values,
    technique_sentences,
    where_of,
)
from hybrid.publication.private_words import is_dp, steps
from hybrid.publication.table_facts import ROUNDED_TO, TableFacts, rounded
from hybrid.sample import SampleOptions
from hybrid.transition import reads_originals


def protection(
    table: TableFacts,
    config: Mapping[str, Any],
    anonymization: AnonymizationResult | None,
    private: bool,
    protected: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """State each step from the source to the released rows.

    ``config`` (as resolved) and ``protected`` (result of the protection of values) are of JSON types; ``private``:
    whether differential privacy is claimed.
    """
    yield _identifiers(table, config)
    if is_dp(config):
        yield from steps(config)
        return
    elsewhere = anonymization is not None and anonymization.drawn is not None
    yield from () if elsewhere else _protected(protected)
    several = is_linked(config) or (anonymization is not None and not anonymization.rows_are_persons)
    sample = SampleOptions.model_validate(config.get("sample") or {})
    drawn = _drawn_there(anonymization) if anonymization is not None and elsewhere else _sampled(sample, several)
    both = [*_anonymized(table, anonymization), drawn]
    yield from both if sample.effective.order == "post" else [both[-1], *both[:-1]]
    yield from _protected(protected) if elsewhere else ()
    if is_linked(config):
        yield sentence("protection.person.linked")
    elif several or draws_persons(config):
        yield sentences(sentence("protection.person"), _person(config))
    yield from _written(config, anonymization)
    yield from _left(table, protected)
    yield _promised(anonymization, private)


def _drawn_there(anonymization: AnonymizationResult) -> str:
    unit = "records" if anonymization.rows_are_persons else "people"
    whole, share = float(rounded(anonymization.records)), _percent(anonymization.drawn_share)
    return sentence("protection.warehouse", n=whole, unit=unit, share=share)


def _person(config: Mapping[str, Any]) -> str:
    numbered = has_person_number(config)
    if draws_persons(config):
        return sentence("protection.person.numbered" if numbered else "protection.person.adjacent")
    return sentence("protection.row.numbered" if numbered else "protection.row")


def _identifiers(table: TableFacts, config: Mapping[str, Any]) -> str:
    if not table.identifiers:
        return sentence("protection.no_identifier")
    gone = (config.get("output") or {}).get("identifiers") == "drop"
    return sentence("named.left_out" if gone else "named.made_up", names=tuple(table.identifiers))


def _protected(protected: Mapping[str, Any] | None) -> Iterator[str]:
    changed, below = _changed(protected), _changed(protected, below_labels=True)
    others = [name for name in changed if name not in below]
    if protected is not None and others:
        yield sentence("protection.rare", n=protected["min_count"], names=tuple(others))
    if protected is not None and below:
        yield sentence("protection.below", n=protected["min_count"], names=tuple(below))


def _changed(protected: Mapping[str, Any] | None, *, below_labels: bool = False) -> list[str]:
    """Columns whose rare values were looked for and replaced: all, or those alone where it was done below labels."""
    columns = [column for column in (protected or {}).get("columns", ()) if column["method"] != "keep"]
    return [one["column"] for one in columns if not below_labels or one["method"] == BELOW_LABELS]


def _anonymized(table: TableFacts, anonymization: AnonymizationResult | None) -> Iterator[str]:
    if anonymization is None:
        yield sentence("protection.none_coarser")
        return
    below = tuple(f"{name}.{column}" for name, one in anonymization.below.items() for column in one.columns)
    yield _alike(tuple(name for name in table.generalized if name not in below), anonymization)
    yield from technique_sentences(anonymization)
    models = dict.fromkeys(str(model["attribute"]) for model in anonymization.models if "attribute" in model)
    if models:
        yield sentence("protection.models", names=tuple(models))
    if not anonymization.suppressed and not makes_labels(anonymization):
        yield sentence("protection.none_left_out")
    elif anonymization.suppressed < ROUNDED_TO:
        yield sentence("protection.left_out.few", n=ROUNDED_TO)
    else:
        yield sentence("protection.left_out", share=_percent(anonymization.suppressed / anonymization.records))
    if not anonymization.rows_are_persons:
        if anonymization.lost_people < ROUNDED_TO:
            yield sentence("protection.lost.few", n=ROUNDED_TO)
        else:
            yield sentence("protection.lost", share=_percent(anonymization.lost_people / anonymization.people))
    for name, one in anonymization.below.items():
        yield from _alike_below(name, one)


def _percent(share: float) -> float:
    """Share in percent, two digits."""
    return float(f"{100 * share:.2g}")


def _alike_below(name: str, found: AnonymizationResult) -> Iterator[str]:
    yield sentence("protection.events", table=name, names=tuple(found.columns), n=found.smallest)
    if found.suppressed < ROUNDED_TO:
        yield sentence("protection.events.left_out.few", table=name, n=ROUNDED_TO)
    else:
        share = _percent(found.suppressed / found.records)
        yield sentence("protection.events.left_out", table=name, share=share)
    yield sentence("protection.events.several", table=name, known=found.known_rows)


def _alike(generalized: tuple[str, ...], anonymization: AnonymizationResult) -> str:
    if not anonymization.k_anonymous:
        return sentence("protection.not_alike", names=generalized)
    unit = "records" if anonymization.rows_are_persons else "people"
    if anonymization.smallest < 2:
        return sentence("protection.alone", unit=unit, names=generalized)
    name = "protection.alike.changed" if masks_values(anonymization) else "protection.alike"
    return sentence(name, n=float(anonymization.smallest), unit=unit, names=generalized)


_OF_RECORDS = {
    ("beta", "pre"): "protection.beta",
    ("beta", "post"): "protection.beta.left",
    ("simple", "pre"): "protection.simple",
    ("simple", "post"): "protection.simple.left",
}
_OF_PEOPLE = {
    ("beta", "pre"): "protection.beta.people",
    ("beta", "post"): "protection.beta.people.left",
    ("simple", "pre"): "protection.simple.people",
    ("simple", "post"): "protection.simple.people.left",
}
"""Sentences by the method of the sample, and by whether it came before the anonymization."""


def _sampled(sample: SampleOptions, several: bool) -> str:
    share = 100 * sample.beta
    if sample.method == "none" or sample.effective.method == "none":
        return sentence("protection.all_used")
    if sample.method != "stratified":
        return sentence((_OF_PEOPLE if several else _OF_RECORDS)[sample.method, sample.order], share=share)
    group = sentence("protection.group.alike")
    if sample.by != "equivalence_class":
        group = sentence("protection.group.equal", names=tuple(sample.by))
    drawn = sentence("protection.strata.people" if several else "protection.strata", group=group, share=share)
    if sample.minimum:
        return sentence("protection.strata.least", drawn=drawn, n=sample.minimum)
    return sentence("protection.strata.all", drawn=drawn)


def _written(config: Mapping[str, Any], anonymization: AnonymizationResult | None) -> Iterator[str]:
    transition = config.get("transition") or {}
    off = (config.get("synthesize") or {}).get("generator") == "none"
    declared, where = declared_constraints(config), where_of(config)
    last: list[str] = [sentence("protection.not_written" if off else "protection.written")]
    if transition:
        drawn = _values_drawn(transition, anonymization, learned=learns_values(declared))
        last.insert(1 if transition.get("order") == "post" else 0, drawn)
    yield from last
    if where is not None and is_linked(config):
        yield sentence("protection.where.linked", table=config["person"], where=where)
    elif where is not None:
        yield sentence("protection.where.people" if draws_persons(config) else "protection.where", where=where)
    balance = (config.get("synthesize") or {}).get("balance")
    if balance is not None:
        yield sentence("protection.balanced", column=balance["column"])
    if declared:
        yield sentence("protection.broken.left_out" if off else "protection.broken.drawn_again", n=len(declared))


def _values_drawn(transition: Mapping[str, Any], anonymization: AnonymizationResult | None, *, learned: bool) -> str:
    masked = masks_values(anonymization)
    if transition.get("method") == "original" and transition.get("order") != "post":
        return sentence("protection.real")
    if reads_originals(transition):
        drawn = sentence("protection.drawn.changed" if masked else "protection.drawn")
        return sentences(drawn, sentence("protection.draw.follows"))
    if masked and not makes_labels(anonymization):
        return sentence("protection.changed_stay")
    looks = sentence("protection.draw.together" if learned else "protection.draw.blind")
    return sentences(sentence("protection.drawn"), looks)


def _left(table: TableFacts, protected: Mapping[str, Any] | None) -> Iterator[str]:
    left = tuple(name for name in table.as_they_are if name not in _changed(protected))
    yield sentence("protection.left", names=left) if left else sentence("protection.none_left")


def _promised(anonymization: AnonymizationResult | None, private: bool) -> str:
    if private:
        return sentence("protection.claimed")
    if anonymization is not None and anonymization.k_anonymous:
        return sentence("protection.proven.changed" if masks_values(anonymization) else "protection.proven")
    return sentence("protection.nothing_proven")
