"""Results of stages, kept by content: same inputs, options and code are not computed twice.

One entry is one folder ``<stage>-<fingerprint>`` with the pickled result and a small JSON file about it. It is
filled under a temporary name and renamed, so it exists wholly or not; a kernel lock per fingerprint lets two
processes that need the same result compute it once. The store belongs to the *private* zone: it holds originals.
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
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, TypeVar

from hybrid.errors import OutputError
from hybrid.fingerprint import code_version, fingerprint, library_versions
from hybrid.locks import locked, locked_if_free

__all__ = ["Store", "StoreEntry", "code_version", "fingerprint", "library_versions"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

RESULT = "result.pickle"
ABOUT = "entry.json"
LOCKS = ".locks"
TEMPORARY = ".tmp-"
_ENTRY = re.compile(r"[A-Za-z0-9_.-]+-[0-9a-f]{16,}")
_UNREADABLE = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class StoreEntry:
    """One kept result."""

    stage: str
    key: str
    created: str
    """UTC, ISO 8601."""
    seconds: float
    """What computing it took."""
    n_bytes: int
    sha256: str
    """Of the pickled result."""


class Store:
    """A folder of stage results, named by what they were computed from.

    Parameters
    ----------
    path : Path or None
        A folder of the private zone, made with mode 0700 when first needed. None: every result is computed and
        nothing is kept.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def get_or_compute(self, stage: str, key: str, compute: Callable[[], T]) -> T:
        """The kept result, or that of ``compute``, which is then kept.

        Parameters
        ----------
        stage : str
            Letters, digits, ``_``, ``.`` and ``-``.
        key : str
            :func:`fingerprint` of everything the result depends on: inputs, options, seed, code and libraries.
        compute : callable
            Gives a result that pickles. Called at most once, by one process at a time for the same stage and key.

        Returns
        -------
        object
            A result read back is equal to, and never shared with, the one computed. An entry that is damaged
            is computed again. If the disk is full the result is returned and not kept (logged as a warning).

        Raises
        ------
        OutputError
            The store cannot be made, or does not belong to the user who runs this, or others may write to it.
        """
        if self.path is None:
            return compute()
        folder = self._folder(self.path, stage, key)
        with locked(self.path / LOCKS / f"{folder.name}.lock"):
            _sweep(self.path, folder.name)
            if folder.is_dir():
                try:
                    return _read(folder)  # type: ignore[no-any-return]
                except _Damaged as damage:
                    logger.warning("the kept result of stage %s is damaged (%s): computing it again", stage, damage)
            start = time.perf_counter()
            result = compute()
            self._keep(folder, stage, key, result, time.perf_counter() - start)
            return result

    def entries(self) -> list[StoreEntry]:
        """What is kept, oldest first; damaged entries are left out."""
        found = (_about(folder) for folder in self._folders())
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.created)

    def clean(self, max_age: timedelta) -> int:
        """Remove what was not used for ``max_age``, damaged entries, and what dead processes left.

        An entry that a process is working on is left alone.

        Returns
        -------
        int
            How many entries were removed.
        """
        if self.path is None or not self.path.is_dir():
            return 0
        _refuse_foreign(self.path.stat(), self.path)
        oldest = time.time() - max_age.total_seconds()
        removed = 0
        for lock in self._locks():
            folder = self.path / lock.stem
            with locked_if_free(lock) as free:
                if not free:
                    continue
                _sweep(self.path, folder.name)
                if folder.is_dir() and (folder.stat().st_mtime <= oldest or _about(folder) is None):
                    _remove(folder)
                    removed += 1
                if not folder.is_dir():
                    lock.unlink(missing_ok=True)
        return removed

    def _folder(self, path: Path, stage: str, key: str) -> Path:
        if not _ENTRY.fullmatch(f"{stage}-{key}") or stage.startswith("."):
            raise ValueError("stage must be a plain name and key a fingerprint")
        try:
            make_private(path)
            _refuse_foreign(path.stat(), path)
            (path / LOCKS).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path}: the store cannot be made ({error.strerror})", mend="choose another") from None
        return path / f"{stage}-{key}"

    def _keep(self, folder: Path, stage: str, key: str, result: object, seconds: float) -> None:
        try:
            temporary = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{folder.name}-", dir=folder.parent))
            digest, n_bytes = _write_pickle(temporary / RESULT, result)
            now = datetime.now(UTC).isoformat(timespec="microseconds")
            entry = StoreEntry(stage, key, now, round(seconds, 3), n_bytes, digest)
            with _created(temporary / ABOUT) as stream:
                stream.write(json.dumps(asdict(entry)).encode())
            if folder.is_dir():
                _remove(folder)
            temporary.rename(folder)
        except OSError as error:
            logger.warning("the result of stage %s was computed but not kept (%s)", stage, error.strerror)
        finally:
            _sweep(folder.parent, folder.name)

    def _folders(self) -> Iterator[Path]:
        if self.path is not None and self.path.is_dir():
            _refuse_foreign(self.path.stat(), self.path)
            yield from (path for path in self.path.iterdir() if path.name[0] != "." and _ENTRY.fullmatch(path.name))

    def _locks(self) -> list[Path]:
        """The lock of every entry, leftover temporary and computation."""
        assert self.path is not None
        names = {path.stem for path in (self.path / LOCKS).glob("*.lock")} | {path.name for path in self._folders()}
        names |= {path.name[len(TEMPORARY) :].rpartition("-")[0] for path in self.path.glob(f"{TEMPORARY}*")}
        (self.path / LOCKS).mkdir(mode=0o700, exist_ok=True)
        return [self.path / LOCKS / f"{name}.lock" for name in sorted(names) if name]


