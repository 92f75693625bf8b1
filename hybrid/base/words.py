"""Names and numbers as they are written in sentences."""

from __future__ import annotations

from collections.abc import Iterable

_FURTHER = 3
"""Digits that are added at most to tell two numbers apart."""


def listed(names: Iterable[str]) -> str:
    """Names in a sentence, such as "a, b and c"; empty without any."""
    known = list(names)
    return " and ".join(filter(None, [", ".join(known[:-1]), *known[-1:]]))


def named(names: Iterable[str]) -> str:
    """Columns in a sentence; a name with a comma or "and" in it is in quotes."""
    return listed(f"'{name}'" if " and " in name or ", " in name else name for name in names)


def told_apart(number: float, other: float, digits: int) -> tuple[str, str]:
    """Two numbers with so many digits after the point, or with the few more by which they differ, if they do."""
    written = [(f"{number:,.{more}f}", f"{other:,.{more}f}") for more in range(digits, digits + _FURTHER + 1)]
    return next((texts for texts in written if texts[0] != texts[1]), written[0])


def text_of(number: float) -> str:
    """A number with four significant digits, without powers of ten."""
    text = f"{float(f'{number:.4g}'):,.10f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
