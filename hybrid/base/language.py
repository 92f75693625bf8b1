"""Languages of pages and terminals: messages of a catalogue, numbers and days in the language's form.

Facts and their English sentences are made once, and kept as they are. A catalogue, one file per language in
``hybrid/base/languages``, lists every English message with places for what varies, and the same in its language. A
sentence is recognized by its English message, so that a page in another language is only drawn anew: of a run that was
made before, too.

What the program states as :class:`~hybrid.base.sentence.Sentence` knows its template, and is not looked for. Its
templates of :data:`WRITTEN` are recognized as well, since a configuration has their sentences as comments.

A message of ``templates`` is only said with the facts that fill it, and ``terms`` are words that stand alone in a
terminal: neither is looked for in a text.

Places of a message: ``{name}`` is taken over as it is (a column, a value, words of a person), and so is one word,
``{name:word}``, and what has no brackets, ``{title:name}``.
``{n:number}``, ``{bound:form}`` (a number, a date or a time) and ``{day:date}`` are written in the
language's form. ``{names:names}`` are several columns with commas and "and", which stay as they are.
``{group:label}`` names a group of people: what the program says of it is one of ``labels``, and values of the data
stay, whatever they read like.
``{what:text}`` is a message itself. ``{who:own}`` is one that the catalogue may know, such as the name
of a rule, else taken over; so is ``{metric:title}``, without brackets. ``{why:words}`` are sentences of a person, of
which those that the catalogue knows are translated. ``{all:items}`` are several of these with commas and "and". In a
translation, ``{n|Person|Personen}`` is the first word for 1, else the second; ``#`` in it is the number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property
from importlib.resources import files
from typing import TypeVar

import yaml

from hybrid.base.sentence import PLACE as _PLACE
from hybrid.base.sentence import PLURAL as _PLURAL
from hybrid.base.sentence import SEPARATORS, SHAPES, Fact, Sentence, filled, templates, written

ENVIRONMENT = "HYBRID_LANGUAGE"
"""Variable with the language where nothing else names one."""
WRITTEN = "role."
"""Begins the names of templates that a configuration has as comments: who reads it there has a text without facts."""
_DIGITS = r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"
_NUMBER = re.compile(rf"(?<![\w.,])({_DIGITS})(?![\w]|[.,]\d)")
_DAY = re.compile(r"(?<![\w-])(\d{4})-(\d\d)-(\d\d)(?![\w-])")
_PATTERNS = {
    "number": rf"(?:(?:[Aa]bout|[Ff]ewer than) )?{_DIGITS}",
    "form": r"[-−+<]?\d(?:[\d.,:/e+\-− ]*\d)?(?: %)?",
    "date": r"\d{4}-\d\d-\d\d",
    "word": r"\S+",
    "name": r"[^();]+",
    "title": r"[^();]+",
}
_ENGLISH = re.compile(r"\b(the|of|that|is|are|were|with|and|not|than|from|by|which|has|have|them|in)\b")
_PROSE = 4
"""Different words of :data:`_ENGLISH` by which a text is prose, and no name or value."""
_WORD = re.compile(r"[^\W\d_]{2}")
_ANYTHING = r".+?"
_BOUNDARY = re.compile(r"(?<=[.!?]) |; ")
_PIECES = re.compile(r"(?<=[.!?]) |; |, ")
_SENTENCE = re.compile(r"(?<=[.!?]) ")
_AND = re.compile(r", | and ")
_QUOTED_OR_AND = re.compile(r"(?<!\S)'[^']*'(?=,|\s|$)| and ")


class NoTranslation(LookupError):
    """A sentence that the catalogue of a language does not know; its argument is the sentence."""


@dataclass(frozen=True)
class Message:
    """One message of a catalogue; both have the same places."""

    english: str
    translation: str

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each place by its name; empty for what is taken over."""
        return dict(_PLACE.findall(self.english))

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """Parts of the English message between its places."""
        return tuple(_PLACE.split(self.english)[::3])

    @cached_property
    def weight(self) -> int:
        """Characters that are not of a place: of several messages that fit, the heaviest is meant."""
        return sum(map(len, self.literals))

    @cached_property
    def longest(self) -> str:
        return max(self.literals, key=len)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        parts = [re.escape(self.literals[0])]
        for (name, kind), literal in zip(self.kinds.items(), self.literals[1:], strict=True):
            parts.append(f"(?P<{name}>{_PATTERNS.get(kind, _ANYTHING)}){re.escape(literal)}")
        return re.compile("".join(parts), re.DOTALL)

    @property
    def translated_places(self) -> set[str]:
        """Names of the places of the translation."""
        found = {name for name, _ in _PLACE.findall(self.translation)}
        return found | {name for name, _, _ in _PLURAL.findall(self.translation)}


