"""Part of a page that a benchmark makes, between two comments."""

from __future__ import annotations

from pathlib import Path

END = "<!-- end -->"


def write_part(page: Path | None, script: str, text: str) -> None:
    """Replace the part of a page that ``benchmarks/{script}.py`` makes; without a page, print it."""
    if page is None:
        print(text)
        return
    begin = f"<!-- made by benchmarks/{script}.py -->"
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    page.write_text(f"{head}{begin}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
