"""Phrases that readers did not understand do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_AGAIN = {
    r"What is not known is not a pass": "Not measured, so not passed.",
    r"made from records of people": "say whether the rows are synthetic",
    r"at most \S+ more (records )?than of people": "measured, not ruled out, allowed",
    r"room by room": "step by step",
    r"Persons that can have made a restored row": "For a restored row, N real persons agree",
    r"A person must decide: at least one": "Your decision is needed. Of the policy's rules, N are not met",
    r"leaks of known size the verdict would have noticed": "say it at once",
    r"holds aggregates only, each number with interval and reference": "Each number comes with its uncertainty",
}
"""Patterns, and what to write instead."""
PLACES = ("hybrid/publication", "hybrid/report", "hybrid/cli", "flows", "README.md", "docs/concepts", "docs/index.md")


def texts() -> dict[str, str]:
    files = [
        found
        for place in PLACES
        for found in ((ROOT / place).rglob("*") if (ROOT / place).is_dir() else [ROOT / place])
    ]
    kinds = (".py", ".html", ".md", ".yaml", ".js")
    return {str(path): " ".join(path.read_text(encoding="utf-8").split()) for path in files if path.suffix in kinds}


@pytest.mark.parametrize("pattern", NOT_AGAIN)
def test_unclear_phrases_do_not_come_back(pattern: str) -> None:
    found = texts()
    assert len(found) > 50
    assert [path for path, text in found.items() if re.search(pattern, text)] == [], NOT_AGAIN[pattern]