@dataclass(frozen=True)
class Language:
    """Language of a page, with its catalogue."""

    code: str
    """As in ``lang`` of HTML (ISO 639-1)."""
    name: str
    """In its own words."""
    messages: tuple[Message, ...] = ()
    """Those that are recognized in texts; none for English."""
    decimal: str = "."
    thousands: str = ","
    days: str = "%Y-%m-%d"
    templates: tuple[Message, ...] = ()
    """Those that are only said with facts."""
    labels: tuple[Message, ...] = ()
    """Names of groups of people and of estimates."""
    terms: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Words that stand alone."""
    sentences: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Templates of :class:`~hybrid.base.sentence.Sentence` by their names."""
    _known: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)
    _single: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_english(self) -> bool:
        return self.code == "en"

    def say(self, text: str, **facts: object) -> str:
        """A message, a sentence or several, in this language; NoTranslation: the catalogue does not know it.

        With ``facts`` the text is the English message itself, with its places, and they are what fills them.
        """
        if facts:
            return self._told(
                text, {name: fact if isinstance(fact, str) else str(fact) for name, fact in facts.items()}
            )
        if self.is_english or not text:
            return text
        found = self._sentences(text)
        if found is None:
            raise NoTranslation(text)
        return found

    def _told(self, template: str, facts: Mapping[str, str]) -> str:
        if self.is_english:
            return filled(template, facts, lambda _, said: str(said))
        message = self._templates.get(template)
        found = None if message is None else self._filled(message, facts, {**self._kinds, "": str})
        if found is None:
            raise NoTranslation(template)
        return found

    def template(self, english: str) -> str:
        """A message with its places, for what fills them elsewhere; NoTranslation as of :meth:`say`."""
        if self.is_english:
            return english
        if english not in self._templates:
            raise NoTranslation(english)
        return self._templates[english].translation

    def alone(self, text: str) -> str | None:
        """Translation of a text of its own in a terminal: a term or a template without places, no part of a sentence.

        None: the catalogue has no such thing.
        """
        if (term := self.terms.get(text)) is not None:
            return term
        message = self._templates.get(text)
        return None if message is None or message.kinds else message.translation

    def figure(self, text: str) -> str:
        """A number, an interval or a sign in this language's form; words beside them are a message."""
        return self.say(text) if _WORD.search(text) else self.number(text)

    def own(self, text: str) -> str:
        """Words that a person may have chosen: in this language where the catalogue knows them, else as they are."""
        if self.is_english:
            return text
        return self._sentences(text) or " ".join(self._stopped(one) or one for one in _SENTENCE.split(text))

    def label(self, text: str) -> str:
        """Name of a group of people or of an estimate in this language; columns before it, and values, stay."""
        after_a_space = (found.end() for found in re.finditer(r" (?!\()", text))  # names in brackets stand alone
        for begin in (0, *after_a_space):
            for one in self.labels:
                if (match := one.pattern.fullmatch(text, begin)) is not None:
                    return f"{text[:begin]}{self._filled(one, match.groupdict())}"
        return text

    def _stopped(self, text: str) -> str | None:
        """A sentence, which may have lost its full stop to the one around it."""
        found = self._sentences(text)
        if found is None and (whole := self._sentences(f"{text}.")) is not None:
            return whole.removesuffix(".")
        return found

    def number(self, text: str) -> str:
        """A text with its numbers and days in this language's form; its words stay."""
        if self.is_english:
            return text
        return _NUMBER.sub(lambda found: self._digits(found.group()), _DAY.sub(self._day, text))

    def day(self, when: date) -> str:
        return when.strftime(self.days)

    def _digits(self, text: str) -> str:
        return text.translate({ord(","): self.thousands, ord("."): self.decimal})

    def _day(self, found: re.Match[str]) -> str:
        try:
            return self.day(date(*map(int, found.groups())))
        except ValueError:
            return found.group()

    def _sentences(self, text: str) -> str | None:
        """A text as one message, or as messages one after another; None if a part is unknown."""
        if isinstance(text, Sentence):
            return self._message(text)
        if text not in self._known:
            self._known[text] = None
            self._known[text] = self._message(text) or self._parts(text)
        return self._known[text]

    def _parts(self, text: str) -> str | None:
        for found in reversed(list(_BOUNDARY.finditer(text))):
            first = self._message(text[: found.start()])
            if first is not None and (rest := self._sentences(text[found.end() :])) is not None:
                return f"{first}{found.group()}{rest}"
        return None

    def _message(self, text: str) -> str | None:
        """A text as one message, also with a capital letter or a full stop that its message has not."""
        if isinstance(text, Sentence):
            return self._rendered(text)
        if text not in self._single:
            self._single[text] = self._read(text)
        return self._single[text]

    def _rendered(self, said: Sentence) -> str:
        if self.is_english:
            return str(said)
        try:
            return filled(self.sentences[said.template], said.facts, self._fact)
        except KeyError:  # stated by another version, which had a template or a fact less
            raise NoTranslation(said) from None

    def _fact(self, kind: str, fact: Fact) -> str:
        if isinstance(fact, tuple) and kind in SEPARATORS:
            return SEPARATORS[kind].join(self._fact("text", one) for one in fact)
        if isinstance(fact, tuple):
            *first, last = [one if kind == "names" else self._fact(kind, one) for one in fact] or [""]
            return self._between(" and ").join(filter(None, [", ".join(first), last]))
        if kind in SHAPES:
            return SHAPES[kind](self._fact("text", fact))
        said = str(fact) if not kind else self._kinds[kind](written(fact))
        if said is None:
            raise NoTranslation(fact)
        return said

    def _read(self, text: str) -> str | None:
        if (plain := self._plain.get(text)) is not None:
            return plain
        found = [self._heaviest(text)]
        if text.endswith(".") and not _BOUNDARY.search(text):
            weight, bare = self._heaviest(text[:-1])
            found.insert(0, (weight, bare and f"{bare}."))  # a full stop is the sentence's rather than a value's
        _, best = max(found, key=lambda one: one[0])
        if best is not None or not text[:1].isupper():
            return best
        low = self._message(f"{text[0].lower()}{text[1:]}")
        return low and _capital(low)

    def _heaviest(self, text: str) -> tuple[int, str | None]:
        """Weight and translation of the heaviest message that fits a text without a change; -1 and None: none."""
        if (plain := self._plain.get(text)) is not None:
            return len(text), plain
        fitting = (message for message in self._with_places if message.longest in text)
        matched = ((one, match) for one in fitting if (match := one.pattern.fullmatch(text)))
        found = ((one.weight, self._filled(one, match.groupdict())) for one, match in matched)
        return next((one for one in found if one[1] is not None), (-1, None))

    @cached_property
    def _templates(self) -> dict[str, Message]:
        return {one.english: one for one in (*self.messages, *self.templates)}

    @cached_property
    def _plain(self) -> dict[str, str]:
        return {one.english: one.translation for one in self.messages if not one.kinds}

    @cached_property
    def _with_places(self) -> tuple[Message, ...]:
        return tuple(sorted((one for one in self.messages if one.kinds), key=lambda one: -one.weight))

    def _filled(
        self, message: Message, found: Mapping[str, str], kinds: Mapping[str, Callable[[str], str | None]] | None = None
    ) -> str | None:
        read = kinds or self._kinds
        values = {name: read[kind](found[name]) for name, kind in message.kinds.items()}
        known = {name: value for name, value in values.items() if value is not None}
        return filled(message.translation, known, lambda _, said: str(said)) if len(known) == len(values) else None

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        """First words of messages, where they are several."""
        first = {one.literals[0] for one in self.messages if len(one.literals[0].split()) > 1}
        return tuple({_capital(words) for words in first})

    @property
    def _kinds(self) -> Mapping[str, Callable[[str], str | None]]:
        return {
            "": self._value,
            "word": str,
            "name": self._value,
            "form": self.number,
            "number": self._counted,
            "date": self.number,
            "text": self._sentences,
            "own": self._own,
            "title": self._own,
            "words": self.own,
            "items": self._items,
            "label": self._labelled,
            "names": self._names,
        }

    def _value(self, text: str) -> str | None:
        """Data as it is; None if it begins like a message, reads like one, or a known one is in it: that is no data."""
        pieces = _PIECES.split(text)
        if any(_capital(piece).startswith(self._beginnings) for piece in pieces):
            return None
        if len(set(_ENGLISH.findall(text))) >= _PROSE:
            return None
        return None if self._holds_message(text) else text

    def _holds_message(self, text: str) -> bool:
        """A text begins or ends with a message."""
        bounds = list(_BOUNDARY.finditer(text))
        parts = (*(text[found.end() :] for found in bounds), *(text[: found.start()] for found in bounds))
        return any(self._sentences(part) or self._sentences(f"{part}.") for part in map(_capital, parts))

    def _own(self, text: str) -> str | None:
        if text not in self._plain and text.endswith(".") and self._message(text[:-1]) is not None:
            return None
        return self._message(text) or self._value(text)

    def _counted(self, text: str) -> str | None:
        words, _, digits = text.rpartition(" ")
        about = words and self._message(words)
        return None if about is None else f"{about} {self._digits(digits)}".lstrip()

    def _items(self, text: str) -> str | None:
        """Texts with commas and "and" between them; None if a message begins or ends between two."""
        found = self._known_items(text)
        return found or (None if self._holds_message(text) else self._split_items(text))

    def _labelled(self, text: str) -> str | None:
        is_own = any(one.pattern.fullmatch(text) for one in self.labels)
        return self.label(text) if is_own or self._value(text) is not None else None

    def _names(self, text: str) -> str | None:
        found = [one for one in _QUOTED_OR_AND.finditer(text) if one.group() == " and "]
        if self._value(text) is None or not found:
            return self._value(text)
        begin, end = found[-1].span()
        return f"{text[:begin]}{self._between(' and ')}{text[end:]}"

    def _known_items(self, text: str) -> str | None:
        if (whole := self._message(text)) is not None:
            return whole
        for found in reversed(list(_AND.finditer(text))):
            first = self._message(text[: found.start()])
            if first is not None and (rest := self._known_items(text[found.end() :])) is not None:
                return f"{first}{self._between(found.group())}{rest}"
        return None

    def _split_items(self, text: str) -> str:
        first, found, last = text.rpartition(" and ")
        listed = first.split(", ") if found else []
        if not listed:
            return ", ".join(self.own(one) for one in last.split(", "))
        return f"{', '.join(self.own(one) for one in listed)}{self._between(found)}{self.own(last)}"

    def _between(self, separator: str) -> str:
        return separator if separator.strip() == "," else f" {self._plain['and']} "


