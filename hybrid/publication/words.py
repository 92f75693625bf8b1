"""Words of printed texts, and of the values they may hold.

A value is found in a text where all of its words stand there one after another, whatever stands between them: case,
punctuation, line breaks and the separators of thousands do not count.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

MOST_WORDS = 8
"""Words of a value that are looked for; of longer ones these are the first."""
LEAST_DIGITS, MOST_DIGITS = 9, 14
"""Significant digits of a number that is looked for. Shorter ones may be a count, longer ones are computed."""
MOST_OF_TERM = 3
"""Words of a term, such as "not known", that the program's own texts may print by chance; more are no chance."""
_WORD = re.compile(r"\w+(?:[.@+'’-]\w+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")
_REMARK = re.compile(r'^\s*"""(?:.|\n)*?"""|\s#.*$', re.MULTILINE)
"""Docstrings and comments, which are never printed."""
_NO_REPORT = ("cli", "comparison", "demo", "desk", "lab", "operations", "starter")
"""Folders of the package whose texts are in no release."""


def words_of(text: str) -> list[str]:
    """Words of a text in their order, without case."""
    return _WORD.findall(_THOUSANDS.sub("", unicodedata.normalize("NFKC", text)).casefold())


def phrase(text: str) -> str:
    """First words of a value, as :func:`phrases` finds them in a text.

    Empty if they are too common to be looked for.
    """
    found = words_of(text)[:MOST_WORDS]
    return " ".join(found) if is_telling(found) else ""


def phrases(text: str) -> Iterator[str]:
    """Runs of up to :data:`MOST_WORDS` words that a value could be."""
    words = words_of(text)
    for first in range(len(words)):
        for end in range(first + 1, min(first + MOST_WORDS, len(words)) + 1):
            if is_telling(words[first:end]):
                yield " ".join(words[first:end])


def is_telling(words: list[str]) -> bool:
    """True if words are those of few texts.

    They are no short number, date, single letter or term of the program. A number tells where it has
    :data:`LEAST_DIGITS` to :data:`MOST_DIGITS` significant digits. A term is up to :data:`MOST_OF_TERM` words
    that the program itself uses.
    """
    if len(words) <= MOST_OF_TERM and all(word in vocabulary() for word in words):
        return False
    whole = " ".join(words)
    if any(character.isalpha() for character in whole):
        return len(whole) > 1
    digits = "".join(filter(str.isdigit, whole)).strip("0")
    return LEAST_DIGITS <= len(digits) <= MOST_DIGITS and _DATE.fullmatch(whole) is None


@cache
def vocabulary() -> frozenset[str]:
    """Words of the program's own texts, metrics and options."""
    found: set[str] = set()
    for path in sorted(Path(__file__).parents[1].rglob("*")):
        if path.suffix not in (".py", ".html", ".yaml") or set(_NO_REPORT) & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            text = _REMARK.sub("", text)
        found.update(_WORD.findall(text.casefold()), _WORD.findall(text.casefold().replace("_", " ")))
    return frozenset(found)


def printed_texts(path: Path) -> Iterator[str]:
    """Texts that a reader of a file sees, one by one.

    Text nodes and titles of HTML, keys and values of JSON, lines of any other text.
    """
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        yield from _Texts(content).found
    elif path.suffix in (".json", ".jsonld"):
        yield from scalars(json.loads(content))
    else:
        yield from content.splitlines()


def scalars(content: object) -> Iterator[str]:
    """Keys and values of nested mappings and lists, as texts."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield str(key)
            yield from scalars(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from scalars(value)
    elif content is not None:
        yield str(content)


class _Texts(HTMLParser):
    """Text nodes of an HTML document, and attributes that are shown."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._hidden = False
        self.feed(content)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden = tag in ("style", "script")
        self.found += [value for name, value in attrs if name in ("title", "alt", "aria-label", "content") and value]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.found.append(data)


def all_phrases(texts: Iterable[str]) -> set[str]:
    """Phrases of several texts."""
    return {one for text in texts for one in phrases(text)}
