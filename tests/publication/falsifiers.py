"""Sentences of a certificate, and tests that fail if one is false."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

Falsifiers = Mapping[str, Sequence[str]]
"""Tests that fail if a sentence is false, by its pattern, or by the name of its template or a beginning of it."""

NO_SENTENCES = (
    "config",
    "policy",
    "files",
    "signing",
    "code",
    "roles",
    "name",
    "release",
    "by",
    "created",
    "sentences",
)
"""Keys of a certificate below which there are names and numbers, or what fills the places of sentences that it has."""


def sentences(content: Any) -> Iterator[str]:
    """Sentences among the texts of a certificate; a text of one word is none."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key not in NO_SENTENCES:
                yield from sentences(value)
    elif isinstance(content, list):
        for value in content:
            yield from sentences(value)
    elif isinstance(content, str) and " " in content:
        yield from re.split(r"(?<=\.) (?=[A-Z])", content)


def patterns_of(sentence: str, falsifiers: Falsifiers) -> list[str]:
    """Patterns that a sentence meets as a whole."""
    return [pattern for pattern in falsifiers if re.fullmatch(pattern, sentence)]


def key_of(template: str, falsifiers: Falsifiers) -> str:
    """The longest key that a template's name is, or begins with, dot by dot; the name itself without one."""
    name = template
    while name and name not in falsifiers:
        name = name.rpartition(".")[0]
    return name or template


def faults(said: Collection[str], falsifiers: Falsifiers) -> list[str]:
    """Sentences that not exactly one pattern fits, patterns of no sentence, and falsifiers that are no tests."""
    patterns = {sentence: patterns_of(sentence, falsifiers) for sentence in sorted(said)}
    used = {pattern for found in patterns.values() for pattern in found}
    return [
        *(sentence for sentence, found in patterns.items() if len(found) != 1),
        *(pattern for pattern in falsifiers if pattern not in used),
        *no_tests(falsifiers),
    ]


def no_tests(falsifiers: Falsifiers) -> list[str]:
    """Falsifiers that are no tests."""
    named = sorted({node for nodes in falsifiers.values() for node in nodes})
    return [node for node in named if node.split("::")[1] not in _names_in(node.split("::")[0])]


@cache
def _names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(part.name for part in tree.body if isinstance(part, ast.FunctionDef))
