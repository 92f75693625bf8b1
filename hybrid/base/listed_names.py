"""Names that ``dir()``, and by it a notebook's completion, lists of a result."""

from __future__ import annotations

from typing import ClassVar


class ListedNames:
    """Base class of results of which users need few names."""

    LISTED: ClassVar[frozenset[str] | None] = None
    """Names that are listed; None: all public ones. The others can be used as well."""

    def __dir__(self) -> list[str]:
        public = (name for name in super().__dir__() if not name.startswith("_") and name != "LISTED")
        return [name for name in public if self.LISTED is None or name in self.LISTED]
