"""Generalization: labels of hierarchies, by the search for the least loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from hybrid.anonymize.techniques.protocol import LabelTechnique
from hybrid.base.sentence import sentence


class Generalization(LabelTechnique):
    """Labels that k persons share, by engine, recoding and loss."""

    name: Literal["generalization"] = "generalization"
    """Chooses this technique."""
    columns: tuple[str, ...] = ()
    """Columns to generalize together; none: all quasi-identifiers, which gives k-anonymity."""

    k_anonymous: ClassVar[bool] = True

    def words(self, columns: str, facts: Mapping[str, Any]) -> str:  # noqa: ARG002
        return sentence("technique.generalization", columns=columns)