ENGLISH = Language("en", "English")
"""The language in which all messages are written."""


def languages() -> tuple[str, ...]:
    """Codes of the languages there are, English first."""
    found = (entry.name.removesuffix(".yaml") for entry in files(__package__).joinpath("languages").iterdir())
    return (ENGLISH.code, *sorted(name for name in found if "." not in name and name != ENGLISH.code))


@cache
def catalogue(code: str) -> Language:
    """The language with a code of :func:`languages`."""
    if code == ENGLISH.code:
        return ENGLISH
    text = files(__package__).joinpath("languages", f"{code}.yaml").read_text(encoding="utf-8")
    content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    messages, said, labels = (
        tuple(Message(one["en"], one[code]) for one in content.pop(key, ()))
        for key in ("messages", "templates", "labels")
    )
    english = {name: text for name, text in templates(ENGLISH.code).items() if name.startswith(WRITTEN)}
    messages += tuple(Message(text, content["sentences"][name]) for name, text in english.items())
    return Language(code=code, messages=messages, templates=said, labels=labels, **content)


def language_of(tag: str | None) -> Language:
    """Language of a tag (BCP 47, such as ``de-AT``), or of :data:`ENVIRONMENT`; English where there is no catalogue."""
    for named in (tag, os.environ.get(ENVIRONMENT)):
        if named:
            code = named.replace("_", "-").partition("-")[0].lower()
            return catalogue(code) if code in languages() else ENGLISH
    return ENGLISH


NOT_TRANSLATED = "This page is in English: it has no version in the language that was asked for."


Drawn = TypeVar("Drawn")


def in_language(language: Language, draw: Callable[[Language, str], Drawn]) -> Drawn:
    """A page, drawn from a language and a note, in the language that was asked for.

    In English as a whole, with the note :data:`NOT_TRANSLATED`, where the catalogue lacks one of its sentences.
    """
    try:
        return draw(language, "")
    except NoTranslation:
        return draw(ENGLISH, NOT_TRANSLATED)


def _capital(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"
