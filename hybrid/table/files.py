"""Files on this machine or in remote storage."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from hybrid.base.errors import ConfigError, DataError, MissingExtraError, UnreachableError
from hybrid.base.s3 import s3

_CHUNK = 1 << 22
_AWS_ERROR = re.compile(r"AWS Error ([A-Z_]+)")


@dataclass(frozen=True)
class File:
    """A file that may lie on another machine.

    ``name`` is what messages call it, ``path`` where ``filesystem`` finds it.
    """

    name: str
    filesystem: pafs.FileSystem
    path: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def local(cls, path: Path) -> File:
        return cls(str(path), pafs.LocalFileSystem(), str(path))

    @property
    def suffix(self) -> str:
        return Path(self.path).suffix.lower()

    def info(self) -> pafs.FileInfo:
        """Existence, size and modification time."""
        try:
            return self.filesystem.get_file_info(self.path)
        except Exception as error:  # noqa: BLE001 - every storage has its own, and its text may hold credentials
            unreachable(self.name, error)

    def open(self) -> pa.NativeFile:
        return self.filesystem.open_input_stream(self.path)

    def end(self, n_bytes: int) -> bytes:
        """The last bytes, at most so many."""
        with self.filesystem.open_input_file(self.path) as data:
            data.seek(max(data.size() - n_bytes, 0))
            return bytes(data.read())


@contextmanager
def unchanged(*files: File) -> Iterator[None]:
    """Refuse files that are changed while the block reads them."""
    before = states_of(files)
    yield
    changed = [file for file, state, now in zip(files, before, states_of(files), strict=True) if state != now]
    if changed:
        raise DataError(f"{changed[0]}: the file was changed while it was read", hint="run again when it is complete")


def is_url(text: str) -> bool:
    return "://" in text


def holds_credentials(url: str) -> bool:
    return is_url(url) and "@" in urlsplit(url).netloc


def file_at(text: str, folder: Path) -> File:
    """The file that a configuration names: by a path, relative to ``folder``, or a URL."""
    if not is_url(text):
        return File.local(folder / Path(text).expanduser())
    filesystem, path = storage(text)
    return File(text, filesystem, path)


def storage(url: str) -> tuple[pafs.FileSystem, str]:
    """The storage that a URL points into, and the path there.

    ``s3://`` is read by Arrow (:func:`hybrid.base.s3.s3`), everything else by fsspec.
    """
    protocol, _, path = url.partition("://")
    try:
        if protocol == "s3":
            return s3(), path
        import fsspec

        filesystem, path = fsspec.core.url_to_fs(url)
        return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), str(path)
    except ImportError as error:
        raise MissingExtraError(
            f"{protocol}:// needs the package {error.name or protocol}", hint="install it beside this package"
        ) from None
    except ValueError:
        raise ConfigError(f"{protocol}:// is no protocol that fsspec knows", hint="use s3://, or a path") from None
    except Exception as error:  # noqa: BLE001 - as in File.info
        unreachable(url, error)


def unreachable(name: str, error: Exception) -> NoReturn:
    """Raise that a place cannot be reached, without the library's own text."""
    code = _AWS_ERROR.search(str(error))
    detail = code[1] if code else type(error).__name__
    raise UnreachableError(
        f"{name}: cannot be reached ({detail})", hint="check the address, the network and the credentials"
    ) from None


def sha256_of(files: Iterable[File]) -> str:
    """SHA-256 of the content of files, one after the other."""
    found = hashlib.sha256()
    for file in files:
        with file.open() as stream:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
    return found.hexdigest()


def states_of(files: Iterable[File]) -> list[tuple[int, int]]:
    """Size and time of the last change of each file."""
    return [(info.size, info.mtime_ns) for info in (file.info() for file in files)]
