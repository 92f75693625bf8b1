"""A language that marks what its catalogue said, so that a test sees on a page what it did not say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser

import pytest

from hybrid.base.language import Language, catalogue
from hybrid.report.run import render

ENGLISH = re.compile(r"\b(the|were|and|of|is|are|not|no|with|by)\b")
"""Words that no German sentence has: an English one that was taken for a person's words would show by them."""


class Marking(Language):
    """As another language; what it says stands between ⟦ and ⟧."""

    def say(self, text: str, **facts: object) -> str:
        return f"⟦{super().say(text, **facts)}⟧" if text else text

    def own(self, text: str) -> str:
        return f"⟦{super().own(text)}⟧"

    def label(self, text: str) -> str:
        found = super().label(text)
        return found if found == text else f"⟦{found}⟧"


def marking(code: str) -> Marking:
    """The language with a code, marking."""
    of = catalogue(code)
    about = of.decimal, of.thousands, of.days, of.templates, of.labels
    return Marking(of.code, of.name, of.messages, *about, sentences=of.sentences)


@contextmanager
def marked_reports(patch: pytest.MonkeyPatch, language: Marking) -> Iterator[Marking]:
    """Reports in that language are drawn by the marking one."""
    patch.setattr(render, "catalogue", lambda code: language if code == language.code else catalogue(code))
    _forget()
    yield language
    _forget()


def _forget() -> None:
    render.environment.cache_clear()
    render._compiled.cache_clear()


class _Nodes(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.feed(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("aria-label", "title", "alt") and value]

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def nodes(page: str) -> str:
    """Every text of a page and of its labels, one a line."""
    return "\n".join(_Nodes(page).found)


def unsaid(text: str) -> list[str]:
    """Pieces of a marked text that the catalogue did not say, without numbers, times and signs."""
    while "⟦" in text:
        shorter = re.sub(r"⟦[^⟦⟧]*⟧", "\n", text)
        assert shorter != text
        text = shorter
    lines = (line.strip(" ,:.|*#-()–…✓✕!?○☐0123456789") for line in text.split("\n"))
    return [line for line in lines if re.search(r"[A-Za-zÄÖÜäöü]{2}", line)]
