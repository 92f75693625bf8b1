"""Generalize quasi-identifiers until every class of equal records meets the privacy models."""

from hybrid.anonymize.anonymize_table import anonymize
from hybrid.anonymize.models.measure import check, k_reached, l_reached
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizationResult, AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint, tradeoff

__all__ = [
    "AnonymizationResult",
    "AnonymizeOptions",
    "AnonymizedTable",
    "TradeoffPoint",
    "anonymize",
    "check",
    "k_reached",
    "l_reached",
    "tradeoff",
]
