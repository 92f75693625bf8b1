"""Nature of released rows and how they were made, in sentences for every file of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.sentence import sentence
from hybrid.publication.guarantee import is_linked, makes_labels
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
        return sentence("made.record.anonymized" if config.get("anonymize") else "made.record")
    return sentence("made.synthetic.linked" if is_linked(config) else "made.synthetic")


def made(config: Mapping[str, Any], anonymization: AnonymizationResult | None) -> Iterator[str]:
    """Short sentences on how the rows were made: anonymization, transition, generator, budget."""
    generator = str(_generator(config))
    if is_dp(config):
        yield sentence("made.budget", generator=generator, budget=budget_words(config))
        return
    if anonymization is not None:
        yield from _label_steps(config.get("transition") or {}, anonymization)
    yield sentence("made.drawn", generator=generator) if is_synthetic(config) else sentence("made.without")
    tables = (config.get("synthesize") or {}).get("tables", 1)
    if tables > 1:
        name = "made.tables.linked" if is_linked(config) else "made.tables"
        yield sentence(name, n=tables, column=TABLE_NUMBER)


def _generator(config: Mapping[str, Any]) -> str | None:
    found: str | None = (config.get("synthesize") or {}).get("generator")
    return found


def _label_steps(transition: Mapping[str, Any], anonymization: AnonymizationResult) -> Iterator[str]:
    if anonymization.k_anonymous:
        yield sentence("made.k", k=anonymization.k)
        yield sentence("made.k.not_rows")
    else:
        yield sentence("made.changed")
    method = transition.get("method")
    if method == "original" and transition.get("order") != "post":
        yield sentence("made.real")
    elif method is not None and makes_labels(anonymization):
        yield sentence("made.restored", method=str(method))
