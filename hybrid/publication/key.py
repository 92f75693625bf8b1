"""Release key, and keyed tags of sources and methods.

Only the holder of the key can recognise a source or a method by its tag.

A plain SHA-256 of a table confirms a guess: an attacker who knows all records but one can try values for the last until
the hash fits. Releases therefore carry HMAC-SHA256 tags (RFC 2104) under a key that stays in the private zone. With the
key and the source, the steward can show an auditor which source a release came from; no other reader learns anything
beyond "same source" or "another source".
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybrid.base.atomic import atomic_file, make_private
from hybrid.base.errors import OutputError
from hybrid.base.hashing import fingerprint
from hybrid.base.locks import locked
from hybrid.publication.redact import public_config
from hybrid.table.record_hash import SECRET_BYTES

KEY = "release.key"
KEY_BYTES = 32


def release_key(private_dir: Path) -> bytes:
    """Secret key of an installation: 32 random bytes, file mode 0600, created on first use.

    Losing it is harmless: the same source then counts as a new one.
    """
    path = private_dir / KEY
    try:
        make_private(private_dir)
        with locked(private_dir / f".{KEY}.lock"):
            if not path.exists():
                with atomic_file(path, private=True) as temporary:
                    temporary.write_bytes(secrets.token_bytes(KEY_BYTES))
            key = path.read_bytes()
    except OSError as error:
        raise OutputError(f"{path}: the release key cannot be made or read ({error.strerror})") from None
    if len(key) != KEY_BYTES:
        raise OutputError(f"{path}: this is not a release key", hint="remove the file; a new key will be made")
    return key


def data_tag(key: bytes, manifest: Mapping[str, Any]) -> str:
    """Tag of the source in a certificate; 64 hexadecimal digits."""
    return _tag(key, "data", manifest["data_fingerprint"])


def release_tag(key: bytes, manifest: Mapping[str, Any]) -> str:
    """Tag of source and method, equal for runs that differ only in seed, paths and time."""
    return _tag(key, "release", manifest["data_fingerprint"], fingerprint(public_config(manifest["config"])))


def draw_tag(key: bytes, table_sha256: str, numbers: Any) -> str:
    """Tag of a draw: the synthetic table and the numbers measured on it."""
    return _tag(key, "draw", table_sha256, fingerprint(numbers))


def record_secret(key: bytes) -> bytes:
    """Secret for the record hashes of the ledger."""
    return hmac.new(key, b"records", hashlib.sha256).digest()[:SECRET_BYTES]


def _tag(key: bytes, *parts: str) -> str:
    return hmac.new(key, fingerprint(parts).encode(), hashlib.sha256).hexdigest()
