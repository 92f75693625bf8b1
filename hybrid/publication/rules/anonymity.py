"""Rules about the anonymized (intermediate) table."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Literal

from hybrid.anonymize.result import AnonymizationResult
from hybrid.evaluation.measure import Direction
from hybrid.publication.actions import NoiseName
from hybrid.publication.rules.rule import Facts, JudgedNumber, PolicyRule, RuleKind, limited, missing, text_of
from hybrid.publication.table_facts import few, public_household
from hybrid.publication.verdict import Check

_NOTHING = "nothing was anonymized"
_WHOLE = "the whole table, from which the records learned from were drawn,"


class AnonymityRule(PolicyRule):
    """A limit on the anonymized (intermediate) table."""

    quantity: Literal["k", "l", "suppressed_share", "household_risk"]
    """k: persons of the smallest equivalence class (records, without `data.person`); l: smallest l of the l-diversity
    models in force; suppressed_share: suppressed records / all records, or persons left out / all persons where that is
    more, 0..1, of linked tables where it is most; household_risk: highest probability of a household that at
    least one member is recognized, 0..1."""

    @property
    def better(self) -> Direction:
        return "lower" if self.quantity in ("suppressed_share", "household_risk") else "higher"


class AnonymityRules(RuleKind[AnonymityRule]):
    """Limits on the anonymized table."""

    section = "anonymity"
    description = "Rules about the anonymized table."
    Options = AnonymityRule

    def judge(self, rule: AnonymityRule, facts: Facts) -> Iterator[Check]:
        yield _check(rule, facts.anonymization, facts.private)

    def under_noise(self, rule: AnonymityRule) -> tuple[tuple[NoiseName, ...], str]:  # noqa: ARG002 - of every quantity
        # A policy for such tables has no such rule.
        return (), "judge differentially private tables by a policy without this rule"


def _check(rule: AnonymityRule, anonymization: AnonymizationResult | None, private: bool) -> Check:
    if anonymization is None:
        reason = "nothing was anonymized; noise protects people instead (privacy.mode dp)" if private else _NOTHING
        return missing(rule, reason, "anonymization")
    match rule.quantity:
        case "k" | "household_risk" if not anonymization.k_anonymous:
            return missing(rule, "the techniques make no groups that look alike in all quasi-identifiers")
        case "k":
            size, unit = min(one.smallest for one in anonymization.tables), anonymization.unit
            learned = "the table learned from" if anonymization.drawn is None else _WHOLE
            words = f"The smallest group of {unit} that look alike in {learned} has {size}"
            return limited(rule, JudgedNumber(size, words, f"smallest equivalence class: {size}"))
        case "l":
            found = [model["l"] for model in anonymization.models if model.get("model") == "l_diversity"]
            if not found:
                return missing(rule, "no variety of sensitive values was asked for in each group", "l_diversity")
            words = f"Each group has a variety of sensitive values of {text_of(min(found))}"
            return limited(
                rule, JudgedNumber(min(found), words, f"l of the l-diversity in force: {text_of(min(found))}")
            )
        case "household_risk":
            if anonymization.household is None:
                return missing(rule, "no households are known: data.household names no column", "households")
            risk, most = anonymization.household["risk_max"], public_household(anonymization.household)["risk_max"]
            words = (
                "Of every household in the table learned from, at least one member is recognized with a "
                f"probability of at most {text_of(100 * most)} %"
            )
            return limited(rule, JudgedNumber(risk, words, f"risk of households: at most {text_of(most)}", 100, " %"))
        case "suppressed_share":
            if not anonymization.records:
                return missing(rule, "there were no records")
            share, anonymization = max(((_left_out(one), one) for one in anonymization.tables), key=itemgetter(0))
            words = f"Of the records, {text_of(float(f'{100 * share:.2g}'))} % were left out"
            details = f"suppressed: {few(anonymization.suppressed)} of {few(anonymization.records)}"
            return limited(rule, JudgedNumber(share, words, details, 100, " %"))


def _left_out(anonymization: AnonymizationResult) -> float:
    share = anonymization.suppressed / max(anonymization.records, 1)
    return max(share, anonymization.lost_people / max(anonymization.people, 1))
