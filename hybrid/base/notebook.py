"""Results in a notebook: the names that its completion lists, and the text that it shows."""

from __future__ import annotations

from html import escape
from typing import ClassVar


class NotebookResult:
    """Base class of results of which users need few names, and whose text is shown as it is."""

    LISTED: ClassVar[frozenset[str] | None] = None
    """Names that ``dir()`` lists; None: all public ones. The others can be used as well."""

    def __dir__(self) -> list[str]:
        public = (name for name in super().__dir__() if not name.startswith("_") and name != "LISTED")
        return [name for name in public if self.LISTED is None or name in self.LISTED]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"
