"""Texts of the desk in every language, from one catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml

LANGUAGES = ("en", "de")
"""Languages of the catalogue; the first is the default."""


@cache
def catalogue() -> Mapping[str, Mapping[str, str]]:
    """Texts by key and language."""
    content: dict[str, dict[str, str]] = yaml.safe_load(
        files("hybrid.desk").joinpath("texts.yaml").read_text(encoding="utf-8")
    )
    return content


def text(key: str, language: str, **values: object) -> str:
    """One text in a language, with values in its places.

    Raises
    ------
    KeyError
        The catalogue has no such text.
    """
    return catalogue()[key][language].format(**values)


def language_of(accepted: str, chosen: str = "") -> str:
    """Language to use.

    The chosen one, else the first of ``Accept-Language`` that the catalogue has.
    """
    if chosen in LANGUAGES:
        return chosen
    wanted = [part.partition(";")[0].strip()[:2].lower() for part in accepted.split(",")]
    return next((one for one in wanted if one in LANGUAGES), LANGUAGES[0])
