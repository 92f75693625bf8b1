"""Checks of a release's signature and signed statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError
from securesystemslib.signer import Signature, SSlibKey

from hybrid.base.errors import Problem
from hybrid.base.ownership import CERTIFICATE
from hybrid.publication.signing.envelope import ENVELOPE, SignedCertificate
from hybrid.publication.stated_tables import table_files

SHOWN = 16
"""Digits of a key id in a message."""
_FETCH = "fetch the release again from its publisher"
_DISTRUST = "do not use it before its publisher has confirmed it"
_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-[0-9a-f]{8}")


def signature_problems(
    certificate: Mapping[str, Any], signed: SignedCertificate | None, keys: Sequence[SSlibKey]
) -> Iterator[Problem]:
    """Yield what is wrong with the signature of a release.

    Parameters
    ----------
    certificate : mapping
        Content of ``certificate.json``.
    signed : SignedCertificate or None
        The envelope; None where there is none.
    keys : sequence of SSlibKey
        Public keys of the publisher; any of them may have signed. None: authorship is not checked.
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

    Parameters
    ----------
    folder : Path
        The release's folder.
    certificate : mapping
        Content of ``certificate.json``.
    signed : SignedCertificate
        The envelope.
    files : mapping of str to str
        SHA-256 of the files as they are, by relative path.
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
    """True if a certificate and its envelope lie with other files.

    Neither table nor manifest is the signed one.
    """
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
    """True if a key made a signature, under whatever key id."""
    try:
        key.verify_signature(Signature(key.keyid, signature.signature), data)
    except (UnverifiedSignatureError, VerificationError):
        return False
    return True


def _shown(keyids: Sequence[str]) -> str:
    return ", ".join(keyid[:SHOWN] for keyid in keyids)
