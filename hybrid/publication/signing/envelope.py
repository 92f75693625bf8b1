"""Signed certificate of a release: an in-toto statement in a DSSE envelope.

The statement (in-toto Attestation Framework, Statement v1) names every other file of the release with its SHA-256 as a
subject; its predicate is the content of ``certificate.json``, described by ``certificate.schema.json`` in this folder.
The envelope (DSSE v1) carries the statement and a signature over its pre-authentication encoding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import FormatError
from securesystemslib.signer import Signer

from hybrid.base.errors import HybridError, VerificationError
from hybrid.base.manifest import hash_files
from hybrid.base.regular_file import parse_json, read_regular
from hybrid.publication.signing.keyring import SigningKey
from hybrid.publication.signing.sources import sign_failure

ENVELOPE = "certificate.dsse.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_FETCH = "fetch the release again from its publisher"
PREDICATE_TYPE = "urn:hybrid-release:certificate:1"
"""Type and version of the predicate. New entries keep it; an entry that changes its meaning raises the number."""


@dataclass(frozen=True)
class SignedCertificate:
    """Envelope of a release and the statement in it, unverified."""

    envelope: Envelope
    subjects: Mapping[str, str]
    """SHA-256 of each file of the release but the envelope, by relative path."""
    certificate: Mapping[str, Any]
    """The predicate."""

    @property
    def keyids(self) -> list[str]:
        """Key ids that the signatures name."""
        return list(self.envelope.signatures)


def signing_entry(key: SigningKey) -> dict[str, str]:
    """Entry ``signing`` of a certificate: its envelope, key and scheme."""
    return {"envelope": ENVELOPE, "keyid": key.keyid, "scheme": str(key.public.scheme)}


def write_envelope(folder: Path, certificate: Mapping[str, Any], key: SigningKey, signer: Signer) -> None:
    """Sign a release whose other files are complete.

    The last file to be written: its subjects are all files in the folder.

    Parameters
    ----------
    folder : Path
        The release's folder, which holds no envelope yet.
    certificate : mapping
        Content of ``certificate.json``, of JSON types.
    key, signer
        As :func:`hybrid.publication.signing.keyring.release_signer` gives them.

    Raises
    ------
    OutputError
        The key cannot be used, or its signature does not verify under its public half. Nothing was written.
    """
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": name, "digest": {"sha256": about["sha256"]}} for name, about in hash_files(folder).items()
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": certificate,
    }
    payload = json.dumps(statement, ensure_ascii=False, separators=(",", ":")).encode()
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    try:
        key.public.verify_signature(envelope.sign(signer), envelope.pae())
    except HybridError:
        raise
    except Exception as error:  # noqa: BLE001 - each module of a token has errors of its own
        raise sign_failure(key.source, error) from None
    (folder / ENVELOPE).write_bytes(_serialized(envelope))


def read_envelope(folder: Path) -> SignedCertificate | None:
    """Read the signed certificate of a release; None where there is none.

    Raises
    ------
    VerificationError
        It is damaged, or not written as :func:`write_envelope` writes it: every byte of the file counts.
    """
    path = folder / ENVELOPE
    if not path.exists() and not path.is_symlink():
        return None
    try:
        content = read_regular(path)
        envelope = Envelope.from_dict(parse_json(content))
        statement = parse_json(envelope.payload)
        kind = envelope.payload_type, statement["_type"], statement["predicateType"]
        subjects = {subject["name"]: str(subject["digest"]["sha256"]) for subject in statement["subject"]}
        signed = SignedCertificate(envelope, subjects, dict(statement["predicate"]))
        complete = len(subjects) == len(statement["subject"])
    except OSError:
        raise VerificationError(f"{ENVELOPE} was changed: it is no plain file", hint=_FETCH) from None
    except (ValueError, LookupError, TypeError, AttributeError, FormatError):
        raise VerificationError(f"{ENVELOPE} is damaged", hint=_FETCH) from None
    if kind != (PAYLOAD_TYPE, STATEMENT_TYPE, PREDICATE_TYPE):
        raise VerificationError(
            f"{ENVELOPE} holds {kind[2]} in {kind[1]} as {kind[0]}; this version reads {PREDICATE_TYPE}",
            hint="use a newer version",
        )
    if not complete or content != _serialized(envelope):
        raise VerificationError(f"{ENVELOPE} was changed", hint=_FETCH)
    return signed


def _serialized(envelope: Envelope) -> bytes:
    return (json.dumps(envelope.to_dict(), indent=2) + "\n").encode()
