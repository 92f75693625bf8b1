"""Signed certificate of a release: an in-toto statement in a DSSE envelope, written, read and checked.

The statement (in-toto Attestation Framework, Statement v1) names every other file of the release with its SHA-256 as a
subject; its predicate is the content of ``certificate.json``, described by ``certificate.schema.json`` in this folder.
The envelope (DSSE v1) carries the statement and a signature over its pre-authentication encoding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from securesystemslib import exceptions as sslib_errors
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import FormatError, UnverifiedSignatureError
from securesystemslib.signer import Signature, Signer, SSlibKey

from hybrid.base.errors import HybridError, Problem, VerificationError
from hybrid.base.manifest import hash_files
from hybrid.base.ownership import CERTIFICATE
from hybrid.base.regular_file import parse_json, read_regular
from hybrid.publication.signing.keyring import SigningKey, sign_failure
from hybrid.publication.table_facts import table_files

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
        return list(self.envelope.signatures)


def signing_entry(key: SigningKey) -> dict[str, str]:
    """Entry ``signing`` of a certificate: its envelope, key and scheme."""
    return {"envelope": ENVELOPE, "keyid": key.keyid, "scheme": str(key.public.scheme)}


def write_envelope(folder: Path, certificate: Mapping[str, Any], key: SigningKey, signer: Signer) -> None:
    """Sign a release whose other files are complete.

    The last file to be written: its subjects are all files in the folder.

    Parameters
    ----------
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
    """Read the signed certificate of a release; None where there is none."""
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


SHOWN = 16
"""Digits of a key id in a message."""
_DISTRUST = "do not use it before its publisher has confirmed it"
_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-[0-9a-f]{8}")


def signature_problems(
    certificate: Mapping[str, Any], signed: SignedCertificate | None, keys: Sequence[SSlibKey]
) -> Iterator[Problem]:
    """Yield what is wrong with the signature of a release.

    ``signed`` is None where there is no envelope. Any of the publisher's ``keys`` may have signed; without keys,
    authorship is not checked.
    """
    claimed = certificate.get("signing")
    if signed is None:
        if claimed is not None:
            yield Problem(f"{ENVELOPE} is missing: the signature was removed", _FETCH)
        elif keys:
            yield Problem("the release was published without a signature", _DISTRUST)
        return
    if not signed.keyids:
        yield Problem(f"{ENVELOPE} holds no signature: it was removed", _FETCH)
    elif keys:
        yield from _key_problems(signed, keys)
    elif claimed is not None and claimed["keyid"] not in signed.keyids:
        yield Problem(
            f"{ENVELOPE} is signed by key {_shown(signed.keyids)}, {CERTIFICATE} names {claimed['keyid'][:SHOWN]}",
            _DISTRUST,
        )


def statement_problems(
    folder: Path, certificate: Mapping[str, Any], signed: SignedCertificate, files: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield contradictions of statement, certificate and folder.

    ``files`` has the SHA-256 of the files as they are, by relative path.
    """
    statement = signed.certificate
    origin = f"release {statement['release']} of {statement['created'][:10]}"
    if statement["release"] != certificate["release"]:
        yield Problem(
            f"{ENVELOPE} belongs to {origin}, {CERTIFICATE} to {certificate['release']}: a certificate was replayed",
            _FETCH,
        )
    elif statement != certificate:
        names = sorted(name for name in {*statement, *certificate} if statement.get(name) != certificate.get(name))
        yield Problem(f"{CERTIFICATE} differs from what was signed, in: {', '.join(names)}", _FETCH)
    elif _replayed(signed, files):
        yield Problem(f"the files are not those of {origin}: its certificate was replayed here", _FETCH)
    name = folder.resolve().name
    if _NAME.fullmatch(name) and name != statement["release"]:
        yield Problem(f"the folder is named {name}, its certificate is of {origin}: it was replayed here", _FETCH)
    listed = {file: about["sha256"] for file, about in statement["files"].items()}
    if listed != {file: sha256 for file, sha256 in signed.subjects.items() if file != CERTIFICATE}:
        yield Problem(f"{ENVELOPE} contradicts itself: its subjects are not the files of its certificate", _DISTRUST)


def _replayed(signed: SignedCertificate, files: Mapping[str, str]) -> bool:
    # Files of another release: neither table nor manifest is the signed one.
    marking = [name for name in ("manifest.json", *table_files(signed.certificate)) if name in signed.subjects]
    return all(name in files and files[name] != signed.subjects[name] for name in marking)


def signers(signed: SignedCertificate, keys: Sequence[SSlibKey]) -> dict[str, str]:
    """Key ids of valid signatures, by the key id each names."""
    pae = signed.envelope.pae()
    return {
        keyid: key.keyid
        for keyid, signature in signed.envelope.signatures.items()
        for key in keys
        if _valid(signature, key, pae)
    }


def _key_problems(signed: SignedCertificate, keys: Sequence[SSlibKey]) -> Iterator[Problem]:
    found, given = signers(signed, keys), [key.keyid for key in keys]
    if any(named == true for named, true in found.items()):
        return
    if found:
        named, true = next(iter(found.items()))
        yield Problem(f"{ENVELOPE} was changed: it names key {named[:SHOWN]}, and is signed by {true[:SHOWN]}", _FETCH)
    elif set(given) & set(signed.keyids):
        yield Problem(f"{ENVELOPE}: the signature does not fit: it, or what it signs, was changed", _FETCH)
    else:
        yield Problem(f"{ENVELOPE} is signed by another key: {_shown(signed.keyids)}, not {_shown(given)}", _DISTRUST)


def _valid(signature: Signature, key: SSlibKey, data: bytes) -> bool:
    try:
        key.verify_signature(Signature(key.keyid, signature.signature), data)
    except (UnverifiedSignatureError, sslib_errors.VerificationError):
        return False
    return True


def _shown(keyids: Sequence[str]) -> str:
    return ", ".join(keyid[:SHOWN] for keyid in keyids)
