"""Public sentences on techniques of anonymization."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.techniques.protocol import LabelTechnique
from hybrid.anonymize.techniques.registry import technique_of

UNKNOWN = "A step of the anonymization is unknown to this version, so nothing is promised for it."
NOTHING_TOGETHER = (
    "The intermediate table has no k-anonymity: no step made groups of records that are equal in all "
    "quasi-identifiers, so that someone who knows the quasi-identifiers of a person may single out a record."
)


def technique_sentences(result: AnonymizationResult) -> Iterator[str]:
    """Sentence of each step: its work and its promise."""
    for step in result.steps or ():
        columns = ", ".join(map(str, step.get("columns") or ()))
        try:
            yield technique_of(step["options"]).words(columns, step.get("facts") or {})
        except (ValidationError, KeyError, TypeError):
            yield UNKNOWN


def loss_sentence(loss: Mapping[str, Any]) -> str:
    """Public sentence on how the information loss weighs the quasi-identifiers; empty for masked values.

    Parameters
    ----------
    loss : mapping
        :attr:`AnonymizationResult.loss`.
    """
    match loss.get("name"):
        case "masking" | None:
            return ""
        case "aecs" | "discernibility":
            return "The loss looks at the sizes of groups and weighs no column."
        case "association":
            declared = ", ".join(map(str, loss.get("use") or ()))
            what = f"with {declared}, which the table is for" if declared else "with all other columns"
            why = "" if declared else ", since no target is declared"
            known = f"Half of the loss is what a label loses of its column's association {what}{why}."
        case _:
            known = ""
    weights = ", ".join(f"{name} {weight:g}" for name, weight in (loss.get("weights") or {}).items())
    equal = "" if known else "The loss weighs all columns alike."
    return " ".join(filter(None, (known, f"The loss weighs columns: {weights}; others 1." if weights else equal)))


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
