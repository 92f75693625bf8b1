"""Seal of a run: keyed hash of its manifest.

HMAC-SHA256 under a key of the private zone.

The manifest lists the SHA-256 of every other file of the run: tables, evaluation, report, and the policy with the
number and the roster of its approvers. Who can write the folder of a run, and has no key, can therefore exchange
nothing unnoticed. That the table was drawn from this source under this policy, with these numbers, is compared with the
ledger too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybrid.base.errors import VerificationError
from hybrid.publication.count_draws import is_counted
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.key import release_key

SEAL = "seal"
"""Entry of the manifest."""


def sealed(manifest: Mapping[str, Any], private_dir: Path) -> dict[str, Any]:
    """The manifest of a run with its seal.

    Parameters
    ----------
    manifest : mapping
        Of JSON types, complete.
    private_dir : Path
        The private zone with the release key, which is created there if needed.

    Raises
    ------
    OutputError
        The key cannot be made or read.
    """
    plain: dict[str, Any] = json.loads(json.dumps(manifest))
    return plain | {SEAL: _seal(plain, release_key(private_dir))}


def check_seal(run: FinishedRun, private_dir: Path) -> None:
    """Refuse a run of another private zone, or changed since.

    Raises
    ------
    VerificationError
        There is no seal, it does not match the manifest, or the ledger has not counted this table as a draw of this
        source under this policy.
    """
    manifest = dict(run.manifest)
    found = manifest.pop(SEAL, None)
    if found is None:
        raise VerificationError(
            f"{run.folder}: the run has no seal of a private zone; nothing was published",
            hint="a trial of a comparison has none: draw it again with hybrid release CONFIG",
        )
    if not hmac.compare_digest(str(found), _seal(manifest, release_key(private_dir))):
        raise VerificationError(
            f"{run.folder}: the seal does not match: the run was changed, or was written with another private zone; "
            "nothing was published",
            hint="name the private zone it was written with (--work), or draw it again",
        )
    if not is_counted(private_dir, run):
        raise VerificationError(
            f"{run.folder}: the ledger knows no draw of this table from this source under this policy",
            hint="draw it again with hybrid release CONFIG",
        )


def _seal(manifest: Mapping[str, Any], key: bytes) -> str:
    own = hmac.new(key, b"seal of runs", hashlib.sha256).digest()
    text = json.dumps(manifest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hmac.new(own, text.encode(), hashlib.sha256).hexdigest()
