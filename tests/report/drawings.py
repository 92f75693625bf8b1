"""The figures of the report's pages, one per line, as text to compare.

``REDRAW=1 pytest tests/report/test_drawings.py`` writes them anew after a figure was changed on purpose: look at the
difference.
"""

from __future__ import annotations

import re
from pathlib import Path

KEPT = Path(__file__).parents[1] / "data" / "drawings.txt"


def drawings(*pages: str) -> str:
    """All figures of the pages in their order."""
    found = [figure for page in pages for figure in re.findall(r"<svg\b.*?</svg>", page, re.DOTALL)]
    return "".join(re.sub(r"\s+", " ", figure) + "\n" for figure in found)
