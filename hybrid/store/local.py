"""Store of stage results in a local folder.

One entry is one folder ``<stage>-<fingerprint>`` with the pickled result and a small JSON file about it. It is
written atomically; a kernel lock per fingerprint lets two processes that need the same result compute it once. The
store belongs to the *private* zone: it holds originals.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import re
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, TypeVar

from hybrid.base import atomic
from hybrid.base.errors import OutputError
from hybrid.base.locks import locked, locked_if_free
from hybrid.store.cipher import Cipher, ExchangedError


@dataclass(frozen=True)
class StoreEntry:
    """Metadata of one stored result."""

    stage: str
    key: str
    """The fingerprint; in an encrypted store its keyed hash."""
    created: str
    """UTC, ISO 8601."""
    seconds: float
    """Seconds of its own computation, without that of other stored results it requested."""
    n_bytes: int
    sha256: str
    """Of the stored file: the pickled result, encrypted where the store is."""

    @classmethod
    def made_now(cls, stage: str, name: str, seconds: float, n_bytes: int, sha256: str) -> StoreEntry:
        """The entry of this name: its stage, and its key after that."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        return cls(stage, name.removeprefix(f"{stage}-"), now, round(seconds, 3), n_bytes, sha256)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> StoreEntry:
        """Read what :meth:`to_json` wrote; ValueError or TypeError for anything else."""
        return cls(**json.loads(text))


class _Nested(threading.local):
    def __init__(self) -> None:
        self.seconds = [0.0]


_nested = _Nested()


@contextmanager
def own_seconds() -> Iterator[Callable[[], float]]:
    """Measure a block: gives a function for its wall-clock seconds, without those of blocks measured inside it."""
    start = time.perf_counter()
    _nested.seconds.append(0.0)
    own = 0.0
    try:
        yield lambda: own
    finally:
        whole = time.perf_counter() - start
        own = whole - _nested.seconds.pop()
        _nested.seconds[-1] += whole


def took(seconds: float) -> None:
    """Count seconds as the own ones of the innermost measured block: its result was made before, with others.

    They were spent in the block around it, whose own they are no longer.
    """
    _nested.seconds[-1] -= seconds
    if len(_nested.seconds) > 1:
        _nested.seconds[-2] += seconds


logger = logging.getLogger(__name__)
T = TypeVar("T")

RESULT = "result.pickle"
ABOUT = "entry.json"
LOCKS = ".locks"
UNFINISHED = ".unfinished-"
_EXCHANGED = "it is that of another entry"
_ENTRY = re.compile(r"[A-Za-z0-9_.-]+-[0-9a-f]{16,}")
_UNREADABLE = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError, TypeError, ValueError)


