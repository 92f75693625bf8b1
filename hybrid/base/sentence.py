"""Sentences as facts: the name of a template, and what fills its places.

``hybrid/base/languages`` has the templates, one file per language with the same names; those of English are in
``en.yaml``. A sentence is its English text wherever a text is wanted, and
:meth:`hybrid.base.language.Language.say` writes it by the template of another language: nothing is looked for in it.

Each language says in its own template what a place is, with the kinds of :mod:`hybrid.base.language`, and three more
for a sentence within a sentence: ``{found:low}`` and ``{found:capital}`` begin with a small or a capital letter, and
``{found:stopped}`` ends with a full stop. ``{n|is|are}`` is the first word for 1, else the second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from numbers import Integral
from typing import Any, Self

import yaml

from hybrid.base.words import listed, named, text_of

Fact = str | int | float | tuple[str, ...]
"""A text or another sentence; a number, with the digits that are said; several texts or sentences."""
PLACE = re.compile(r"\{([a-z_]+)(?::([a-z]+))?\}")
PLURAL = re.compile(r"\{([a-z_]+)\|([^|{}]*)\|([^|{}]*)\}")
SHAPES: dict[str, Callable[[str], str]] = {
    "low": lambda text: f"{text[:1].lower()}{text[1:]}",
    "capital": lambda text: f"{text[:1].upper()}{text[1:]}",
    "stopped": lambda text: text if text.endswith(".") else f"{text}.",
}
"""Kinds of places that change a sentence at its ends."""
SENTENCES = "sentences"
"""Entry of documents with template and facts of each sentence, by its English text."""
_TEXT = "text"
SEPARATORS = {"text": " ", "clauses": "; ", "commas": ", "}
"""What stands between several sentences of a place, by its kind."""


class Sentence(str):
    """An English text that knows its template, and the facts that fill it."""

    template: str
    facts: Mapping[str, Fact]

    def __new__(cls, text: str, template: str = "", facts: Mapping[str, Fact] | None = None) -> Self:
        new = super().__new__(cls, text)
        new.template, new.facts = template, facts or {}
        return new

    def __deepcopy__(self, memo: object) -> Self:
        return self


def sentence(template: str, /, **facts: Fact) -> Sentence:
    """The sentence of a template, by its name in ``en.yaml``, with facts in its places."""
    said = {name: _as_said(fact) for name, fact in facts.items()}
    return Sentence(filled(_english()[template], said, _in_english), template, said)


def sentences(*found: str, between: str = "then") -> str:
    """Sentences one after another, or joined by another template, without those that are empty."""
    parts = tuple(filter(None, found))
    if len(parts) > 1:
        return sentence(between, parts=parts)
    return parts[0] if parts else ""


def filled(template: str, facts: Mapping[str, Fact], read: Callable[[str, Fact], str]) -> str:
    """A template with its places filled by what ``read`` makes of their kinds and facts."""

    def counted(at: re.Match[str]) -> str:
        word = at.group(2 if facts[at.group(1)] in (1, "1") else 3)
        return word.replace("#", read("number", facts[at.group(1)]))

    return PLACE.sub(lambda at: read(at.group(2) or "", facts[at.group(1)]), PLURAL.sub(counted, template))


def written(fact: str | float) -> str:
    """A fact in English: whole numbers in full, others with four digits."""
    if isinstance(fact, str):
        return fact
    return f"{fact:,}" if isinstance(fact, int) else text_of(fact)


def sentences_in(content: object) -> dict[str, dict[str, Any]]:
    """Template and facts of every sentence in a document of JSON types, by its English text."""
    found: dict[str, dict[str, Any]] = {}

    def look(one: object) -> None:
        if isinstance(one, Sentence):
            found[str(one)] = {"template": one.template, "facts": dict(one.facts)}
        parts = one.facts if isinstance(one, Sentence) else one
        if isinstance(parts, Mapping):
            parts = tuple(parts.values())
        if isinstance(parts, list | tuple):
            for part in parts:
                look(part)

    look(content)
    return dict(sorted(found.items()))


def with_sentences(content: Any, said: Mapping[str, Mapping[str, Any]]) -> Any:
    """A document of JSON types with the sentences that :func:`sentences_in` found in it."""
    if isinstance(content, Mapping):
        return {key: with_sentences(value, said) for key, value in content.items()}
    if isinstance(content, list):
        return [with_sentences(one, said) for one in content]
    if not isinstance(content, str) or content not in said:
        return content
    facts = {name: with_sentences(fact, said) for name, fact in said[content]["facts"].items()}
    several = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in facts.items()}
    return Sentence(content, said[content]["template"], several)


def stated(content: dict[str, Any]) -> dict[str, Any]:
    """A document of JSON types with an entry more, by which :func:`restated` knows the sentences in it."""
    return content | {SENTENCES: sentences_in(content)}


def restated(content: Mapping[str, Any]) -> dict[str, Any]:
    """The document that :func:`stated` made, with its sentences, after it was a file."""
    found: dict[str, Any] = with_sentences(content, content.get(SENTENCES, {}))
    return found


def packed(text: str) -> str:
    """A text for a place that holds nothing but text; a sentence is JSON there, by which :func:`unpacked` knows it."""
    return json.dumps({_TEXT: text, SENTENCES: sentences_in(text)}) if isinstance(text, Sentence) else text


def unpacked(text: str) -> str:
    """The text or the sentence that :func:`packed` wrote."""
    if not text.startswith(f'{{"{_TEXT}": '):
        return text
    found: str = restated(json.loads(text))[_TEXT]
    return found


def templates(code: str) -> dict[str, str]:
    """Templates of a language by their names, as its file has them."""
    text = files(__package__).joinpath("languages", f"{code}.yaml").read_text(encoding="utf-8")
    found: dict[str, str] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["sentences"]
    return found


def _as_said(fact: Fact) -> Fact:
    if isinstance(fact, str | tuple):
        return fact
    return int(fact) if isinstance(fact, Integral) else float(f"{fact:.4g}")


@cache
def _english() -> dict[str, str]:
    return templates("en")


def _in_english(kind: str, fact: Fact) -> str:
    if isinstance(fact, tuple):
        return SEPARATORS[kind].join(fact) if kind in SEPARATORS else named(fact) if kind == "names" else listed(fact)
    return SHAPES[kind](written(fact)) if kind in SHAPES else written(fact)
