"""Stores by their place: a folder, main memory, or an address that many machines share.

``s3://`` is reached through Arrow, any other file system, such as ``sftp://``, through fsspec.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from hybrid.base.atomic import workplace
from hybrid.base.errors import ConfigError, MissingExtraError, OutputError
from hybrid.base.s3 import s3
from hybrid.store.cipher import KEY_VARIABLE, Cipher, ExchangedError, key_of_environment, new_key
from hybrid.store.local import Store, StoreEntry, own_seconds

logger = logging.getLogger(__name__)
T = TypeVar("T")

TEMPORARY = ".tmp-"
HEADER_BYTES = 1024
"""An entry begins with what is known about it, as JSON padded to this length."""
ABANDONED = timedelta(days=1)
"""Age after which a temporary file is abandoned."""
_ENTRY = re.compile(r"[A-Za-z0-9_-]+-[0-9a-f]{64}")


class SharedStore(Store):
    """Folder of a file system that machines share: a file per result, written under a temporary name and moved.

    The writer of a file cannot be verified, and unpickling runs code: so all is encrypted and authenticated. There
    are no locks between machines: two that need a result at the same moment both compute it, with the same outcome.
    """

    cipher: Cipher

    def __init__(self, url: str, cipher: Cipher) -> None:
        super().__init__(None, cipher)
        self.url = url
        self._fs, self._root = _file_system(url)

    @property
    def place(self) -> str | None:
        return self.url

    def get_or_compute(self, stage: str, key: str, compute: Callable[[], T]) -> T:
        path = self._path(stage, key)
        found = self._payload(path)
        if found is not None:
            try:
                return self.cipher.load(found, _name(path), self.url)  # type: ignore[no-any-return]
            except ExchangedError:
                logger.warning("the kept result of stage %s is that of another entry: computing it again", stage)
        with own_seconds() as seconds:
            result = compute()
        self._write(path, stage, result, seconds())
        return result

    def entry(self, stage: str, key: str) -> StoreEntry | None:
        return self._about(self._path(stage, key))

    def entries(self) -> list[StoreEntry]:
        found = (self._about(path) for path in self._files() if _ENTRY.fullmatch(_name(path)))
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.created)

    def clean(self, max_age: timedelta) -> int:
        now, removed = datetime.now(UTC), 0
        for path in self._files():
            if _name(path).startswith(TEMPORARY):
                if now - self._fs.modified(path) > ABANDONED:
                    self._fs.rm_file(path)
            elif _ENTRY.fullmatch(_name(path)):
                entry = self._about(path)
                if entry is None or now - datetime.fromisoformat(entry.created) >= max_age:
                    self._fs.rm_file(path)
                    removed += 1
        return removed

    def _path(self, stage: str, key: str) -> str:
        return f"{self._root}/{self._name(stage, key)}"

    def _files(self) -> Iterator[str]:
        self._fs.invalidate_cache()
        try:
            yield from self._fs.ls(self._root, detail=False)
        except FileNotFoundError:
            return

    def _read_bytes(self, path: str, end: int | None) -> bytes | None:
        try:
            content: bytes = self._fs.cat_file(path, start=0, end=end)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(f"{self.url}: cannot be read ({type(error).__name__})", hint="check the store") from None
        return content

    def _payload(self, path: str) -> bytes | None:
        content = self._read_bytes(path, None)
        if content is None:
            return None
        entry, payload = _parsed(content), content[HEADER_BYTES:]
        if entry is None or hashlib.sha256(payload).hexdigest() != entry.sha256:
            logger.warning("a kept result is damaged: computing it again")
            return None
        return payload

    def _about(self, path: str) -> StoreEntry | None:
        content = self._read_bytes(path, HEADER_BYTES)
        return None if content is None else _parsed(content)

    def _write(self, path: str, stage: str, result: object, seconds: float) -> None:
        payload = self.cipher.dump(result, _name(path))
        digest = hashlib.sha256(payload).hexdigest()
        header = StoreEntry.made_now(stage, _name(path), seconds, len(payload), digest).to_json()
        temporary = f"{self._root}/{TEMPORARY}{uuid.uuid4().hex}"
        try:
            self._fs.makedirs(self._root, exist_ok=True)
            self._fs.pipe_file(temporary, header.encode().ljust(HEADER_BYTES) + payload)
            self._fs.mv(temporary, path)
        except OSError as error:
            logger.warning("the result of stage %s was computed but not kept (%s)", stage, type(error).__name__)


def _file_system(url: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    if url.startswith("s3://"):
        from fsspec.implementations.arrow import ArrowFSWrapper

        return ArrowFSWrapper(s3(), skip_instance_cache=True), url.removeprefix("s3://").rstrip("/")
    try:
        found, root = url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(f"{url}: {error.name or 'a package'} is not installed", hint="install it") from None
    except ValueError:
        raise ConfigError(f"{url}: there is no such kind of address", hint="s3://..., gs://..., sftp://...") from None
    return found, root.rstrip("/")


def _parsed(content: bytes) -> StoreEntry | None:
    try:
        return StoreEntry.from_json(content[:HEADER_BYTES])
    except (ValueError, TypeError):
        return None


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


MEMORY = "memory"
MEMORY_FOLDER = Path("/dev/shm")


@dataclass(frozen=True)
class StorePlace:
    """Place and key of a store; can be sent to other processes."""

    place: str
    """A folder, or an address with ``://``."""
    key: str | None = field(default=None, repr=False)
    """Encryption key; None: the key in the environment, if there is one."""

    def open(self) -> Store:
        """Open the store."""
        key = self.key or key_of_environment()
        cipher = None if key is None else Cipher(key)
        if "://" not in self.place:
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
