"""Releases of this installation: which they are, their order, their truth.

The one place that answers this. Ours is what the ledger of the private zone holds; the ledger gives the order too.
Whatever a folder says of itself (its name, its dates, its certificate) is a claim until the keys of the installation
have verified it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hybrid.base.atomic import PREFIX, is_workplace
from hybrid.base.errors import Problem
from hybrid.base.hashing import file_sha256
from hybrid.base.ownership import CERTIFICATE
from hybrid.base.sentence import sentence
from hybrid.publication.folder import LATEST, Release, named_latest, point_latest, read_mark, read_release
from hybrid.publication.ledger import Ledger, LedgerEntry, Withdrawal
from hybrid.publication.private_words import WITHHELD
from hybrid.publication.signing.keyring import signing_keys
from hybrid.publication.verify import verify

LOOKED_BYTES = 4_000_000_000
"""Bytes that ``hybrid status`` and the desk compare at most; a night compares all."""
_DISTRUST = "readers must not use it: move it elsewhere, and find out who can write to this folder"
_FOREIGN = "it is no release of this installation"
_SHOWN = 20
"""Folders that are not ours and that are named each."""
_WORK = "if it was made here, name the private zone it was made with (--work)"


@dataclass(frozen=True)
class FolderState:
    """State of a folder of releases."""

    problems: tuple[Problem, ...]
    """Releases that are not as they were published, folders that are not ours, a ``latest`` that names the wrong
    one."""
    whole: int
    """Releases of which every byte was compared."""
    others: int
    """Releases of which signature, certificate, names and sizes were compared, and no further content."""

    @property
    def words(self) -> str:
        found = sentence("folder.compared", n=self.whole)
        return sentence("folder.compared.others", found=found, n=self.others) if self.others else found


class OwnReleases:
    """Releases of this installation in one folder, as the ledger has them when this is made.

    Parameters
    ----------
    releases_dir : Path
        The public zone.
    ledger : Ledger
        The ledger, in the private zone that holds the keys.
    """

    def __init__(self, releases_dir: Path, ledger: Ledger) -> None:
        self.folder = releases_dir
        self._ledger = ledger
        self._origins = {one.release: one for one in ledger.origins()}
        self.entries: Mapping[str, LedgerEntry] = {entry.release: entry for entry in ledger.entries()}
        self.withdrawals: Mapping[str, Withdrawal] = {one.release: one for one in ledger.withdrawals()}
        newest_first = dict.fromkeys(reversed(ledger.outs()))
        self.order = tuple(name for name in reversed(newest_first) if name in self.entries)
        """All releases of the ledger, as they were put out; one that came back is at its last place."""
        self._keys = signing_keys(ledger.path.parent)
        self._verified: dict[tuple[str, bool], list[Problem]] = {}

    def names(self, data_set: str | None = None) -> list[str]:
        """Releases whose folder is here, oldest first; optionally of one data set."""
        return [name for name in self._of(data_set) if _is_folder(self.folder / name)]

    def not_withdrawn(self, data_set: str | None = None) -> list[str]:
        """Those of :meth:`names` that are not withdrawn."""
        return [name for name in self.names(data_set) if name not in self.withdrawals]

    def problems(self, name: str, *, whole: bool = True) -> list[Problem]:
        """Differences of a release's folder from what was published; empty without.

        Unless ``whole``, the content of files is not compared, only signature, certificate, names and sizes.
        """
        if (name, whole) not in self._verified:
            self._verified[name, whole] = self._problems(name, whole)
        return self._verified[name, whole]

    def newest(self, data_set: str) -> Release | None:
        """Newest release of a data set.

        None if there is none that is not withdrawn, or that one is not here as it was published: an older one does not
        take its place. The folder's ``latest`` may belong to another data set.
        """
        newest = self._newest(data_set)
        return None if newest is None or self.problems(newest) else read_release(self.folder / newest)

    def right_latest(self) -> str | None:
        """Newest release that is true and not withdrawn; None without one."""
        return next((name for name in reversed(self.not_withdrawn()) if not self.problems(name)), None)

    def foreign(self) -> list[str]:
        """Names of folders, links and special files that the ledger does not hold.

        Plain files, such as an index of a web server, are no releases, nor is what is hidden; but what only looks like
        a folder in which this program writes is named.
        """
        try:
            with os.scandir(self.folder) as found:
                odd = [one.name for one in found if not one.is_file(follow_symlinks=False)]
        except OSError:
            return []
        ours = {name for name in self.entries if _is_folder(self.folder / name)} | {LATEST}
        visible = {name for name in odd if name[0] != "." and name not in ours}
        hidden = {name for name in odd if name.startswith(PREFIX) and _is_odd(self.folder / name)}
        return sorted(visible | hidden)

    def inspect(self, most_bytes: float = float("inf")) -> FolderState:
        """Compare everything in the folder with what was published.

        Releases are compared byte by byte, the newest first, up to ``most_bytes``; of others content is not read.
        """
        found = [*self._wrong_latest(), *self._missing()]
        whole = others = 0
        for name in reversed(self.names()):
            size = _bytes(self.folder / name)
            compared = size <= most_bytes or (name, True) in self._verified
            most_bytes -= size if compared else 0
            whole, others = whole + compared, others + (not compared)
            hint = f"put the copy back that was delivered, or: hybrid withdraw {name}"
            found += [Problem(f"{name}: {one.message}", hint) for one in self.problems(name, whole=compared)]
        foreign = self.foreign()
        found += [Problem(f"{shown(name)} is not in the ledger: {_FOREIGN}", _DISTRUST) for name in foreign[:_SHOWN]]
        if len(foreign) > _SHOWN:
            found.append(Problem(f"{len(foreign) - _SHOWN:,} further folders are not in the ledger", _DISTRUST))
        return FolderState(tuple(found), whole, others)

    def _of(self, data_set: str | None) -> list[str]:
        return [name for name in self.order if data_set in (None, self.entries[name].data_set)]

    def _newest(self, data_set: str | None = None) -> str | None:
        # Also if it is gone. One that lies in another folder of releases does not count.
        standing = (name for name in reversed(self._of(data_set)) if name not in self.withdrawals)
        return next(
            (name for name in standing if _is_folder(self.folder / name) or not self._lies_elsewhere(name)), None
        )

    def _lies_elsewhere(self, name: str) -> bool:
        place = Path(self._origins[name].folder)
        return place != self.folder.resolve() and _is_folder(place / name)

    def _problems(self, name: str, whole: bool) -> list[Problem]:
        path, entry = self.folder / name, self.entries.get(name)
        if entry is None:
            return [Problem(f"{shown(name)} is not in the ledger: {_FOREIGN}", _WORK)]
        if not _is_folder(path):
            return [Problem(f"{name} is no folder", "fetch it again from a copy that was delivered")]
        keys = self._keys
        if keys and datetime.fromisoformat(entry.created) < datetime.fromisoformat(keys[0].made):
            keys = ()
        problems = verify(path, [key.public for key in keys], whole=whole)
        return problems or [*self._mark_problems(path, name), *self._claim_problems(path, entry)]

    def _mark_problems(self, path: Path, name: str) -> list[Problem]:
        mark, given = read_mark(path), self.withdrawals.get(name)
        if not mark:
            return []
        if given is None:
            return [Problem("it is marked as withdrawn, and the ledger knows of no withdrawal", "remove its mark")]
        same = all(mark.get(key) == getattr(given, key) for key in ("release", "at", "by", "reason"))
        return [] if same else [Problem("its mark is not that of its withdrawal", f"hybrid withdraw {name}")]

    def _claim_problems(self, path: Path, entry: LedgerEntry) -> list[Problem]:
        known, release = self._origins[entry.release].certificate, read_release(path)
        if known and release is not None and file_sha256(path / CERTIFICATE) != known:
            return [Problem("its certificate is another one than the ledger knows, whoever signed it", _DISTRUST)]
        if release is None:
            return []
        # The certificate of a private table states the day alone.
        dated = release.created in (entry.created, entry.created[:10])
        if dated and release.certificate.get("name") == entry.data_set:
            return []
        return [Problem("its certificate has another date or data set than the ledger", _DISTRUST)]

    def _wrong_latest(self) -> list[Problem]:
        right, named = self.right_latest(), named_latest(self.folder)
        if named == right or (right is None and named in self.entries):
            return []
        said = _latest_words(self.folder)
        if right is None:
            return [Problem(sentence("latest.unknown", found=said), f"{_DISTRUST}; {_WORK}")]
        return [Problem(sentence("latest.wrong", found=said, name=right), "the next night repairs it")]

    def _missing(self) -> list[Problem]:
        """The newest release, which nothing here ever removes."""
        newest = self._newest()
        if newest is None or _is_folder(self.folder / newest):
            return []
        return [Problem(f"{newest} is the newest release of the ledger, and is not here", "hybrid release CONFIG")]


def verify_own(release_dir: Path, ledger: Ledger) -> list[Problem]:
    """List every problem of a release of this installation, in its folder named as it was published.

    The ledger must hold it. Its signature must be of one of the installation's keys; only a release that the ledger
    holds from before the first key may be unsigned.
    """
    return OwnReleases(release_dir.parent, ledger).problems(release_dir.name)


def newest_own(releases_dir: Path, ledger: Ledger, data_set: str) -> Release | None:
    """Newest release of a data set (:meth:`OwnReleases.newest`)."""
    return OwnReleases(releases_dir, ledger).newest(data_set)


def repair_latest(own: OwnReleases) -> str:
    """Let ``latest`` name the newest true release that is not withdrawn.

    It names another one, or none, after a process was killed before it could name this one, or if somebody turned it.
    Without such a release it is left as it is.

    Returns
    -------
    str
        What was done; empty if ``latest`` is as it was.
    """
    right, said = own.right_latest(), _latest_words(own.folder)
    if right is None or right == named_latest(own.folder):
        return ""
    point_latest(own.folder / right)
    return sentence("latest.turned", found=said, name=right)


def _latest_words(releases_dir: Path) -> str:
    named = named_latest(releases_dir)
    if named is None:
        return sentence("latest.no_link" if os.path.lexists(releases_dir / LATEST) else "latest.none", latest=LATEST)
    return sentence("latest.names", latest=LATEST, name=shown(named))


def shown(name: str) -> str:
    """Name of a foreign folder in one line, without hidden characters."""
    return name if name.isprintable() else ascii(name)


def _is_odd(hidden: Path) -> bool:
    try:
        return not is_workplace(hidden)
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _bytes(folder: Path) -> int:
    try:
        with os.scandir(folder) as found:
            return sum(one.stat(follow_symlinks=False).st_size for one in found)
    except OSError:
        return 0


class ReleaseTags(NamedTuple):
    """Keyed tags of the source, and of source and method (:mod:`hybrid.publication.key`)."""

    data: str
    release: str


def tags_of(release: Release, ledger: Ledger) -> ReleaseTags:
    """Tags of a release: of its certificate, or of the ledger where withheld; empty where neither has them."""
    certificate = release.certificate
    stated = certificate.get("release_tag")
    if stated != WITHHELD:
        return ReleaseTags(str((certificate.get("source") or {}).get("tag") or ""), str(stated or ""))
    entry = next((known for known in ledger.entries() if known.release == release.path.name), None)
    return ReleaseTags("", "") if entry is None else ReleaseTags(entry.data_tag, entry.release_tag)
