"""Results that a person has looked at, kept as text: what is promised does not change unnoticed.

``KEEP=1 pytest TEST`` writes the text anew after it was changed on purpose: look at the difference before you commit.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "kept"


def assert_kept(name: str, text: str) -> None:
    """Compare a text with the one that is kept under a name, line by line."""
    path = FOLDER / name
    if os.environ.get("KEEP"):
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def as_text(content: Any) -> str:
    """JSON with a line per value."""
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n"


def body_lines(page: str) -> str:
    """Body of an HTML page with a line per element."""
    body = page[page.index("<body") :]
    return re.sub(r"\s+", " ", body).replace("> <", "><").replace("><", ">\n<")
