"""Releases of this installation, verified with its keys and ledger."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from hybrid.base.errors import Problem
from hybrid.publication.folder import Release, releases_in
from hybrid.publication.ledger import Ledger
from hybrid.publication.signing.keyring import signing_keys
from hybrid.publication.verify import verify


def verify_own(release_dir: Path, ledger: Ledger) -> list[Problem]:
    """List every problem of a release of this installation.

    Its signature must be of one of the installation's keys. Only a release that the ledger holds from before the
    first key may be unsigned.

    Parameters
    ----------
    release_dir : Path
        A release's folder, named as it was published.
    ledger : Ledger
        The ledger, in the private zone that holds the keys.
    """
    keys = signing_keys(ledger.path.parent)
    made = {entry.release: entry.created for entry in ledger.entries()}.get(release_dir.name)
    if keys and made is not None and datetime.fromisoformat(made) < datetime.fromisoformat(keys[0].made):
        keys = ()
    return verify(release_dir, [key.public for key in keys])


def newest_own(releases_dir: Path, ledger: Ledger, data_set: str) -> Release | None:
    """Newest release of a data set.

    None if there is none that is not withdrawn, or it was changed.

    The folder's ``latest`` may belong to another data set. The ledger, not the clock, gives the order.
    """
    order = {release: at for at, release in enumerate(ledger.outs(data_set))}
    gone = {found.release for found in ledger.withdrawals()}
    own = [
        found
        for found in releases_in(releases_dir)
        if found.certificate.get("name") == data_set and found.path.name not in gone
    ]
    newest = max(own, key=lambda found: (order.get(found.path.name, -1), found.made), default=None)
    return None if newest is None or verify_own(newest.path, ledger) else newest
