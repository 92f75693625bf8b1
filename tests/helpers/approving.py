"""Approvals of runs, as they lie in the ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hybrid.publication.finished_run import read_run
from hybrid.publication.ledger import Approval, Ledger


def approved(run: Path, private: Path, *names: str) -> None:
    """An approval by each of the names, from an account of their own."""
    for name in names:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        given = Approval(name, "looked at it", now, f"{name.lower()}@ward", "")
        Ledger(private).approve(read_run(run).id, given)
