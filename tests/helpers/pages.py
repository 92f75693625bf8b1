"""Text of a report: the page that people decide by, and the page with the details."""

from __future__ import annotations

from pathlib import Path


def report_text(folder: Path) -> str:
    """HTML of both pages, one after the other."""
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in ("report.html", "report-details.html"))
