"""Key ring of an installation: current and earlier signing keys, and the places of their private halves.

``signing/keys.json`` in the private zone lists the public halves, in the order in which they were used, and where each
private half is. Earlier keys stay listed, so that earlier releases can be verified; their private halves are removed
where this program made them. A key id is that of ``securesystemslib``: the SHA-256 of the key's canonical JSON (type,
scheme, value). Places of private keys:

``file:PATH``
    A PEM file (PKCS8, Ed25519) that only its owner may read. A relative path is in the folder of the key ring.
``env:NAME``
    The same content in an environment variable.
``hsm:ID?label=TOKEN``
    The URI of ``securesystemslib`` for a token with a PKCS#11 module (``PYKCS11LIB`` names its library): an ECDSA key
    on P-256 or P-384. The variable :data:`PIN_VARIABLE` holds the PIN.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlparse

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.exceptions import UnsupportedLibraryError
from securesystemslib.signer import (
    ECDSA_SHA2_NISTP256,
    ECDSA_SHA2_NISTP384,
    ED25519,
    CryptoSigner,
    HSMSigner,
    Signer,
    SSlibKey,
)

from hybrid.base.atomic import atomic_file, make_private, write_json
from hybrid.base.errors import ConfigError, HybridError, MissingExtraError, OutputError
from hybrid.base.locks import locked
from hybrid.base.ownership import CERTIFICATE

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
    """Read the public keys of PEM files; a file may hold several."""
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


PIN_VARIABLE = "HYBRID_SIGNING_PIN"
"""The environment variable that holds the PIN of a hardware security module."""
FORMS = "file:PATH, env:NAME or hsm:ID?label=TOKEN"
_PKCS8 = "openssl genpkey -algorithm ed25519 makes such a key"


def import_key(source: str, folder: Path) -> SSlibKey:
    """Public half of the key at a source as the module describes; ``folder`` is that of the key ring."""
    kind, _, rest = source.partition(":")
    if kind == "hsm":
        return _import_from_token(source)
    return _local_signer(kind, rest, folder).public_key


def open_signer(source: str, folder: Path, public: SSlibKey) -> Signer:
    """Signer for the key at a source, which must have the given public half; relative paths are in ``folder``."""
    kind, _, rest = source.partition(":")
    if kind == "hsm":
        return HSMSigner.from_priv_key_uri(source, public, _pin)
    signer = _local_signer(kind, rest, folder)
    if signer.public_key.keyid != public.keyid:
        raise ConfigError(
            f"{source} holds another key than the current one ({public.keyid[:16]})",
            hint=f"to sign with it from now on: hybrid keys rotate --from {source}",
        )
    return signer


def sign_failure(source: str, error: Exception) -> HybridError:
    """Error for a failure of the library or of a token; neither its text nor the PIN is repeated."""
    if isinstance(error, UnsupportedLibraryError):
        return MissingExtraError(f"{source} needs the extra hsm", hint="pip install 'hybrid-release[hsm]'")
    about = str(error) if type(error) is ValueError else type(error).__name__
    return OutputError(
        f"{source}: the key cannot be used ({about})",
        hint=f"check the token, PYKCS11LIB (its library) and {PIN_VARIABLE}; nothing was published",
    )


def _local_signer(kind: str, rest: str, folder: Path) -> CryptoSigner:
    if kind == "file" and rest:
        path = folder / Path(rest).expanduser()
        return _signer_of(_private_content(path), str(path))
    if kind == "env" and rest:
        content = os.environ.get(rest)
        if not content:
            raise ConfigError(f"the environment variable {rest} holds no signing key", hint=_PKCS8)
        return _signer_of(content.encode(), f"environment variable {rest}")
    raise ConfigError(f"{kind}: no such place of a signing key", hint=f"use {FORMS}")


def _private_content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise ConfigError(f"{path}: the signing key cannot be read ({error.strerror})", hint=_PKCS8) from None
    if mode & 0o077:
        raise ConfigError(f"{path}: others may read this signing key (mode {mode:04o})", hint=f"chmod 600 {path}")
    if any((parent / CERTIFICATE).exists() for parent in path.resolve().parents):
        raise ConfigError(f"{path}: a signing key must not be in a release", hint="make a new one elsewhere")
    return content


def _signer_of(pem: bytes, where: str) -> CryptoSigner:
    try:
        key = load_pem_private_key(pem, None)
    except TypeError:
        raise ConfigError(f"{where}: the signing key is encrypted", hint="openssl pkey removes the password") from None
    except ValueError:
        raise ConfigError(f"{where}: this is no private key in PEM format (PKCS8)", hint=_PKCS8) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{where}: the signing key is not an Ed25519 key", hint=_PKCS8)
    return CryptoSigner(key)


def _import_from_token(source: str) -> SSlibKey:
    uri = urlparse(source)
    label = dict(parse_qsl(uri.query)).get("label")
    try:
        _, key = HSMSigner.import_(int(uri.path) if uri.path else None, label, _pin)
    except HybridError:
        raise
    except Exception as error:  # noqa: BLE001 - each module of a token has errors of its own
        raise sign_failure(source, error) from None
    return key


def _pin(_: str) -> str:
    pin = os.environ.get(PIN_VARIABLE)
    if not pin:
        raise ConfigError(f"the environment variable {PIN_VARIABLE} is not set", hint="it holds the PIN of the token")
    return pin


logger = logging.getLogger(__name__)
FOLDER = "signing"
RING = "keys.json"


@dataclass(frozen=True)
class SigningKey:
    """Public half of a signing key, and where the private is."""

    public: SSlibKey
    source: str
    """``file:``, ``env:`` or ``hsm:``, as the module describes."""
    made: str
    """When it became the current key: UTC, ISO 8601."""
    retired: str | None = None
    """When another key took its place; None: it is the current one."""

    @property
    def keyid(self) -> str:
        """Key id, 64 hexadecimal digits."""
        return str(self.public.keyid)


def signing_keys(private_dir: Path) -> tuple[SigningKey, ...]:
    """All signing keys of an installation, the current one last.

    None before the first release.
    """
    path = private_dir / FOLDER / RING
    try:
        keys = tuple(
            SigningKey(public_key(about["public"].encode()), about["source"], about["made"], about["retired"])
            for about in json.loads(path.read_bytes())["keys"]
        )
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise OutputError(f"{path}: the key ring is damaged", hint="restore it from a backup") from None
    if [key.retired is None for key in keys] != [False] * (len(keys) - 1) + [True]:
        raise OutputError(f"{path}: the key ring names no current key", hint="restore it from a backup")
    return keys


def make_key(private_dir: Path, source: str | None = None) -> SigningKey:
    """Make the first signing key of an installation.

    Parameters
    ----------
    private_dir : Path
        The private zone; made if needed.
    source : str, optional
        An existing key; without, an Ed25519 key is generated in the private zone (PKCS8, mode 0600).
    """
    with _opened(private_dir):
        if keys := signing_keys(private_dir):
            raise ConfigError(
                f"{private_dir}: there is a signing key already ({keys[-1].keyid[:16]})", hint="hybrid keys rotate"
            )
        return _add(private_dir, source, ())


def rotate_key(private_dir: Path, source: str | None = None) -> SigningKey:
    """Replace the current signing key by another one.

    The earlier public key stays known. Its private half is removed if :func:`make_key` or this function made it.
    Parameters and errors as :func:`make_key`.
    """
    with _opened(private_dir):
        keys = signing_keys(private_dir)
        if not keys:
            raise ConfigError(f"{private_dir}: there is no signing key yet", hint="hybrid keys make")
        new = _add(private_dir, source, keys)
        if (made_here := _own_file(private_dir, keys[-1])) is not None:
            made_here.unlink(missing_ok=True)
        return new


def release_signer(private_dir: Path) -> tuple[SigningKey, Signer]:
    """Signer of releases under the current key; the first use makes one.

    Raises
    ------
    ConfigError, MissingExtraError, OutputError
        The current key cannot be reached. Nothing is signed by another one instead.
    """
    with _opened(private_dir):
        keys = signing_keys(private_dir)
        current = keys[-1] if keys else _add(private_dir, None, ())
        if not keys:
            logger.info("a signing key was made (%s): hybrid keys show prints its public half", current.keyid[:16])
    return current, open_signer(current.source, private_dir / FOLDER, current.public)


def _add(private_dir: Path, source: str | None, keys: tuple[SigningKey, ...]) -> SigningKey:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    folder = private_dir / FOLDER
    if source is None:
        signer = CryptoSigner.generate_ed25519()
        public, source = signer.public_key, f"file:{signer.public_key.keyid[:16]}.pem"
        with atomic_file(folder / source.removeprefix("file:"), private=True) as temporary:
            temporary.write_bytes(signer.private_bytes)
    else:
        source = _absolute(source)
        public = import_key(source, folder)
    if public.keyid in {key.keyid for key in keys}:
        raise ConfigError(f"{source}: this key is or was in use already", hint="choose a new key")
    new = SigningKey(public, source, now)
    _write(folder / RING, (*keys[:-1], *(replace(key, retired=now) for key in keys[-1:]), new))
    return new


def _absolute(source: str) -> str:
    # A relative path is relative to the user's folder, not to the key ring.
    kind, _, rest = source.partition(":")
    return f"file:{Path(rest).expanduser().absolute()}" if kind == "file" and rest else source


def _own_file(private_dir: Path, key: SigningKey) -> Path | None:
    """File of a private key that this program generated."""
    name = key.source.removeprefix("file:")
    return private_dir / FOLDER / name if name == f"{key.keyid[:16]}.pem" else None


def _write(path: Path, keys: tuple[SigningKey, ...]) -> None:
    about = [
        {
            "keyid": key.keyid,
            "scheme": key.public.scheme,
            "public": public_pem(key.public),
            "source": key.source,
            "made": key.made,
            "retired": key.retired,
        }
        for key in keys
    ]
    write_json(path, {"keys": about}, private=True)


@contextmanager
def _opened(private_dir: Path) -> Iterator[None]:
    folder = private_dir / FOLDER
    try:
        make_private(folder)
        with locked(folder / ".lock"):
            yield
    except OSError as error:
        raise OutputError(f"{folder}: the signing keys cannot be written ({error.strerror})") from None
