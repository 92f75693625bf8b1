"""Texts that people wrote, as plain text of Markdown."""

from __future__ import annotations

import re
import unicodedata

_MARKUP = re.compile(r"([\\|<>\[\]`*~])|(?<![^\W_])_|_(?![^\W_])")


def plain(text: str) -> str:
    """One line in which nothing is markup: blanks are single, control characters are gone, markup is escaped."""
    line = " ".join(text.split())
    shown = "".join(character for character in line if unicodedata.category(character) not in ("Cc", "Cf"))
    return _MARKUP.sub(lambda match: f"\\{match[0]}", shown)
