"""Key ring of an installation: current and earlier signing keys.

``signing/keys.json`` in the private zone lists the public halves, in the order in which they were used, and where each
private half is. Earlier keys stay listed, so that earlier releases can be verified; their private halves are removed
where this program made them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from securesystemslib.signer import CryptoSigner, Signer, SSlibKey

from hybrid.base.atomic import atomic_file, make_private, write_json
from hybrid.base.errors import ConfigError, OutputError
from hybrid.base.locks import locked
from hybrid.publication.signing.public_key import public_key, public_pem
from hybrid.publication.signing.sources import import_key, open_signer

logger = logging.getLogger(__name__)
FOLDER = "signing"
RING = "keys.json"


@dataclass(frozen=True)
class SigningKey:
    """Public half of a signing key, and where the private is."""

    public: SSlibKey
    source: str
    """``file:``, ``env:`` or ``hsm:``, as :mod:`hybrid.publication.signing.sources` describes."""
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

    Raises
    ------
    OutputError
        The key ring is damaged.
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

    Raises
    ------
    ConfigError
        There is a key already, or the source holds none.
    OutputError
        The private zone cannot be written.
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

    Raises
    ------
    ConfigError
        There is no key yet, or the source holds the current or an earlier one.
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
    """Source with an absolute path.

    A relative one is relative to the user's folder, not to the key ring.
    """
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
