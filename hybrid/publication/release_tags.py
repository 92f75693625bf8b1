"""Tags of a release, from its certificate or the ledger."""

from __future__ import annotations

from typing import NamedTuple

from hybrid.publication.folder import Release
from hybrid.publication.ledger import Ledger
from hybrid.publication.private_words import WITHHELD


class Tags(NamedTuple):
    """Keyed tags of the source, and of source and method (:mod:`hybrid.publication.key`)."""

    data: str
    release: str


def tags_of(release: Release, ledger: Ledger) -> Tags:
    """Find the tags of a release.

    Those of its certificate, or of the ledger where they are withheld; empty where neither has them.
    """
    certificate = release.certificate
    stated = certificate.get("release_tag")
    if stated != WITHHELD:
        return Tags(str((certificate.get("source") or {}).get("tag") or ""), str(stated or ""))
    entry = next((known for known in ledger.entries() if known.release == release.path.name), None)
    return Tags("", "") if entry is None else Tags(entry.data_tag, entry.release_tag)
