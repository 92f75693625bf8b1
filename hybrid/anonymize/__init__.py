"""Generalize quasi-identifiers until every class of equal records meets the privacy models.

Names are imported when they are first used: the package can be called (``hybrid.anonymize(frame)``), and shows progress
before it imports anything large.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybrid.base.callable_package import make_callable

if TYPE_CHECKING:
    from hybrid.anonymize.anonymize_table import anonymize
    from hybrid.anonymize.models.measure import check, k_reached
    from hybrid.anonymize.options import AnonymizeOptions
    from hybrid.anonymize.result import AnonymizationResult, AnonymizedTable
    from hybrid.anonymize.search.tradeoff import TradeoffPoint, tradeoff

_HOME = {
    "AnonymizationResult": "result",
    "AnonymizeOptions": "options",
    "AnonymizedTable": "result",
    "TradeoffPoint": "search.tradeoff",
    "anonymize": "anonymize_table",
    "check": "models.measure",
    "k_reached": "models.measure",
    "tradeoff": "search.tradeoff",
}

__all__ = [
    "AnonymizationResult",
    "AnonymizeOptions",
    "AnonymizedTable",
    "TradeoffPoint",
    "anonymize",
    "check",
    "k_reached",
    "tradeoff",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'hybrid.anonymize' has no attribute {name!r}")
    return getattr(import_module(f"hybrid.anonymize.{_HOME[name]}"), name)


make_callable(__name__, "hybrid.python.anonymization")
