"""Certificate of a release: guarantees, metrics, decisions, hashes of all files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.base.sentence import SENTENCES, sentences_in
from hybrid.publication.facts import facts_of
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.gate import DrawNumber
from hybrid.publication.private_words import SEED_NOTE as PRIVATE_SEED_NOTE
from hybrid.publication.private_words import SOURCE_NOTE, WITHHELD
from hybrid.publication.verdict import Verdict

SEED_NOTE = "withheld: with the seed the draws could be repeated, and a guess of the source confirmed"
DATA_NOTE = "HMAC-SHA256 of the source under a key that only the publisher has"


@dataclass(frozen=True)
class Acceptance:
    """Acceptance of a review: by whom, and why."""

    by: str
    reason: str
    at: str = ""
    """UTC, ISO 8601."""
    proof: str = ""
    """Key that signed it, or that the name was not proven."""


def build_certificate(
    run: FinishedRun,
    *,
    release: str,
    created: str,
    verdict: Verdict,
    draw: DrawNumber,
    acceptances: Sequence[Acceptance],
    data_tag: str,
    release_tag: str,
    files: Mapping[str, Mapping[str, Any]],
    signing: Mapping[str, str],
) -> dict[str, Any]:
    """Build the content of ``certificate.json``: the facts of the run, and what its release adds.

    Parameters
    ----------
    release, created : str
        Name of the release's folder; when it was made (UTC, ISO 8601), of a private table the day alone.
    verdict, acceptances
        What the gate said, and who accepted a review.
    draw : DrawNumber
        Number of the draw at which the verdict was reached.
    data_tag, release_tag : str
        As :mod:`hybrid.publication.key` gives them.
    files : mapping
        ``{"sha256", "bytes"}`` of every other file of the release.
    signing : mapping
        As :func:`hybrid.publication.signing.envelope.signing_entry` gives it.

    Returns
    -------
    dict
        Of JSON types; ``checksum`` is that of all other entries. It detects accidents only; the signed statement,
        which holds the same content, detects tampering.
    """
    own = {
        "release": release,
        "draw": asdict(draw) | {"words": draw.words},
        "acceptances": [asdict(acceptance) for acceptance in acceptances],
        "seed": SEED_NOTE,
        "source": {"tag": data_tag, "about": DATA_NOTE, "fingerprint": WITHHELD},
        "release_tag": release_tag,
        "files": {name: dict(about) for name, about in sorted(files.items())},
        "signing": dict(signing),
    }
    own = _private(own) if run.is_dp else own
    plain = facts_of(run, verdict, created, acceptances)
    said = plain[SENTENCES] | sentences_in(own)
    plain |= json.loads(json.dumps(own | {SENTENCES: said}))
    return plain | {"checksum": checksum(plain)}


def _private(own: Mapping[str, Any]) -> dict[str, Any]:
    """Remove what stays with the operator: draws and approvals, and tags.

    Equal tags of the source would tell that no record had changed.
    """
    return {key: value for key, value in own.items() if key != "draw"} | {
        "acceptances": [],
        "seed": PRIVATE_SEED_NOTE,
        "source": {"tag": WITHHELD, "about": SOURCE_NOTE, "fingerprint": WITHHELD},
        "release_tag": WITHHELD,
    }


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of a certificate without its entry ``checksum``, as canonical JSON (sorted keys, no spaces)."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
