"""Stores by their place: a folder, an address, or main memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hybrid.base.atomic import workplace
from hybrid.base.errors import ConfigError
from hybrid.store.cipher import KEY_VARIABLE, Cipher, key_of_environment, new_key
from hybrid.store.local import Store
from hybrid.store.remote import SharedStore

MEMORY = "memory"
MEMORY_FOLDER = Path("/dev/shm")


@dataclass(frozen=True)
class StorePlace:
    """Place and key of a store; can be sent to other processes."""

    place: str
    """A folder, or an address with ``://``."""
    key: str | None = field(default=None, repr=False)
    """Encryption key; None: the key in the environment, if there is one."""

    @property
    def is_shared(self) -> bool:
        return "://" in self.place

    def open(self) -> Store:
        """Open the store.

        Raises
        ------
        ConfigError
            An address without a key: the writer of a file there cannot be verified.
        """
        key = self.key or key_of_environment()
        cipher = None if key is None else Cipher(key)
        if not self.is_shared:
            return Store(Path(self.place).expanduser(), cipher)
        if cipher is None:
            raise ConfigError(
                f"{self.place}: a store at an address is always encrypted, and there is no key",
                hint=f"set {KEY_VARIABLE} to the same key on every machine (hybrid store key makes one)",
            )
        return SharedStore(self.place, cipher)


@contextmanager
def memory_store() -> Iterator[StorePlace]:
    """Yield a store that is removed at the end of the block.

    It is in main memory where the system offers a folder there, and always encrypted under a key that exists only
    in this process and those it starts.
    """
    home = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else Path(tempfile.gettempdir())
    with workplace(home) as hidden:
        yield StorePlace(str(hidden / "store"), new_key())
