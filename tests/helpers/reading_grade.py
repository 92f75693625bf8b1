"""Reading grade of English text."""

from __future__ import annotations

import re


def syllables(word: str) -> int:
    """Syllables of a word: groups of vowels, without a silent final e; at least one."""
    letters = word.lower()
    groups = re.findall(r"[aeiouy]+", letters)
    silent = letters.endswith("e") and not letters.endswith(("le", "ee")) and len(groups) > 1
    return max(len(groups) - silent, 1)


def reading_grade(text: str) -> float:
    """The Flesch-Kincaid grade (Kincaid et al. 1975): .39 words/sentence + 11.8 syllables/word - 15.59."""
    sentences = [part for part in re.split(r"[.!?:;](?:\s|$)", text) if re.search(r"[A-Za-z]", part)]
    words = re.findall(r"[A-Za-z]+(?:[-'][A-Za-z]+)*", text)
    return 0.39 * len(words) / len(sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59