class Store:
    """Folder of stage results, named by the fingerprints of their inputs.

    It lies in the private zone, and is made with mode 0700 when first needed; without a path every result is computed
    and nothing is kept. A cipher encrypts what is kept, and the names under which it is kept.
    """

    def __init__(self, path: Path | None, cipher: Cipher | None = None) -> None:
        self.path = path
        self.cipher = cipher

    @property
    def place(self) -> str | None:
        """Folder or address of what is kept; None where nothing is."""
        return None if self.path is None else str(self.path.resolve())

    def get_or_compute(self, stage: str, key: str, compute: Callable[[], T]) -> T:
        """Return the stored result, or compute and store it.

        ``key`` is the fingerprint of everything the result depends on: inputs, options, seed, code and libraries.
        ``compute`` gives a result that pickles; one process at a time computes it for the same stage and key.

        A result read back is equal to, and never shared with, the one computed. An entry that is damaged is computed
        again. If the disk is full the result is returned and not kept (logged as a warning). A store of another user,
        one to which others may write, and one under another key are refused.
        """
        if self.path is None:
            return compute()
        folder = self._folder(self.path, stage, key)
        with locked(self.path / LOCKS / f"{folder.name}.lock"):
            if folder.is_dir():
                try:
                    return self._read(folder)  # type: ignore[no-any-return]
                except _Damaged as damage:
                    logger.warning("the kept result of stage %s is damaged (%s): computing it again", stage, damage)
            with own_seconds() as seconds:
                result = compute()
            self._keep(folder, stage, result, seconds())
            return result

    def entry(self, stage: str, key: str) -> StoreEntry | None:
        """Metadata of a stored result; None if there is none."""
        return None if self.path is None else _about(self.path / self._name(stage, key))

    def unfinished(self, stage: str, key: str) -> Path | None:
        """Private folder for the state from which an unfinished computation restarts.

        To be asked for within ``compute`` of :meth:`get_or_compute`, for the same stage and key. It goes when the
        result is kept, or with :meth:`clean`; None where nothing is kept.
        """
        if self.path is None or self.cipher is not None:
            return None
        folder = self._folder(self.path, stage, key)
        workplace = folder.with_name(f"{UNFINISHED}{folder.name}")
        atomic.make_private(workplace)
        _refuse_foreign(workplace.lstat(), workplace)
        return workplace

    def entries(self) -> list[StoreEntry]:
        """Metadata of all stored results, oldest first; damaged ones are left out."""
        found = (_about(folder) for folder in self._folders())
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.created)

    def clean(self, max_age: timedelta) -> int:
        """Remove results unused for ``max_age``, damaged ones, and leftovers of killed processes.

        An entry that a process is working on is left alone.
        """
        if self.path is None or not self.path.is_dir():
            return 0
        _refuse_foreign(self.path.stat(), self.path)
        atomic.sweep(self.path)
        oldest = time.time() - max_age.total_seconds()
        removed = 0
        for lock in self._locks():
            folder = self.path / lock.stem
            with locked_if_free(lock) as free:
                if not free:
                    continue
                workplace = folder.with_name(f"{UNFINISHED}{folder.name}")
                if workplace.is_dir() and workplace.stat().st_mtime <= oldest:
                    shutil.rmtree(workplace)
                if folder.is_dir() and (folder.stat().st_mtime <= oldest or _about(folder) is None):
                    atomic.remove(folder)
                    removed += 1
                if not folder.is_dir():
                    lock.unlink(missing_ok=True)
        return removed

    def _folder(self, path: Path, stage: str, key: str) -> Path:
        if not _ENTRY.fullmatch(f"{stage}-{key}") or stage.startswith("."):
            raise ValueError("stage must be a plain name and key a fingerprint")
        name = self._name(stage, key)
        try:
            atomic.make_private(path)
            _refuse_foreign(path.stat(), path)
            (path / LOCKS).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path}: the store cannot be made ({error.strerror})", hint="choose another") from None
        return path / name

    def _name(self, stage: str, key: str) -> str:
        return f"{stage}-{key if self.cipher is None else self.cipher.name(key)}"

    def _keep(self, folder: Path, stage: str, result: object, seconds: float) -> None:
        try:
            # Not durable: what a power cut damages is recognised by its hash and computed again.
            with atomic.atomic_folder(folder, private=True, durable=False) as temporary:
                digest, n_bytes = _write_pickle(temporary / RESULT, result, self.cipher, folder.name)
                with _created(temporary / ABOUT) as stream:
                    entry = StoreEntry.made_now(stage, folder.name, seconds, n_bytes, digest)
                    stream.write(entry.to_json().encode())
            shutil.rmtree(folder.with_name(f"{UNFINISHED}{folder.name}"), ignore_errors=True)
        except OutputError as error:
            logger.warning("the result of stage %s was computed but not kept (%s)", stage, error.problems[0].message)

    def _read(self, folder: Path) -> Any:
        entry = _about(folder)
        if entry is None:
            raise _Damaged(f"no readable {ABOUT}")
        if f"{entry.stage}-{entry.key}" != folder.name:
            raise _Damaged(_EXCHANGED)
        try:
            with _opened(folder / RESULT) as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != entry.sha256:
                    raise _Damaged("the content has changed")
                stream.seek(0)
                result = self._loaded(stream, folder.name)
        except FileNotFoundError:
            raise _Damaged(f"no {RESULT}") from None
        except ExchangedError:
            raise _Damaged(_EXCHANGED) from None
        except _UNREADABLE as error:
            raise _Damaged(type(error).__name__) from None
        os.utime(folder)
        return result

    def _loaded(self, stream: BufferedReader, name: str) -> Any:
        return pickle.load(stream) if self.cipher is None else self.cipher.load(stream.read(), name, self.path)

    def _folders(self) -> Iterator[Path]:
        if self.path is not None and self.path.is_dir():
            _refuse_foreign(self.path.stat(), self.path)
            yield from (path for path in self.path.iterdir() if path.name[0] != "." and _ENTRY.fullmatch(path.name))

    def _locks(self) -> list[Path]:
        assert self.path is not None
        names = {path.stem for path in (self.path / LOCKS).glob("*.lock")} | {path.name for path in self._folders()}
        names |= {path.name[len(UNFINISHED) :] for path in self.path.glob(f"{UNFINISHED}*")}
        (self.path / LOCKS).mkdir(mode=0o700, exist_ok=True)
        return [self.path / LOCKS / f"{name}.lock" for name in sorted(names) if name]


def keep_private(path: Path, content: bytes, days: float) -> None:
    """Write a private file atomically (mode 0600), and remove files beside it that were written so many days ago.

    The folder has files of this kind alone; only those with the same suffix are removed.
    """
    with atomic.atomic_file(path, private=True) as temporary:
        temporary.write_bytes(content)
    oldest = time.time() - days * 86_400
    for other in path.parent.glob(f"*{path.suffix}"):
        with suppress(FileNotFoundError):  # another process removed it
            if other.name[0] != "." and other.stat().st_mtime < oldest:
                other.unlink()


class _Damaged(Exception):
    """An entry differs from what was written."""


def _about(folder: Path) -> StoreEntry | None:
    try:
        with _opened(folder / ABOUT) as stream:
            return StoreEntry.from_json(stream.read())
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None


def _opened(path: Path) -> BufferedReader:
    """Open a file of an entry and check its owner afterwards, so that it cannot be exchanged in between."""
    _refuse_foreign(path.parent.lstat(), path.parent)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise
        raise OutputError(f"{path}: cannot be read ({error.strerror})", hint="remove the folder") from None
    stream = os.fdopen(handle, "rb")
    try:
        _refuse_foreign(os.fstat(handle), path)
    except OutputError:
        stream.close()
        raise
    return stream


def _refuse_foreign(found: os.stat_result, path: Path) -> None:
    """Refuse files of other users: reading a pickle runs code."""
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022 or stat.S_ISLNK(found.st_mode):
        raise OutputError(
            f"{path}: the store belongs to another user, or others may write to it; nothing is read from it",
            hint="choose a folder of your own, or take the right to write from others: chmod go-w",
        )


def _created(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


class _HashingWriter:
    """Writer that hashes what passes through."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.sha256 = hashlib.sha256()
        self.n_bytes = 0

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        self.n_bytes += memoryview(data).nbytes
        return self.stream.write(data)


def _write_pickle(path: Path, result: object, cipher: Cipher | None, entry: str) -> tuple[str, int]:
    with _created(path) as stream:
        writer = _HashingWriter(stream)
        if cipher is None:
            pickle.dump(result, writer, protocol=5)
        else:
            writer.write(cipher.dump(result, entry))
    return writer.sha256.hexdigest(), writer.n_bytes
