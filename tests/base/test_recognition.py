"""Recognition of sentences tries few patterns: their number grows with a page's texts, not with the catalogue."""

from __future__ import annotations

import re

import pytest

from hybrid.base.language import Language, Message, NoTranslation, catalogue
from hybrid.publication.policy import load_policy, packaged_policies

GERMAN = catalogue("de")
MOST_TRIED, MOST_PIECES = 15, 30
"""Patterns that a piece of a text is compared with, on average, and pieces that a text of a few sentences has."""


class Counting:
    """How many patterns a language tries."""

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self.tried = 0
        counting = self

        class One(Message):
            @property
            def pattern(self) -> re.Pattern[str]:  # type: ignore[override]
                counting.tried += 1
                if self.english not in compiled:
                    compiled[self.english] = Message(self.english, self.translation).pattern
                return compiled[self.english]

        compiled: dict[str, re.Pattern[str]] = {}
        kept = tuple(One(one.english, one.translation) for one in messages)
        self.language = Language(GERMAN.code, GERMAN.name, kept, GERMAN.decimal, GERMAN.thousands, GERMAN.days)


def texts() -> list[str]:
    """A text with a number, and why a policy asks, for every rule of the packaged ones."""
    rules = [rule for path in packaged_policies().values() for rule in load_policy(path).all_rules]
    return [f"k is 5 but there are only {at:,} records. {rule.reason}" for at, rule in enumerate(rules)]


def counted(messages: tuple[Message, ...]) -> tuple[int, int]:
    """Patterns that the texts were compared with, and their pieces."""
    counting = Counting(messages)
    for text in texts():
        counting.language.say(text)
    return counting.tried, len(counting.language._single)


def test_a_text_is_compared_with_few_patterns() -> None:
    tried, pieces = counted(GERMAN.messages)
    assert tried <= MOST_TRIED * pieces and pieces <= MOST_PIECES * len(texts())


def test_a_larger_catalogue_costs_no_more_patterns() -> None:
    others = tuple(Message(f"sentence {at} about {{name}} here", f"Satz {at} über {{name}}") for at in range(5000))
    assert counted((*GERMAN.messages, *others)) == counted(GERMAN.messages)


def test_an_unknown_text_is_given_up_soon() -> None:
    counting = Counting(GERMAN.messages)
    unknown = "Colourless green ideas sleep furiously, and 12 of them wake. " * 20
    with pytest.raises(NoTranslation):
        counting.language.say(unknown.strip())
    assert counting.tried <= MOST_TRIED * MOST_PIECES * 20


def test_what_is_said_with_facts_tries_no_pattern() -> None:
    counting = Counting(GERMAN.messages)
    said = counting.language.say("Policy: {name}.", name="default 9")
    assert said == GERMAN.say("Policy: {name}.", name="default 9") and counting.tried == 0