def make_private(folder: Path) -> None:
    """Make a folder of the private zone, and the folders above it that are missing, for this user alone (0700)."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


class _Damaged(Exception):
    """An entry is not what was written."""


def _read(folder: Path) -> Any:
    entry = _about(folder)
    if entry is None:
        raise _Damaged(f"no readable {ABOUT}")
    try:
        with _opened(folder / RESULT) as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != entry.sha256:
                raise _Damaged("the content has changed")
            stream.seek(0)
            result = pickle.load(stream)
    except FileNotFoundError:
        raise _Damaged(f"no {RESULT}") from None
    except _UNREADABLE as error:
        raise _Damaged(type(error).__name__) from None
    os.utime(folder)
    return result


def _about(folder: Path) -> StoreEntry | None:
    try:
        with _opened(folder / ABOUT) as stream:
            return StoreEntry(**json.loads(stream.read()))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None


def _opened(path: Path) -> BufferedReader:
    """A file of an entry, checked to be ours after it was opened, so that nobody can exchange it in between."""
    _refuse_foreign(path.parent.lstat(), path.parent)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise
        raise OutputError(f"{path}: cannot be read ({error.strerror})", mend="remove the folder") from None
    stream = os.fdopen(handle, "rb")
    try:
        _refuse_foreign(os.fstat(handle), path)
    except OutputError:
        stream.close()
        raise
    return stream


def _refuse_foreign(found: os.stat_result, path: Path) -> None:
    """A pickle runs code when read: it must come from nobody else."""
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022 or stat.S_ISLNK(found.st_mode):
        raise OutputError(
            f"{path}: the store belongs to another user, or others may write to it; nothing is read from it",
            mend="choose a folder of your own, or take the right to write from others: chmod go-w",
        )


def _created(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


class _HashingWriter:
    """Passes on what pickle writes, and hashes it on the way."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.sha256 = hashlib.sha256()
        self.n_bytes = 0

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        self.n_bytes += memoryview(data).nbytes
        return self.stream.write(data)


def _write_pickle(path: Path, result: object) -> tuple[str, int]:
    with _created(path) as stream:
        writer = _HashingWriter(stream)
        pickle.dump(result, writer, protocol=5)
    return writer.sha256.hexdigest(), writer.n_bytes


def _sweep(store: Path, name: str) -> None:
    """Remove the temporaries of an entry whose lock we hold: whoever made them is dead."""
    for left in store.glob(f"{TEMPORARY}{name}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Let an entry vanish at once, then remove its files."""
    gone = folder.with_name(f"{TEMPORARY}{folder.name}-gone")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
