"""Verification of a release with its publisher's keys and ledger."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from hybrid.base.errors import Problem
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
