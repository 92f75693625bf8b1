"""Section ``protect`` of a configuration: options, or the word off."""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag

from hybrid.base.options import Options

Replace = Literal["sample", "other", "missing"]
ColumnChoice = Literal["keep", "sample", "other", "missing"]
LEAST_HOLDERS = 5
"""Holders that a value needs where the configuration names no number."""


class ProtectOptions(Options):
    """Protection of rare categories, extreme numbers and exact amounts.

    Extreme are the smallest and the largest numbers.
    """

    min_count: int | None = Field(default=None, ge=2)
    """People who must have a category so that it stays as it is (records, without `data.person`); null: 5, or
    `anonymize.k` where that is larger."""
    replace: Replace = "sample"
    """What takes the place of a rare category. sample: another value of the column, drawn given the other columns;
    other: the category `other`; missing: no value."""
    columns: dict[str, ColumnChoice] = Field(default_factory=dict)
    """Decisions about single columns: another `replace`, or keep: its values stay, rare ones too. A text column, of
    which more than a fifth of the records would change, needs one."""

    def least_holders(self, k: int = 0) -> int:
        """Number of holders that a value needs, which depends on the table's k (0: not anonymized)."""
        return max(LEAST_HOLDERS, k) if self.min_count is None else self.min_count

    def only(self, names: Container[str]) -> Self:
        return self.model_copy(update={"columns": {name: own for name, own in self.columns.items() if name in names}})

    def choice(self, column: str) -> ColumnChoice:
        return self.columns.get(column, self.replace)


def _is_off(value: Any) -> bool:
    return value is False or value == "off"


ProtectChoice = Annotated[
    Annotated[ProtectOptions, Tag("options")]
    | Annotated[Literal["off"], BeforeValidator(lambda value: "off" if _is_off(value) else value), Tag("off")],
    Discriminator(lambda value: "off" if _is_off(value) else "options"),
]
"""Options, or off: YAML reads the word as false."""
