"""The documentation's pages as text: those written by hand, and those generated; notebooks without their outputs."""

from __future__ import annotations

import re
from pathlib import Path

from docs.hooks.notebooks import sources
from docs.hooks.reference import pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^( *)(```+)(\w*)[^\n]*\n(.*?)^\1\2", re.MULTILINE | re.DOTALL)


def written() -> dict[str, str]:
    """Pages written by hand, by path below ``docs/``."""
    return {page.relative_to(DOCS).as_posix(): page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))}


def everything() -> dict[str, str]:
    """All pages of the site."""
    return written() | pages() | sources()


def blocks(text: str, language: str) -> list[str]:
    """Fenced blocks of one language ("" for none)."""
    return [content for _, _, said, content in FENCE.findall(text) if said == language]


def prose(text: str) -> str:
    """The text with fenced blocks blanked out, line numbers kept."""
    return FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def anchors(text: str) -> set[str]:
    """Anchors of the headings: the one stated, else as MkDocs makes it."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", prose(text), re.MULTILINE):
        if said := re.search(r" \{#([\w-]+)\}$", heading):
            found.add(said[1])
            continue
        plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
        name, count = re.sub(r"[-\s]+", "-", plain), 0
        while (unique := name if not count else f"{name}_{count}") in found:
            count += 1
        found.add(unique)
    return found
