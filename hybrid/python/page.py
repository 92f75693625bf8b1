"""Pages that a notebook shows inline and a file keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

HEIGHT = 700
"""Pixels of a page within a notebook."""


@dataclass(frozen=True)
class Page:
    """HTML page that loads nothing."""

    title: str
    """What it is about."""
    html: str = field(repr=False)
    """The page."""

    def write(self, path: Path | str) -> None:
        """Write the page as a file.

        Raises
        ------
        OutputError
            The folder is not writable or the disk is full.
        """
        from hybrid.base.atomic import write_text

        write_text(Path(path), self.html)

    def __repr__(self) -> str:
        return f"Page: {self.title}; shown inline by a notebook; .write(FILE) keeps it as HTML"

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {HEIGHT}px; border: 1px solid #8888"
        return f'<iframe sandbox title="{escape(self.title)}" style="{style}" srcdoc="{escape(self.html)}"></iframe>'


def chosen(pages: Iterable[tuple[str, str]], *, details: bool) -> str:
    """HTML of the page to decide by, or of that with the details, among the pages of a report."""
    from hybrid.publication.finished_run import DETAILS, REPORT

    found = dict(pages)
    return found[DETAILS if details else REPORT]
