"""Log of the desk, one line of JSON per action."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

from hybrid.base.account import account
from hybrid.base.atomic import make_private

LOG = "desk.jsonl"
"""Name of the log in the private zone."""
MOST_REFUSED = 1_000
"""Refused requests that one desk logs; a page that floods it does not fill the disk."""


class Clicks:
    """Log in the private zone (mode 0600).

    It holds times, the account, paths and command lines: no cell value, no token.

    Parameters
    ----------
    private_dir : Path
        The private zone.
    """

    def __init__(self, private_dir: Path) -> None:
        self.path = private_dir / LOG
        self._lock = threading.Lock()
        self._refused = 0

    def note(self, method: str, path: str, command: str = "", refused: str = "") -> None:
        """Add a line.

        Parameters
        ----------
        method, path : str
            Of the request, without its query.
        command : str
            Command line with the same effect.
        refused : str
            Reason why nothing was done.
        """
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "account": account(),
            "method": method,
            "path": path[:200],
        }
        line |= {"command": command} if command else {}
        line |= {"refused": refused} if refused else {}
        with self._lock:
            self._refused += bool(refused)
            if refused and self._refused > MOST_REFUSED:
                return
            make_private(self.path.parent)
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=True) + "\n")
