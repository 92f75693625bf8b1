"""State of the releases, for operators and monitors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hybrid.base.errors import Problem
from hybrid.base.sentence import sentence
from hybrid.publication.folder import named_latest, read_mark
from hybrid.publication.ledger import Ledger, LedgerEntry, LedgerEvent, Withdrawal
from hybrid.publication.nights import HeldRun, approve_hint, cut_off_nights, held_runs
from hybrid.publication.own_release import LOOKED_BYTES, OwnReleases
from hybrid.publication.privacy_account import PaidDraws, SpentBudget

_HINTS = {
    "refused": "see the report of the run; the same data, method and policy are not drawn again",
    "stopped": "see the message; nothing was published",
    "failed": "see the log of the night; the next one tries again",
}
"""What to do about the last night of a data set that ended so."""
_AFTER = "the next night continues from what it had finished; to have that now: hybrid nightly CONFIG"
_COMPLETE = "complete it: hybrid withdraw"


@dataclass(frozen=True)
class State:
    """Releases, events and problems."""

    latest: str | None
    """Name of the release of this installation that ``latest`` points to; None where it points elsewhere."""
    releases: tuple[LedgerEntry, ...]
    """All releases of the ledger, oldest first."""
    events: tuple[LedgerEvent, ...]
    """The newest twenty, oldest of them first."""
    problems: tuple[Problem, ...]
    """Reasons to look; empty if there is no problem."""
    waiting: tuple[Problem, ...] = ()
    """Runs that wait for an approval, and how to give it."""
    withdrawn: tuple[Withdrawal, ...] = ()
    """All withdrawals, oldest first."""
    budgets: tuple[SpentBudget, ...] = ()
    """Privacy budgets that draws have spent, by people and protected unit."""
    looked: str = ""
    """How many releases were looked at, and how closely."""
    foreign: tuple[str, ...] = ()
    """Folders among the releases that the ledger does not hold."""


def releases_state(
    releases_dir: Path, private_dir: Path, data_set: str | None, now: datetime, max_age_hours: float | None = None
) -> State:
    """Read the state of the releases from their folder and the ledger.

    Without ``data_set``, of all. ``now`` has a time zone. ``max_age_hours`` is the oldest that the last release, or the
    last night that kept it, may be.
    """
    ledger = Ledger(private_dir)
    own = OwnReleases(releases_dir, ledger)
    known = list(own.entries.values())
    entries = tuple(entry for entry in known if data_set in (None, entry.data_set))
    events = tuple(ledger.events(data_set))
    look = own.inspect(LOOKED_BYTES)
    cut_off = cut_off_nights(private_dir, data_set)
    nights = [Problem(f"{name}: the night that began {began} was cut off", _AFTER) for name, began in cut_off.items()]
    last = ledger.last_events(data_set)
    held = {found.data_set: found for found in held_runs(private_dir, data_set) if found.is_open(known)}
    waiting = tuple(_waiting(held, last))
    problems = [
        *nights,
        *look.problems,
        *_unfinished(own),
        *_too_old(own, events, now, max_age_hours),
        *_ended_badly(last),
    ]
    is_used = bool(events or known or problems or max_age_hours is not None or data_set is not None)
    if is_used and not own.names() and not waiting:
        problems.insert(0, Problem(f"{releases_dir}: there is no release", "hybrid release CONFIG"))
    return State(
        latest=next((name for name in own.names() if name == named_latest(releases_dir)), None),
        releases=entries,
        events=events,
        problems=tuple(problems),
        waiting=waiting,
        withdrawn=tuple(own.withdrawals.values()),
        budgets=tuple(PaidDraws(private_dir).spent(now)),
        looked=look.words,
        foreign=tuple(own.foreign()),
    )


def _waiting(held: Mapping[str, HeldRun], last: list[LedgerEvent]) -> Iterator[Problem]:
    for name, run in held.items():
        if run.outcome == "waiting":
            yield Problem(_since(name, run.message, run.since), approve_hint(run.run))
    for event in last:
        if event.outcome == "waiting" and (event.data_set not in held or held[event.data_set].outcome == "refused"):
            yield Problem(_since(event.data_set, event.message, event.at), approve_hint("RUN"))


def _since(name: str, message: str, since: str) -> str:
    return sentence("night.pending", name=name, message=message, day=since[:10])


def _ended_badly(last: list[LedgerEvent]) -> Iterator[Problem]:
    for event in last:
        if event.outcome in _HINTS:
            yield Problem(
                sentence("night.last", name=event.data_set, outcome=event.outcome, message=event.message),
                _HINTS[event.outcome],
            )


def _unfinished(own: OwnReleases) -> Iterator[Problem]:
    for name in sorted(own.withdrawals.keys() & {*own.names()}):
        if name == named_latest(own.folder):
            yield Problem(f"{name} is withdrawn, and still the latest", f"{_COMPLETE} {name}")
        if read_mark(own.folder / name) is None:
            yield Problem(f"{name} is withdrawn, and its mark is missing", f"{_COMPLETE} {name}")


def _too_old(
    own: OwnReleases, events: tuple[LedgerEvent, ...], now: datetime, max_age_hours: float | None
) -> Iterator[Problem]:
    good = [event.at for event in events if event.outcome in ("released", "kept")]
    newest = max([*good, *(own.entries[name].created for name in own.not_withdrawn()[-1:])], default=None)
    if newest is None or max_age_hours is None:
        return
    if (now - datetime.fromisoformat(newest)).total_seconds() > max_age_hours * 3600:
        yield Problem(f"the last good night was {newest[:16]}, more than {max_age_hours:g} hours ago", "see the events")
