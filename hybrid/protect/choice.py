"""Section ``protect`` of a configuration: options, or the word off."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Tag

from hybrid.protect.options import ProtectOptions


def _is_off(value: Any) -> bool:
    return value is False or value == "off"


ProtectChoice = Annotated[
    Annotated[ProtectOptions, Tag("options")]
    | Annotated[Literal["off"], BeforeValidator(lambda value: "off" if _is_off(value) else value), Tag("off")],
    Discriminator(lambda value: "off" if _is_off(value) else "options"),
]
"""Options, or off: YAML reads the word as false."""
