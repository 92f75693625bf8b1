"""Places of private keys: files, environment variables, hardware security modules.

``file:PATH``
    A PEM file (PKCS8, Ed25519) that only its owner may read. A relative path is in the folder of the key ring.
``env:NAME``
    The same content in an environment variable.
``hsm:ID?label=TOKEN``
    The URI of ``securesystemslib`` for a token with a PKCS#11 module (``PYKCS11LIB`` names its library): an ECDSA key
    on P-256 or P-384. The variable :data:`PIN_VARIABLE` holds the PIN.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import parse_qsl, urlparse

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.exceptions import UnsupportedLibraryError
from securesystemslib.signer import CryptoSigner, HSMSigner, Signer, SSlibKey

from hybrid.base.errors import ConfigError, HybridError, MissingExtraError, OutputError
from hybrid.base.ownership import CERTIFICATE

PIN_VARIABLE = "HYBRID_SIGNING_PIN"
"""The environment variable that holds the PIN of a hardware security module."""
FORMS = "file:PATH, env:NAME or hsm:ID?label=TOKEN"
_PKCS8 = "openssl genpkey -algorithm ed25519 makes such a key"


def import_key(source: str, folder: Path) -> SSlibKey:
    """Public half of the key at a source.

    Parameters
    ----------
    source : str
        As the module describes.
    folder : Path
        Folder of the key ring, for relative paths.

    Raises
    ------
    ConfigError, MissingExtraError, OutputError
        There is no usable key, or the token cannot be reached.
    """
    kind, _, rest = source.partition(":")
    if kind == "hsm":
        return _import_from_token(source)
    return _local_signer(kind, rest, folder).public_key


def open_signer(source: str, folder: Path, public: SSlibKey) -> Signer:
    """Signer for the key at a source.

    Parameters
    ----------
    source : str
        As the module describes.
    folder : Path
        Folder of the key ring, for relative paths.
    public : SSlibKey
        Public half that the key must have.

    Raises
    ------
    ConfigError
        The key is missing or another one.
    """
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
    """Error for a failure of the library or of a token.

    Neither its text nor the PIN is repeated.
    """
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
