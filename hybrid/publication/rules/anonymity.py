"""Rules about the anonymized (intermediate) table."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Literal

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Direction
from hybrid.publication.actions import NoiseName
from hybrid.publication.rules.rule import Facts, JudgedNumber, PolicyRule, RuleKind, limited, missing
from hybrid.publication.table_facts import few, public_household
from hybrid.publication.verdict import Check


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
        if facts.anonymization is None:
            reason = sentence("nothing_anonymized.noise" if facts.private else "nothing_anonymized")
            yield missing(rule, reason, facts.lacks_anonymization(rule))
        else:
            yield _check(rule, facts.anonymization)

    def under_noise(self, rule: AnonymityRule) -> tuple[tuple[NoiseName, ...], str]:  # noqa: ARG002 - of every quantity
        # A policy for such tables has no such rule.
        return (), "judge differentially private tables by a policy without this rule"


def _check(rule: AnonymityRule, anonymization: AnonymizationResult) -> Check:
    match rule.quantity:
        case "k" | "household_risk" if not anonymization.k_anonymous:
            return missing(rule, sentence("no_groups"))
        case "k":
            size, unit = min(one.smallest for one in anonymization.tables), anonymization.unit
            whole = "smallest_group" if anonymization.drawn is None else "smallest_group.whole"
            words = sentence(whole, unit=unit, n=size)
            return limited(rule, JudgedNumber(size, words, sentence("details.smallest", n=size)))
        case "l":
            found = [model["l"] for model in anonymization.models if model.get("model") == "l_diversity"]
            if not found:
                return missing(rule, sentence("no_diversity"), "l_diversity")
            l_ = float(min(found))
            return limited(rule, JudgedNumber(l_, sentence("diversity", n=l_), sentence("details.diversity", n=l_)))
        case "household_risk":
            if anonymization.household is None:
                return missing(rule, sentence("no_households"), "households")
            risk, most = anonymization.household["risk_max"], public_household(anonymization.household)["risk_max"]
            words = sentence("household", n=float(100 * most))
            return limited(
                rule, JudgedNumber(risk, words, sentence("details.household", n=float(most)), 100, "percent")
            )
        case "suppressed_share":
            if not anonymization.records:
                return missing(rule, sentence("no_records"))
            share, anonymization = max(((_left_out(one), one) for one in anonymization.tables), key=itemgetter(0))
            words = sentence("left_out", n=float(f"{100 * share:.2g}"))
            counts = few(anonymization.suppressed), few(anonymization.records)
            details = sentence("details.suppressed", n=counts[0], of=counts[1])
            return limited(rule, JudgedNumber(share, words, details, 100, "percent"))


def _left_out(anonymization: AnonymizationResult) -> float:
    share = anonymization.suppressed / max(anonymization.records, 1)
    return max(share, anonymization.lost_people / max(anonymization.people, 1))
