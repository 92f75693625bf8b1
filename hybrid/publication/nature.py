"""Nature of released rows: synthetic, or real records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEYWORD = "synthetic data"
"""Keyword of descriptions of synthetic tables."""


def is_synthetic(config: Mapping[str, Any]) -> bool:
    """True if a generator drew the released rows.

    ``config`` is the configuration as resolved (JSON types).
    """
    return (config.get("synthesize") or {}).get("generator") != "none"


def nature(config: Mapping[str, Any]) -> str:
    """Sentence on the rows of the released table, or tables about people."""
    if not is_synthetic(config):
        record = "anonymized record" if config.get("anonymize") else "record"
        return f"No row is synthetic: each stands for one {record} of a person."
    rows = "Every row about people" if config.get("tables") else "Every row"
    return f"{rows} is synthetic: a program drew it, which had learned from records of people."
