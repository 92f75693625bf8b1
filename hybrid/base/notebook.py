"""Results in a notebook: the names that its completion lists, and the text or the page that it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import ClassVar

from hybrid.base.atomic import write_text


class NotebookResult:
    """Base class of results of which users need few names, and whose text is shown as it is."""

    LISTED: ClassVar[frozenset[str] | None] = None
    """Names that ``dir()`` lists; None: all public ones. The others can be used as well."""

    def __dir__(self) -> list[str]:
        public = (name for name in super().__dir__() if not name.startswith("_") and name != "LISTED")
        return [name for name in public if self.LISTED is None or name in self.LISTED]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


HEIGHT = 700
"""Pixels of a page within a notebook."""


@dataclass(frozen=True)
class Page:
    """HTML page that loads nothing."""

    title: str
    html: str = field(repr=False)

    def write(self, path: Path | str) -> None:
        """Write the page as a file; OutputError: the folder is not writable, or the disk is full."""
        write_text(Path(path), self.html)

    def __repr__(self) -> str:
        return f"Page: {self.title}; shown inline by a notebook; .write(FILE) keeps it as HTML"

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {HEIGHT}px; border: 1px solid #8888"
        return f'<iframe sandbox title="{escape(self.title)}" style="{style}" srcdoc="{escape(self.html)}"></iframe>'
