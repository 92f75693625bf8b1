"""Per-data-set lock and a marker file that reveals interrupted nights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hybrid.base.atomic import make_private
from hybrid.base.errors import OutputError
from hybrid.base.locks import locked, locked_if_free

_PREFIX, _MARK, _LOCK = ".night-", ".began", ".lock"


@dataclass(frozen=True)
class NightMark:
    """Marker file in the private zone during a night.

    From its start until its outcome is recorded.
    """

    path: Path
    cut_off: str | None
    """Start of an earlier, interrupted night: UTC, ISO 8601 to the minute."""

    def remove(self) -> None:
        """Remove the marker: the outcome of the night is recorded."""
        self.path.unlink(missing_ok=True)


@contextmanager
def one_night(private_dir: Path, data_set: str) -> Iterator[NightMark]:
    """Lock a data set for the block; wait for a running night.

    Raises
    ------
    OutputError
        The private zone cannot be written to.
    """
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
    """Start times of interrupted nights by data set.

    Of one data set if named.
    """
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
