"""Finished rows on disk: one line of JSON each, appended whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hybrid.base.errors import OutputError

ROWS = "rows.jsonl"


class Rows:
    """The rows of a comparison that are done.

    A line counts once its line end is written; what a killed process left of a line is cut off before the next.

    Parameters
    ----------
    path : Path
        The file; made when the first row is appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, dict[str, Any]]:
        """Rows by the key they were appended with; of several with one key, the last."""
        if not self.path.exists():
            return {}
        found = {}
        for line in self.path.read_bytes().split(b"\n")[:-1]:
            try:
                content = json.loads(line)
                found[content["key"]] = content["row"]
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def append(self, key: str, row: dict[str, Any]) -> None:
        """Add one row; it is on the disk when this returns.

        Raises
        ------
        OutputError
            It could not be written.
        """
        line = json.dumps({"key": key, "row": row}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as stream:
                _cut_unfinished(stream.fileno())
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror})", hint="free some space") from None


def _cut_unfinished(handle: int) -> None:
    """Cut the file after its last line end."""
    end = os.fstat(handle).st_size
    while end and os.pread(handle, 1, end - 1) != b"\n":
        step = min(end, 65536)
        block = os.pread(handle, step, end - step)
        end = end - step + block.rfind(b"\n") + 1 if b"\n" in block else end - step
    os.ftruncate(handle, end)
