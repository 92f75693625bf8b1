"""Suppression alone: small classes are left out at fixed levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hybrid.anonymize.techniques.protocol import LabelTechnique
from hybrid.base.sentence import sentence

if TYPE_CHECKING:
    from hybrid.anonymize.options import AnonymizeOptions


class Suppression(LabelTechnique):
    """Suppression of classes below k at fixed levels.

    Records whose class has fewer than k persons, or violates a model, are left out. Levels are those of
    ``anonymize.levels``, 0 (the values as they are) where none is given. Up to
    ``anonymize.suppression_limit`` of the records may be left out.
    """

    name: Literal["suppression"] = "suppression"
    """Chooses this technique."""
    columns: tuple[str, ...] = ()
    """Columns whose combinations are counted; none: all quasi-identifiers, which gives k-anonymity."""

    k_anonymous: ClassVar[bool] = True

    def search(self, options: AnonymizeOptions, columns: Sequence[str]) -> AnonymizeOptions:
        levels = {name: options.levels.get(name, 0) for name in columns}
        return options.model_copy(update={"levels": levels, "recoding": "global", "engine": "exact"})

    def words(self, columns: str, facts: Mapping[str, Any]) -> str:  # noqa: ARG002
        return sentence("technique.suppression", columns=columns)
