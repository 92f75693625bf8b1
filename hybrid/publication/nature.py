"""Nature of released rows and how they were made, in sentences for every file of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hybrid.anonymize.result import AnonymizationResult
from hybrid.publication.guarantee import makes_labels
from hybrid.publication.private_words import budget_words, is_dp
from hybrid.table.surrogates import TABLE_NUMBER

KEYWORD = "synthetic data"
"""Keyword of descriptions of synthetic tables."""


def is_synthetic(config: Mapping[str, Any]) -> bool:
    """True if a generator drew the released rows of a configuration as resolved (JSON types)."""
    return _generator(config) != "none"


def nature(config: Mapping[str, Any]) -> str:
    """Sentence on the rows of the released table, or tables about people."""
    if not is_synthetic(config):
        record = "anonymized record" if config.get("anonymize") else "record"
        return f"No row is synthetic: each stands for one {record} of a person."
    rows = "Every row about people" if config.get("tables") else "Every row"
    return f"{rows} is synthetic: a program drew it, which had learned from records of people."


def made(config: Mapping[str, Any], anonymization: AnonymizationResult | None) -> Iterator[str]:
    """Short sentences on how the rows were made: anonymization, transition, generator, budget."""
    generator = _generator(config)
    if is_dp(config):
        yield f"The generator {generator} learned with a budget of differential privacy: {budget_words(config)}."
        return
    if anonymization is not None:
        yield from _label_steps(config.get("transition") or {}, anonymization)
    yield "No generator was used." if generator == "none" else f"The generator {generator} drew the rows."
    tables = (config.get("synthesize") or {}).get("tables", 1)
    if tables > 1:
        what = "Each file about people holds" if config.get("tables") else "They are"
        yield f"{what} {tables} tables of one trained generator, which the column {TABLE_NUMBER} numbers."


def _generator(config: Mapping[str, Any]) -> str | None:
    found: str | None = (config.get("synthesize") or {}).get("generator")
    return found


def _label_steps(transition: Mapping[str, Any], anonymization: AnonymizationResult) -> Iterator[str]:
    if anonymization.k_anonymous:
        yield f"The intermediate table is k-anonymous with k = {anonymization.k}."
        yield "That is not promised of the released rows."
    else:
        yield "Values of quasi-identifiers were changed, without k-anonymity."
    method = transition.get("method")
    if method == "original" and transition.get("order") != "post":
        yield "The real values then took the place of the anonymized ones."
    elif method is not None and makes_labels(anonymization):
        yield f"The transition {method} restored exact values."
