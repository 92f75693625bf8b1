"""Withdrawal of a release.

It stays, verifiable and marked, and ``latest`` no longer names it.

The ledger remembers it first, so that a withdrawal that was cut off is completed by the next call. The mark in the
release's folder tells readers; it is not signed, and whoever fetched the release earlier does not have it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from hybrid.base import atomic
from hybrid.base.account import account
from hybrid.base.errors import ConfigError
from hybrid.publication.folder import (
    LATEST,
    MARK_FORMAT,
    WITHDRAWN,
    Release,
    latest_in,
    opened,
    point_latest,
    releases_in,
)
from hybrid.publication.ledger import Delivery, Ledger, Withdrawal
from hybrid.publication.names import clean_name, clean_text
from hybrid.publication.own_release import verify_own


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
    release : str
        Name of its folder.
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
        found = next((known for known in releases_in(releases_dir) if known.path.name == release), None)
        entry = next((known for known in ledger.entries() if known.release == release), None)
        if found is None or entry is None:
            where = releases_dir if found is None else ledger.path
            raise ConfigError(f"{where}: there is no release {release}", hint="hybrid status lists them")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        before = {known.release for known in ledger.withdrawals()}
        given = ledger.withdraw(releases_dir, Withdrawal(release, at, name, why, account()))
        _mark(found, given)
        latest = _move_latest(releases_dir, ledger, found, entry.data_set)
        if release not in before:
            out = "nothing is out" if latest is None else f"out is {latest}"
            ledger.note(entry.data_set, "withdrawn", f"{release} by {given.by}: {given.reason}; {out}")
    return Withdrawn(given, latest, tuple(ledger.deliveries(release)))


def _mark(release: Release, given: Withdrawal) -> None:
    """Write the mark into the folder of a release, whole and read-only."""
    about = {key: value for key, value in asdict(given).items() if key != "account"}
    with atomic.workplace(release.path.parent) as hidden:
        temporary = hidden / WITHDRAWN
        atomic.write_json(temporary, {"format": MARK_FORMAT} | about)
        temporary.chmod(0o444)
        temporary.replace(release.path / WITHDRAWN)
        atomic.sync(release.path)


def _move_latest(releases_dir: Path, ledger: Ledger, withdrawn: Release, data_set: str) -> str | None:
    """Let ``latest`` name a release that is not withdrawn.

    Of the same data set, as long as there is one.
    """
    latest = latest_in(releases_dir)
    if latest is not None and latest.path.name != withdrawn.path.name:
        return latest.path.name
    gone = {found.release for found in ledger.withdrawals()}
    order = {name: at for at, name in enumerate(ledger.outs(data_set))}
    kept = [found for found in releases_in(releases_dir) if found.path.name not in gone]
    kept.sort(key=lambda found: (found.path.name in order, order.get(found.path.name, 0), found.created), reverse=True)
    newest = next((found for found in kept if not verify_own(found.path, ledger)), None)
    if newest is None:
        (releases_dir / LATEST).unlink(missing_ok=True)
        atomic.sync(releases_dir)
        return None
    point_latest(newest.path)
    return newest.path.name
