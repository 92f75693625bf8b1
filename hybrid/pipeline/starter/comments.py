"""Comments of guessed files, in the language of ``HYBRID_LANGUAGE``."""

from __future__ import annotations

from hybrid.base.language import NoTranslation, language_of


def said(text: str) -> str:
    """A text in the language, or in English where its catalogue does not know it."""
    try:
        return language_of(None).say(text)
    except NoTranslation:
        return text


def remark(text: str) -> str:
    """A comment of a file."""
    return f"# {said(text)}"


def review(text: str) -> str:
    """A comment on what a person has to decide; its mark is read by the program, and is not translated."""
    return f"# review: {said(text)}"
