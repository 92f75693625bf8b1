"""Texts that people wrote, as plain text of Markdown."""

from __future__ import annotations

import re
import unicodedata

_MARKUP = re.compile(r"([\\|<>\[\]`*~])|(?<![^\W_])_|_(?![^\W_])|^[#+=-]")
_NUMBER = re.compile(r"^(\d+)([.)])")
"""Start of a numbered list."""
_IN_CODE = re.compile(r"[\\|<>\[\]]")


def plain(text: str) -> str:
    """One line in which nothing is markup: blanks are single, control characters are gone, markup is escaped."""
    return _NUMBER.sub(r"\1\\\2", _MARKUP.sub(_escaped, _shown(text)))


def code(text: str) -> str:
    """A span of code, also within a table; a backtick becomes an apostrophe."""
    return f"`{_IN_CODE.sub(_escaped, _shown(text).replace('`', chr(39)))}`"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return "".join(character for character in line if unicodedata.category(character) not in ("Cc", "Cf"))


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"
