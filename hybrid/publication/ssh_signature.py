"""Signatures of OpenSSH (``ssh-keygen -Y sign``) with Ed25519 keys, verified.

The format is that of PROTOCOL.sshsig in OpenSSH's sources; the encoding of strings that of RFC 4251, section 5; the
keys and signatures those of RFC 8709. Only Ed25519 is accepted.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode, b64encode

ALGORITHM = "ssh-ed25519"
_MAGIC = b"SSHSIG"
_VERSION = 1
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_KEY_BYTES, _SIGNATURE_BYTES, _LENGTH_BYTES = 32, 64, 4


class SignatureProblem(ValueError):
    """A signature or a key cannot be accepted; the text says why."""


def parse_public_key(line: str) -> bytes:
    """Read a public key as OpenSSH writes it.

    Parameters
    ----------
    line : str
        Such as ``"ssh-ed25519 AAAA... comment"``: the content of a ``.pub`` file.

    Returns
    -------
    bytes
        Its encoded form, as in a signature.

    Raises
    ------
    SignatureProblem
        It is no Ed25519 key.
    """
    words = line.split()
    if len(words) < 2 or words[0] != ALGORITHM:
        raise SignatureProblem(f"the key is not of the kind {ALGORITHM}")
    blob = _decoded(words[1])
    _raw_key(blob)
    return blob


def key_fingerprint(public_key: bytes) -> str:
    """SHA-256 of an encoded key, as ``ssh-keygen -l`` shows it."""
    return "SHA256:" + b64encode(hashlib.sha256(public_key).digest()).decode().rstrip("=")


def verify_signature(message: bytes, armored: str, public_key: bytes, namespace: str) -> None:
    """Verify the signature of a message.

    Parameters
    ----------
    message : bytes
        What was signed, to the last byte.
    armored : str
        Content of the ``.sig`` file.
    public_key : bytes
        Of the expected signer, as :func:`parse_public_key` gives it. The key in the signature itself proves nothing.
    namespace : str
        What the signature is for; one for another purpose is not accepted.

    Raises
    ------
    SignatureProblem
        It is damaged, by another key, for another purpose, or of another message.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signer, purpose, reserved, algorithm, signature = _parts(armored)
    if signer != public_key:
        raise SignatureProblem(f"it was made with another key ({key_fingerprint(signer)})")
    if purpose != namespace.encode():
        raise SignatureProblem(f"it was made for another purpose: ssh-keygen -Y sign -n {namespace}")
    if algorithm not in _HASHES:
        raise SignatureProblem("it uses a hash that is not supported")
    kind, raw = _strings(signature, 2)
    if kind != ALGORITHM.encode() or len(raw) != _SIGNATURE_BYTES:
        raise SignatureProblem(f"it is not of the kind {ALGORITHM}")
    digest = _HASHES[algorithm](message).digest()
    signed = _MAGIC + b"".join(_string(part) for part in (purpose, reserved, algorithm, digest))
    try:
        Ed25519PublicKey.from_public_bytes(_raw_key(public_key)).verify(raw, signed)
    except InvalidSignature:
        raise SignatureProblem("it is not of this text: the text or the signature was changed") from None


def _parts(armored: str) -> list[bytes]:
    """Public key, namespace, reserved, hash algorithm and signature."""
    begin, end = armored.find(_BEGIN), armored.find(_END)
    if begin < 0 or end < begin:
        raise SignatureProblem("this is not a signature by ssh-keygen -Y sign")
    content = _decoded("".join(armored[begin + len(_BEGIN) : end].split()))
    head = _MAGIC + _VERSION.to_bytes(_LENGTH_BYTES, "big")
    if not content.startswith(head):
        raise SignatureProblem("this is not a signature of version 1")
    return _strings(content[len(head) :], 5)


def _raw_key(blob: bytes) -> bytes:
    kind, raw = _strings(blob, 2)
    if kind != ALGORITHM.encode() or len(raw) != _KEY_BYTES:
        raise SignatureProblem(f"the key is not of the kind {ALGORITHM}")
    return raw


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SignatureProblem("it is damaged") from None


def _string(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH_BYTES, "big") + content


def _strings(content: bytes, count: int) -> list[bytes]:
    """Split so many length-prefixed strings, with nothing after them."""
    found = []
    for _ in range(count):
        size = int.from_bytes(content[:_LENGTH_BYTES], "big")
        if len(content) < _LENGTH_BYTES + size:
            raise SignatureProblem("it is damaged")
        found.append(content[_LENGTH_BYTES : _LENGTH_BYTES + size])
        content = content[_LENGTH_BYTES + size :]
    if content:
        raise SignatureProblem("it is damaged")
    return found
