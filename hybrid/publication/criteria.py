"""Criteria of privacy, and the one that each metric is about."""

from __future__ import annotations

from typing import Literal

from hybrid.evaluation import REGISTRY

Criterion = Literal["singling out", "linkability", "inference", "membership", "copies"]
QUESTIONS: dict[Criterion, str] = {
    "singling out": "Can one person be picked out?",
    "linkability": "Can two records of one person be joined?",
    "inference": "Can a secret be guessed?",
    "membership": "Can one tell who is in the data?",
    "copies": "Does it repeat real records?",
}
"""Every criterion, in the order of the first page, with its question."""


def criterion_of(metric: str | None) -> Criterion | None:
    """The criterion that a metric measures; None beyond privacy.

    It is the risk that an attack declares; every other metric of privacy is about copies and closeness.
    """
    if metric is None or metric not in REGISTRY or REGISTRY[metric].family != "privacy":
        return None
    found = REGISTRY[metric]
    if found.pillar != "attack" or found.risk is None or found.risk == "propensity":
        return "copies"
    return found.risk
