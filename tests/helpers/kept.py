"""Numbers and schemas that a person has looked at, kept as text: what is promised does not change unnoticed.

Sentences are not kept: better words change no promise.
``KEEP=1 pytest TEST`` writes the text anew after it was changed on purpose: look at the difference before you commit.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from html import unescape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "kept"
SENTENCES = ("description", "sentence")


def assert_kept(name: str, text: str) -> None:
    """Compare a text with the one that is kept under a name, line by line."""
    path = FOLDER / name
    if os.environ.get("KEEP"):
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def as_text(content: Any) -> str:
    """JSON with a line per value, without sentences."""
    return json.dumps(_facts(content), indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n"


def figures(page: str) -> str:
    """Numbers that a page shows, in their order, and how many charts and tables there are, by the page's sections."""
    head, *sections = re.split(r'<section id="([\w-]+)"', page[page.index("<main") :])
    parts = {"head": head} | dict(zip(sections[::2], sections[1::2], strict=True))
    return as_text({name: _figures(html) for name, html in parts.items()})


def _figures(html: str) -> dict[str, Any]:
    text = unescape(re.sub(r"<[^>]+>", " ", html))
    numbers = " ".join(re.findall(r"[-−]?\d[\d,.:e−-]*(?<![.,:-])(?: %)?", text))
    return {"charts": html.count("<svg"), "tables": html.count("<table"), "numbers": textwrap.wrap(numbers, 110)}


def _facts(content: Any) -> Any:
    """The same content without the sentences in it; a property may be named like them."""
    if isinstance(content, dict):
        return {key: _facts(value) for key, value in content.items() if key not in SENTENCES or type(value) is not str}
    return [_facts(value) for value in content] if isinstance(content, list | tuple) else content
