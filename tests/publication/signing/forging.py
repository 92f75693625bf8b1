"""What a forger does to a signed release."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

from hybrid.publication.certificate import checksum

CERTIFICATE, ENVELOPE = "certificate.json", "certificate.dsse.json"


def statement_of(release: Path) -> Any:
    """Statement in the envelope of a release."""
    return json.loads(base64.b64decode(json.loads((release / ENVELOPE).read_text())["payload"]))


def seal_by(release: Path, signer: CryptoSigner, change: Callable[[Any], None] = lambda statement: None) -> None:
    """Sign the statement, changed, with a key of one's own."""
    statement = statement_of(release)
    change(statement)
    envelope = Envelope(json.dumps(statement).encode(), "application/vnd.in-toto+json", {})
    envelope.sign(signer)
    (release / ENVELOPE).write_text(json.dumps(envelope.to_dict(), indent=2) + "\n")


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def forge(release: Path) -> None:
    """Another table, with a certificate that fits it in every entry."""
    (release / "synthetic.csv").write_text("age,income\n17,low\n")
    content = json.loads((release / CERTIFICATE).read_text())
    content["files"]["synthetic.csv"]["sha256"] = sha256(release / "synthetic.csv")
    (release / CERTIFICATE).write_text(json.dumps(content | {"checksum": checksum(content)}, indent=2) + "\n")
