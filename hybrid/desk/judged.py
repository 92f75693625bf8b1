"""List of finished runs with their verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybrid.base.errors import HybridError
from hybrid.publication.difference import verdict_of
from hybrid.publication.finished_run import read_run


def judged_runs(folders: list[Path]) -> list[dict[str, Any]]:
    """One line of each; of an unfinished run the reason."""
    return [_line(folder) for folder in folders]


def _line(folder: Path) -> dict[str, Any]:
    try:
        run = read_run(folder)
        status = verdict_of(run).status
    except HybridError as error:
        return {"name": folder.name, "created": "", "status": "", "problem": error.problems[0].message}
    created = str(run.manifest["created"])[:19].replace("T", " ")
    return {"name": folder.name, "created": created, "status": status, "problem": ""}
