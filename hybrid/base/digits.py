"""Digits by which two numbers differ."""

from __future__ import annotations

_FURTHER = 3
"""Digits that are added at most to tell two numbers apart."""


def told_apart(number: float, other: float, digits: int) -> tuple[str, str]:
    """Two numbers with so many digits after the point, or with the few more by which they differ, if they do."""
    written = [(f"{number:,.{more}f}", f"{other:,.{more}f}") for more in range(digits, digits + _FURTHER + 1)]
    return next((texts for texts in written if texts[0] != texts[1]), written[0])
