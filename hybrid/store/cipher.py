"""Encryption of stored results under a key outside the disk."""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from hybrid.base.errors import ConfigError, OutputError

_BOUND_BYTES = hashlib.sha256().digest_size
KEY_VARIABLE = "HYBRID_STORE_KEY"
"""The environment variable that holds the key."""


class Cipher:
    """Authenticated encryption by Fernet (AES-128-CBC, HMAC-SHA256), under a key as :func:`new_key` makes it.

    What others wrote or changed fails authentication and is never unpickled.
    """

    def __init__(self, key: str) -> None:
        try:
            self._fernet = Fernet(key)
        except ValueError:
            raise ConfigError(
                "the store's key is not 32 bytes in URL-safe base64", hint=f"{KEY_VARIABLE}=$(hybrid store key)"
            ) from None
        self._key = key.encode()

    def name(self, fingerprint: str) -> str:
        """Keyed hash of a fingerprint, by which a guessed one cannot be confirmed."""
        return hmac.new(self._key, fingerprint.encode(), hashlib.sha256).hexdigest()

    def dump(self, value: object, entry: str) -> bytes:
        """The pickled value and the entry that it belongs to, encrypted together."""
        token: bytes = self._fernet.encrypt(_bound(entry) + pickle.dumps(value, protocol=5))
        return token

    def load(self, token: bytes, entry: str, where: object) -> Any:
        """The value that :meth:`dump` encrypted for this entry; ExchangedError: it was encrypted for another one."""
        try:
            content = self._fernet.decrypt(token)
        except InvalidToken:
            raise OutputError(
                f"{where}: a kept result was not encrypted under this key",
                hint=f"set {KEY_VARIABLE} to the key of this store, or choose another store",
            ) from None
        if not hmac.compare_digest(content[:_BOUND_BYTES], _bound(entry)):
            raise ExchangedError
        return pickle.loads(content[_BOUND_BYTES:])


class ExchangedError(Exception):
    """The content of an entry was made for another one."""


def _bound(entry: str) -> bytes:
    return hashlib.sha256(entry.encode()).digest()


def new_key() -> str:
    key: bytes = Fernet.generate_key()
    return key.decode()


def key_of_environment() -> str | None:
    return os.environ.get(KEY_VARIABLE) or None
