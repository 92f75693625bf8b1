"""Statement on a table: its verdict, and whether it may be shared. And the page that shows it inline."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import NotReleasableWarning

if TYPE_CHECKING:
    from hybrid.publication.verdict import Verdict

KEY = "hybrid"
"""Entry of ``frame.attrs`` (pandas) and of the metadata of an Arrow table."""
NOT_JUDGED = "not judged"


def status_of(verdict: Verdict | None) -> dict[str, Any]:
    """Statement on a table (JSON types), without a cell value.

    Without a verdict nothing was measured.
    """
    if verdict is None:
        return {"verdict": NOT_JUDGED, "releasable": False, "open": []}
    names = [check.rule for check in verdict.open_checks]
    return {"verdict": verdict.status, "policy": verdict.policy, "releasable": verdict.status == "pass", "open": names}


def words_of(status: dict[str, Any]) -> str:
    """One sentence on a table."""
    if status["releasable"]:
        return "PASS: hybrid.release judges it again, signs and publishes it"
    if status["verdict"] == NOT_JUDGED:
        return "NOT JUDGED, and not to be shared: no attack was tried on it (.verdict tries them)"
    count = len(status["open"])
    checks = f"{count} {'check is' if count == 1 else 'checks are'} open"
    said = "no person may let it out" if status["verdict"] == "block" else "a person must decide (hybrid.release)"
    return f"{status['verdict'].upper()}, and not to be shared: {checks}; {said}"


def stated(table: Any, status: dict[str, Any]) -> Any:
    """The table with its statement, where its library has a place for one: pandas, Arrow."""
    library = type(table).__module__.partition(".")[0]
    if library == "pandas":
        table.attrs[KEY] = status
    elif library == "pyarrow":
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: json.dumps(status)})
    return table


def warn(status: dict[str, Any], words: str = "") -> None:
    """Warn of a table that may not be shared, at the line of the caller of this package."""
    if status["releasable"]:
        return
    depth, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == KEY:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(words or words_of(status), NotReleasableWarning, stacklevel=depth)


HEIGHT = 700
"""Pixels of a page within a notebook."""


@dataclass(frozen=True)
class Page:
    """HTML page that loads nothing."""

    title: str
    html: str = field(repr=False)

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

    wanted = DETAILS if details else REPORT
    return next(page for name, page in pages if name == wanted)
