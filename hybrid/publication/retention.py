"""Removal of older releases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hybrid.base.atomic import remove
from hybrid.base.errors import ConfigError
from hybrid.publication.folder import named_latest, opened, releases_in
from hybrid.publication.ledger import Ledger
from hybrid.publication.own_release import OwnReleases


@dataclass(frozen=True)
class Retention:
    """Releases that go, that stay, and that are left as they are.

    Parameters
    ----------
    removed : tuple of str
        True releases of this installation that are older than those kept, the oldest first.
    kept : tuple of str
        The others, the oldest first.
    left : tuple of str
        Releases that were changed, and folders that this installation did not publish: nobody removes them.
    """

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    left: tuple[str, ...]


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

    Raises
    ------
    ConfigError
        ``keep`` is below 1, or there are folders with certificates and the ledger holds none of them.
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
