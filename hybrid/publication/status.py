"""State of the releases, for operators and monitors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hybrid.base.errors import Problem
from hybrid.publication.folder import Release, latest_in
from hybrid.publication.ledger import Entry, Event, Ledger
from hybrid.publication.night_lock import cut_off_nights
from hybrid.publication.verify import verify

_AFTER = "the next night continues from what it had finished; to have that now: hybrid nightly CONFIG"


@dataclass(frozen=True)
class State:
    """Releases, events and problems."""

    latest: str | None
    """Name of the release that ``latest`` points to."""
    releases: tuple[Entry, ...]
    """All releases of the ledger, oldest first."""
    events: tuple[Event, ...]
    """The newest twenty, oldest of them first."""
    problems: tuple[Problem, ...]
    """Reasons to look; empty if there is no problem."""


def releases_state(
    releases_dir: Path, private_dir: Path, data_set: str | None, now: datetime, max_age_hours: float | None = None
) -> State:
    """Read the state of the releases from their folder and the ledger.

    Parameters
    ----------
    releases_dir, private_dir : Path
        The public and the private zone.
    data_set : str or None
        Only this one; None: all.
    now : datetime
        With a time zone.
    max_age_hours : float, optional
        The oldest that the last release, or the last night that kept it, may be.
    """
    ledger = Ledger(private_dir)
    latest = latest_in(releases_dir)
    known = ledger.entries()
    entries = tuple(entry for entry in known if data_set in (None, entry.data_set))
    events = tuple(ledger.events(data_set))
    cut_off = cut_off_nights(private_dir, data_set)
    nights = [Problem(f"{name}: the night that began {began} was cut off", _AFTER) for name, began in cut_off.items()]
    problems = (*nights, *_problems(releases_dir, latest, known, events, now, max_age_hours))
    return State(None if latest is None else latest.path.name, entries, events, problems)


def _problems(
    releases_dir: Path,
    latest: Release | None,
    entries: list[Entry],
    events: tuple[Event, ...],
    now: datetime,
    max_age_hours: float | None,
) -> Iterator[Problem]:
    if latest is None:
        yield Problem(f"{releases_dir}: there is no release", "hybrid release CONFIG")
        return
    for problem in verify(latest.path):
        yield Problem(f"{latest.path.name}: {problem.message}", problem.hint)
    if latest.path.name not in {entry.release for entry in entries}:
        yield Problem(f"{latest.path.name} is not in the ledger", "name the private zone it was made with: --work")
    good = [event.at for event in events if event.outcome in ("released", "kept")]
    newest = max([latest.created, *good])
    if max_age_hours is not None and (now - datetime.fromisoformat(newest)).total_seconds() > max_age_hours * 3600:
        yield Problem(f"the last good night was {newest[:16]}, more than {max_age_hours:g} hours ago", "see the events")
    if events and events[-1].outcome in ("refused", "waiting", "stopped", "failed"):
        yield Problem(f"the last night: {events[-1].outcome}: {events[-1].message}", "see its report")
