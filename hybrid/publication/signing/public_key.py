"""Public keys as PEM, and their key ids.

A key id is that of ``securesystemslib``: the SHA-256 of the key's canonical JSON (type, scheme, value). Whoever reads
the PEM file with that library arrives at the same id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from securesystemslib.signer import ECDSA_SHA2_NISTP256, ECDSA_SHA2_NISTP384, ED25519, SSlibKey

from hybrid.base.errors import ConfigError

SCHEMES = (ED25519, ECDSA_SHA2_NISTP256, ECDSA_SHA2_NISTP384)
"""Schemes of signatures: the first for keys in files and variables, the others for hardware security modules."""
_BLOCK = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)
_HINT = "give the publisher's public key: a PEM file, as hybrid keys show prints it"


def public_key(pem: bytes) -> SSlibKey:
    """Read one public key.

    Parameters
    ----------
    pem : bytes
        SubjectPublicKeyInfo: Ed25519, or ECDSA on P-256 or P-384.

    Raises
    ------
    ValueError
        It is damaged or another kind of key.
    """
    try:
        read = load_pem_public_key(pem)
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from None
    if not isinstance(read, Ed25519PublicKey | EllipticCurvePublicKey):
        raise ValueError("neither Ed25519 nor ECDSA")
    key = SSlibKey.from_crypto(read)
    if key.scheme not in SCHEMES:
        raise ValueError(f"scheme {key.scheme}")
    return key


def public_pem(key: SSlibKey) -> str:
    """PEM of a public key (SubjectPublicKeyInfo), with a newline at its end."""
    if key.scheme != ED25519:
        return str(key.keyval["public"])
    raw = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.keyval["public"]))
    return raw.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def read_public_keys(paths: Sequence[Path]) -> list[SSlibKey]:
    """Read the public keys of PEM files; a file may hold several.

    Raises
    ------
    ConfigError
        A file cannot be read, holds no public key, or holds a private one.
    """
    keys = []
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{path}: the public key cannot be read ({error.strerror})", hint=_HINT) from None
        if b"PRIVATE KEY" in content:
            raise ConfigError(f"{path}: this is a private key", hint=_HINT)
        blocks = _BLOCK.findall(content)
        if not blocks:
            raise ConfigError(f"{path}: there is no public key in PEM format", hint=_HINT)
        try:
            keys += [public_key(block) for block in blocks]
        except ValueError as error:
            raise ConfigError(f"{path}: a public key cannot be used ({error})", hint=_HINT) from None
    return keys
