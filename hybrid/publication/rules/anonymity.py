"""Rules about the anonymized (intermediate) table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from hybrid.anonymize.result import AnonymizationResult
from hybrid.evaluation.measure import Direction
from hybrid.publication.rules.rule import Facts, Found, Rule, RuleKind, limited, missing, text_of
from hybrid.publication.verdict import Check

_QUANTITIES = {
    "k": "smallest equivalence class of the intermediate table",
    "l": "l of the l-diversity in force on the intermediate table",
    "suppressed_share": "share of suppressed records",
}


class AnonymityRule(Rule):
    """A limit on the anonymized (intermediate) table."""

    quantity: Literal["k", "l", "suppressed_share"]
    """k: size of the smallest equivalence class; l: smallest l of the l-diversity models in force;
    suppressed_share: suppressed records / all records, 0..1."""

    @property
    def better(self) -> Direction:
        """Direction in which numbers are better, lower or higher."""
        return "lower" if self.quantity == "suppressed_share" else "higher"


class AnonymityRules(RuleKind[AnonymityRule]):
    """Limits on the anonymized table."""

    section = "anonymity"
    description = "Rules about the anonymized table."
    Options = AnonymityRule

    def judge(self, rule: AnonymityRule, facts: Facts) -> Iterator[Check]:
        """Compare one quantity of the anonymization with the limits."""
        yield _check(rule, facts.anonymization)


def _check(rule: AnonymityRule, anonymization: AnonymizationResult | None) -> Check:
    subject = _QUANTITIES[rule.quantity]
    if anonymization is None:
        return missing(rule, f"{subject}: nothing was anonymized", "anonymization")
    match rule.quantity:
        case "k":
            return limited(rule, Found(anonymization.min_class_size, f"{subject}: {anonymization.min_class_size}"))
        case "l":
            found = [model["l"] for model in anonymization.models if model.get("model") == "l_diversity"]
            if not found:
                return missing(rule, f"{subject}: no l-diversity was demanded", "l_diversity")
            return limited(rule, Found(min(found), f"{subject}: {text_of(min(found))}"))
        case "suppressed_share":
            if not anonymization.records:
                return missing(rule, f"{subject}: there were no records")
            share = anonymization.suppressed / anonymization.records
            words = f"{subject}: {text_of(share)} ({anonymization.suppressed} of {anonymization.records})"
            return limited(rule, Found(share, words))
