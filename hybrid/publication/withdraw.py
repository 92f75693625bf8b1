"""Withdrawal of a release, and removal of older ones.

A withdrawn release stays, verifiable and marked, and ``latest`` no longer names it. The ledger remembers the withdrawal
first, so that one that was cut off is completed by the next call. The mark in the release's folder tells readers; it is
not signed, and is missing in copies that were fetched earlier.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from hybrid.base import atomic
from hybrid.base.atomic import remove
from hybrid.base.errors import ConfigError
from hybrid.base.os_account import account
from hybrid.base.sentence import sentence
from hybrid.publication.approvers import clean_name, clean_text
from hybrid.publication.folder import LATEST, MARK_FORMAT, WITHDRAWN, named_latest, opened, releases_in
from hybrid.publication.ledger import Delivery, Ledger, Withdrawal
from hybrid.publication.own_release import OwnReleases, repair_latest


@dataclass(frozen=True)
class Withdrawn:
    """A withdrawal and what follows from it."""

    withdrawal: Withdrawal
    latest: str | None
    """Release that ``latest`` names now; None: there is none that could stay."""
    deliveries: tuple[Delivery, ...]
    """Copies elsewhere, which nobody but their readers can remove."""


def withdraw(release: str, releases_dir: Path, private_dir: Path, by: str, reason: str) -> Withdrawn:
    """Withdraw a release.

    Parameters
    ----------
    releases_dir, private_dir : Path
        The public and the private zone.
    by, reason : str
        Who withdraws it and why; both are in the mark, which readers see.

    Returns
    -------
    Withdrawn
        For a release that was withdrawn before, with the name and reason of then.

    Raises
    ------
    ConfigError
        There is no such release in the folder or in the ledger; a name or a reason is missing or cannot be used.
    OutputError
        The folder or the ledger cannot be written; the next call completes what is missing.
    """
    name, why = clean_name(by, "--by"), clean_text(reason, "--reason")
    if not why:
        raise ConfigError("withdrawing a release needs a reason", hint="give --reason; readers see it")
    ledger = Ledger(private_dir)
    with opened(releases_dir):
        ledger.settle(releases_dir)
        before = OwnReleases(releases_dir, ledger)
        if release not in before.names():
            where = releases_dir if release in before.entries else ledger.path
            raise ConfigError(f"{where}: there is no release {release}", hint="hybrid status lists them")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        given = ledger.withdraw(releases_dir, Withdrawal(release, at, name, why, account()))
        _mark(releases_dir / release, given)
        latest = _move_latest(releases_dir, ledger)
        if release not in before.withdrawals:
            said = sentence("event.run", run=release, by=given.by, reason=given.reason)
            out = sentence("event.out", found=said, name=latest) if latest else sentence("event.none_out", found=said)
            ledger.note(before.entries[release].data_set, "withdrawn", out)
    return Withdrawn(given, latest, tuple(ledger.deliveries(release)))


def _mark(release: Path, given: Withdrawal) -> None:
    """Write the mark into the folder of a release, whole and read-only.

    A folder in its place, which this program never makes, moves aside, out of the release.
    """
    if (release / WITHDRAWN).is_dir() and not (release / WITHDRAWN).is_symlink():
        (release / WITHDRAWN).rename(release.with_name(f"{release.name}-found-{secrets.token_hex(4)}"))
    about = {key: value for key, value in asdict(given).items() if key != "account"}
    with atomic.workplace(release.parent) as hidden:
        temporary = hidden / WITHDRAWN
        atomic.write_json(temporary, {"format": MARK_FORMAT} | about)
        temporary.chmod(0o444)
        temporary.replace(release / WITHDRAWN)
        atomic.sync(release)


def _move_latest(releases_dir: Path, ledger: Ledger) -> str | None:
    """Let ``latest`` name the release before; without one remove it."""
    own = OwnReleases(releases_dir, ledger)
    repair_latest(own)
    if own.right_latest() is None and named_latest(releases_dir) is not None:
        (releases_dir / LATEST).unlink()
        atomic.sync(releases_dir)
    return own.right_latest()


@dataclass(frozen=True)
class Retention:
    """Releases that go, that stay, and that are left as they are."""

    removed: tuple[str, ...]
    """True releases of this installation that are older than those kept, the oldest first."""
    kept: tuple[str, ...]
    """The others, the oldest first."""
    left: tuple[str, ...]
    """Releases that were changed, and folders that this installation did not publish: nobody removes them."""


def retain(
    releases_dir: Path, private_dir: Path, keep: int, agreed: Callable[[Retention], bool] = lambda _: True
) -> Retention:
    """Remove all but the newest releases.

    Age is the order of the ledger, never a date in a folder or of a clock. Counted and removed is only what the ledger
    holds and what is, byte by byte, as it was published.

    Parameters
    ----------
    releases_dir, private_dir : Path
        The public and the private zone.
    keep : int
        How many of the newest stay, 1 or more; withdrawn ones are not counted. The one ``latest`` names stays too.
    agreed : callable
        Asked once before anything is removed; False: nothing is.
    """
    if keep < 1:
        raise ConfigError(f"keep is {keep}; at least one release must stay", hint="set keep to 1 or more")
    with opened(releases_dir):
        ledger = Ledger(private_dir)
        ledger.settle(releases_dir)
        own = OwnReleases(releases_dir, ledger)
        if not own.names() and releases_in(releases_dir):
            raise ConfigError(
                f"{ledger.path} holds none of the releases in {releases_dir}; nothing was removed",
                hint="name the private zone they were made with (--work)",
            )
        true = [name for name in own.names() if not own.problems(name)]
        counted = [name for name in true if name not in own.withdrawals][-keep:]
        older = true[: true.index(counted[0])] if counted else []
        removed = tuple(name for name in older if name != named_latest(releases_dir))
        kept = tuple(name for name in true if name not in removed)
        left = (*(name for name in own.names() if name not in true), *own.foreign())
        found = Retention(removed, kept, left)
        if removed and not agreed(found):
            return Retention((), tuple(true), left)
        for name in removed:
            remove(releases_dir / name)
    return found
