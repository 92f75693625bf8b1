"""Nightly runs in the private zone: lock and marker file of a night, and runs that the gate held back.

One file per data set notes a held run. A night with the same source, method and policy finds it and continues with that
very run, instead of drawing until one passes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from hybrid.base.atomic import make_private, write_json
from hybrid.base.errors import DataError, OutputError, VerificationError
from hybrid.base.hashing import file_sha256
from hybrid.base.locks import locked, locked_if_free
from hybrid.base.manifest import MANIFEST
from hybrid.base.sentence import restated, sentence, stated
from hybrid.publication.ledger import LedgerEntry

_PREFIX, _MARK, _LOCK = ".night-", ".began", ".lock"


@dataclass(frozen=True)
class NightMark:
    """Marker file in the private zone from the start of a night until its outcome is recorded."""

    path: Path
    cut_off: str | None
    """Start of an earlier, interrupted night: UTC, ISO 8601 to the minute."""

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


@contextmanager
def one_night(private_dir: Path, data_set: str) -> Iterator[NightMark]:
    """Lock a data set for the block; wait for a running night."""
    make_private(private_dir)
    mark = private_dir / f"{_PREFIX}{data_set}{_MARK}"
    with locked(mark.with_suffix(_LOCK)):
        cut_off = _began(mark)
        try:
            mark.touch(mode=0o600)
        except OSError as error:
            raise OutputError(f"{mark}: writing failed ({error.strerror})", hint="check the disk") from None
        yield NightMark(mark, cut_off)


def cut_off_nights(private_dir: Path, data_set: str | None = None) -> dict[str, str]:
    """Start times of interrupted nights by data set, or of the named one alone."""
    found = {}
    for mark in sorted(private_dir.glob(f"{_PREFIX}*{_MARK}")):
        with locked_if_free(mark.with_suffix(_LOCK)) as free:
            began = _began(mark) if free else None
        name = mark.name.removeprefix(_PREFIX).removesuffix(_MARK)
        if began is not None and data_set in (None, name):
            found[name] = began
    return found


def _began(mark: Path) -> str | None:
    try:
        seconds = mark.stat().st_mtime
    except FileNotFoundError:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="minutes")


_SUFFIX = ".held"


@dataclass(frozen=True)
class HeldRun:
    """Run that waits for an approval, or that the gate refused."""

    data_set: str
    outcome: Literal["waiting", "refused"]
    since: str
    """UTC, ISO 8601."""
    release_tag: str
    """Of source and method (:func:`hybrid.publication.key.release_tag`)."""
    policy: str
    """SHA-256 of the policy that judged it."""
    run: str
    """Folder of the run. Private: it never leaves the private zone and the command line."""
    run_id: str
    """SHA-256 of the run's manifest."""
    released: int
    """Releases of this source and method in the ledger when it was held back."""
    message: str
    """Reason, as in the ledger; no cell value."""

    @property
    def folder(self) -> Path:
        return Path(self.run)

    def is_open(self, entries: Iterable[LedgerEntry]) -> bool:
        """True until a further release of its method is in the ledger."""
        return releases_of(self.release_tag, entries) <= self.released

    def check_unchanged(self) -> None:
        """Compare the run's manifest with the one that was held back."""
        manifest = self.folder / MANIFEST
        if not manifest.is_file() or file_sha256(manifest) != self.run_id:
            raise VerificationError(
                f"{self.folder}: this is not the run that waits for an approval",
                hint="put the run's folder back as it was, or remove the folder",
            )

    def keep(self, private_dir: Path) -> None:
        """Write into the private zone, replacing an older one."""
        make_private(private_dir)
        write_json(_path(private_dir, self.data_set), stated(asdict(self)), private=True)


def approve_hint(run: Path | str) -> str:
    return sentence("hint.approve", command=f"hybrid approve {run} --by NAME --reason TEXT")


def releases_of(tag: str, entries: Iterable[LedgerEntry]) -> int:
    return sum(entry.release_tag == tag for entry in entries)


def held_run(private_dir: Path, data_set: str) -> HeldRun | None:
    """Held run of a data set; None if there is none."""
    path = _path(private_dir, data_set)
    if not path.exists():
        return None
    try:
        content = restated(json.loads(path.read_text(encoding="utf-8")))
        return HeldRun(**{field.name: content[field.name] for field in fields(HeldRun)})
    except (ValueError, TypeError, AttributeError, KeyError):
        hint = "remove the file; the next night then draws anew"
        raise DataError(f"{path}: the note of a run that is held back is damaged", hint=hint) from None


def held_runs(private_dir: Path, data_set: str | None = None) -> list[HeldRun]:
    """Held runs of all data sets, or of one; errors as :func:`held_run`."""
    names = [path.name for path in sorted(private_dir.glob(f"{_PREFIX}*{_SUFFIX}"))]
    known = [name.removeprefix(_PREFIX).removesuffix(_SUFFIX) for name in names]
    found = [held_run(private_dir, name) for name in known if data_set in (None, name)]
    return [held for held in found if held is not None]


def forget_held_run(private_dir: Path, data_set: str) -> None:
    _path(private_dir, data_set).unlink(missing_ok=True)


def _path(private_dir: Path, data_set: str) -> Path:
    return private_dir / f"{_PREFIX}{data_set}{_SUFFIX}"
