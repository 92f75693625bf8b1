"""Terminal that prints every text literally.

The one place where output is escaped.

Names of columns, files, people and releases come from others. No markup in them is interpreted, and no control
character reaches the terminal: colours are given beside a text, never within it.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from rich.console import Console
from rich.text import Text

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories of characters that a terminal obeys, or that are invisible or turn the direction of writing."""


def plain(text: str) -> str:
    r"""Write hidden and control characters as their codes.

    Such as ``\x1b`` and ``\u202e``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in _KEPT or unicodedata.category(character) not in _HIDDEN else _code(character)
        for character in text
    )


def styled(*parts: str | tuple[str, str]) -> Text:
    """Text of parts, each alone or with its style."""
    return Text.assemble(*((plain(part), "") if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts))


class Terminal(Console):
    """Console without markup and emoji codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, soft_wrap=True, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a text, or a cell of a table."""
        return super().render_str(plain(text), **options | {"markup": False, "emoji": False})


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()
