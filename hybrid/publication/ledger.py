"""Ledger: all releases of all data sets in one private SQLite file.

A release is entered before its folder appears and confirmed after. If the process is killed in between, the next call
finds out which of the two it was.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybrid.base.atomic import make_private
from hybrid.base.errors import OutputError
from hybrid.base.sentence import packed, unpacked
from hybrid.publication.certificate import Acceptance
from hybrid.publication.composition import Exposure, JointClasses
from hybrid.publication.gate import DrawNumber

LEDGER = "ledger.sqlite"
WAIT_SECONDS = 60
_FORMATS = (
    """
CREATE TABLE releases (
    release TEXT NOT NULL, folder TEXT NOT NULL, data_set TEXT NOT NULL, created TEXT NOT NULL,
    data_tag TEXT NOT NULL, release_tag TEXT NOT NULL, status TEXT NOT NULL, policy TEXT NOT NULL,
    acceptances TEXT NOT NULL, metrics TEXT NOT NULL, exposure TEXT, joint_classes BLOB, confirmed INTEGER NOT NULL,
    PRIMARY KEY (folder, release));
CREATE TABLE approvals (run TEXT NOT NULL, by TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (run, by));
CREATE TABLE events (data_set TEXT NOT NULL, at TEXT NOT NULL, outcome TEXT NOT NULL, message TEXT NOT NULL);
""",
    """
CREATE TABLE draws (data_tag TEXT NOT NULL, policy TEXT NOT NULL, draw TEXT NOT NULL, number INTEGER NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (data_tag, policy, draw));
""",
    """
ALTER TABLE approvals ADD COLUMN account TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN proof TEXT NOT NULL DEFAULT '';
CREATE TABLE withdrawals (folder TEXT NOT NULL, release TEXT NOT NULL, at TEXT NOT NULL, by TEXT NOT NULL,
    reason TEXT NOT NULL, account TEXT NOT NULL, PRIMARY KEY (folder, release));
CREATE TABLE deliveries (release TEXT NOT NULL, target TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE outs (data_set TEXT NOT NULL, release TEXT NOT NULL, at TEXT NOT NULL);
INSERT INTO outs SELECT data_set, release, created FROM releases WHERE confirmed ORDER BY rowid;
""",
    """
CREATE TABLE payments (payment TEXT PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, unit TEXT NOT NULL,
    draw TEXT NOT NULL, rho REAL NOT NULL, delta REAL NOT NULL, stated_delta REAL NOT NULL);
CREATE TABLE payers (payment TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (source, payment));
""",
    """
CREATE TABLE sent_back (run TEXT NOT NULL, folder TEXT NOT NULL, data_set TEXT NOT NULL, release_tag TEXT NOT NULL,
    policy TEXT NOT NULL, at TEXT NOT NULL, by TEXT NOT NULL, reason TEXT NOT NULL, account TEXT NOT NULL);
""",
    """
CREATE TABLE draws_of_sets (data_tag TEXT NOT NULL, policy TEXT NOT NULL, data_set TEXT NOT NULL, draw TEXT NOT NULL,
    number INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (data_tag, policy, data_set, draw));
INSERT INTO draws_of_sets SELECT data_tag, policy, '', draw, number, at FROM draws;
DROP TABLE draws;
ALTER TABLE draws_of_sets RENAME TO draws;
""",
    """
CREATE TABLE certificates (folder TEXT NOT NULL, release TEXT NOT NULL, sha256 TEXT NOT NULL,
    PRIMARY KEY (folder, release));
""",
)
"""Statements that lead from each format to the next; an older ledger keeps its rows."""


@dataclass(frozen=True)
class LedgerEntry:
    """Entry of one release in the ledger."""

    release: str
    """Name of its folder."""
    data_set: str
    """Name of the config it was made by."""
    created: str
    """UTC, ISO 8601."""
    data_tag: str
    release_tag: str
    status: str
    """Verdict of the gate: pass or review."""
    policy: str
    """Name and version."""
    acceptances: tuple[Acceptance, ...]
    metrics: tuple[dict[str, Any], ...]
    """As in the certificate."""
    exposure: Exposure | None
    """Exposure together with all earlier releases; None if unknown."""


@dataclass(frozen=True)
class ReleaseOrigin:
    """Folder and certificate with which a release was published."""

    release: str
    folder: str
    """Absolute path of the folder of all releases."""
    certificate: str
    """SHA-256 of the file; empty where an earlier version published it."""


@dataclass(frozen=True)
class Approval:
    """Approval of a run as it was given."""

    by: str
    reason: str
    at: str
    """UTC, ISO 8601."""
    account: str
    """Account of the operating system, and host."""
    proof: str
    """Statement and signature as JSON; empty where the name was not proven."""


@dataclass(frozen=True)
class Withdrawal:
    """Withdrawal of a release."""

    release: str
    at: str
    """UTC, ISO 8601."""
    by: str
    reason: str
    account: str
    """Account of the operating system, and host."""


@dataclass(frozen=True)
class Delivery:
    """Delivery of a release to another place."""

    target: str
    at: str
    """UTC, ISO 8601."""
    newest: str
    """Name of the release that the target got last."""


@dataclass(frozen=True)
class LedgerEvent:
    """Event for operators: a release, a refusal, a night that was kept or failed."""

    data_set: str
    at: str
    """UTC, ISO 8601."""
    outcome: str
    """released, kept, refused, waiting, sent back, withdrawn, repaired, stopped, failed or interrupted."""
    message: str
    """No cell value."""


class Ledger:
    """The ledger in a private zone.

    Parameters
    ----------
    private_dir : Path
        The private zone; the file is made there (mode 0600) when first written to.
    """

    def __init__(self, private_dir: Path) -> None:
        self.path = private_dir / LEDGER

    def entries(self, data_set: str | None = None) -> list[LedgerEntry]:
        """Confirmed releases in order of entry, optionally of one data set."""
        with self._connected() as database:
            rows = database.execute(
                "SELECT * FROM releases WHERE confirmed AND (data_set = ? OR ? IS NULL) ORDER BY rowid",
                (data_set, data_set),
            ).fetchall()
        return [_entry(row) for row in rows]

    def joint_classes(self, data_set: str) -> JointClasses | None:
        """Joint classes of the confirmed releases; None where the records of one are unknown."""
        with self._connected() as database:
            last = database.execute(
                "SELECT joint_classes FROM releases WHERE confirmed AND data_set = ? ORDER BY rowid DESC LIMIT 1",
                (data_set,),
            ).fetchone()
        if last is None:
            return JointClasses.empty()
        content = last["joint_classes"]
        return None if content is None else JointClasses.from_bytes(content)

    def origins(self) -> list[ReleaseOrigin]:
        """Origin of each confirmed release, in order of entry."""
        with self._connected() as database:
            rows = database.execute(
                "SELECT release, folder, COALESCE(sha256, '') AS certificate FROM releases"
                " LEFT JOIN certificates USING (folder, release) WHERE confirmed ORDER BY releases.rowid"
            ).fetchall()
        return [ReleaseOrigin(**row) for row in rows]

    def enter(self, entry: LedgerEntry, folder: Path, joint: JointClasses | None, certificate: str = "") -> None:
        """Enter a release before its folder appears under ``folder``.

        ``certificate``: SHA-256 of its certificate, by which no key that was stolen later can exchange it.
        """
        row = {
            **{key: getattr(entry, key) for key in _PLAIN},
            "folder": str(folder.resolve()),
            "acceptances": json.dumps([asdict(one) | {"proof": packed(one.proof)} for one in entry.acceptances]),
            "metrics": json.dumps(entry.metrics),
            "exposure": None if entry.exposure is None else json.dumps(asdict(entry.exposure)),
            "joint_classes": None if joint is None else joint.to_bytes(),
            "confirmed": 0,
        }
        with self._connected() as database:
            names = ", ".join(row)
            database.execute(f"INSERT INTO releases ({names}) VALUES ({', '.join(f':{name}' for name in row)})", row)
            if certificate:
                kept = (row["folder"], entry.release, certificate)
                database.execute("INSERT OR REPLACE INTO certificates VALUES (?, ?, ?)", kept)

    def settle(self, folder: Path) -> None:
        """Confirm entered releases whose folder exists; remove those whose folder does not."""
        with self._connected() as database:
            where = str(folder.resolve())
            entered = database.execute(
                "SELECT rowid, release, data_set FROM releases WHERE NOT confirmed AND folder = ? ORDER BY rowid",
                (where,),
            ).fetchall()
            for row, release, data_set in entered:
                if not (folder / release).is_dir():
                    database.execute("DELETE FROM releases WHERE rowid = ?", (row,))
                    continue
                database.execute("UPDATE releases SET confirmed = 1 WHERE rowid = ?", (row,))
                _put_out(database, data_set, release)
                # The newest state holds all earlier ones.
                database.execute(
                    "UPDATE releases SET joint_classes = NULL WHERE data_set = ? AND rowid < ?", (data_set, row)
                )

    def put_out(self, data_set: str, release: str) -> None:
        """Record that an earlier release is out again."""
        with self._connected() as database:
            _put_out(database, data_set, release)

    def outs(self, data_set: str | None = None) -> list[str]:
        """Releases in the order of being put out, optionally of one data set; one that came back is there twice."""
        with self._connected() as database:
            rows = database.execute(
                "SELECT release FROM outs WHERE data_set = ? OR ? IS NULL ORDER BY rowid", (data_set, data_set)
            ).fetchall()
        return [row["release"] for row in rows]

    def withdraw(self, folder: Path, given: Withdrawal) -> Withdrawal:
        """Record the withdrawal of a release; one that was recorded before stays as it is."""
        with self._connected() as database:
            row = (str(folder.resolve()), given.release, given.at, given.by, given.reason, given.account)
            database.execute("INSERT OR IGNORE INTO withdrawals VALUES (?, ?, ?, ?, ?, ?)", row)
        return next(found for found in self.withdrawals() if found.release == given.release)

    def withdrawals(self) -> list[Withdrawal]:
        """All withdrawals, oldest first."""
        with self._connected() as database:
            columns = "release, at, by, reason, account"
            rows = database.execute(f"SELECT {columns} FROM withdrawals ORDER BY rowid").fetchall()
        return [Withdrawal(**row) for row in rows]

    def deliver(self, release: str, target: str) -> None:
        """Record that a target has got a release."""
        with self._connected() as database:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            database.execute("INSERT INTO deliveries VALUES (?, ?, ?)", (release, target, now))

    def deliveries(self, release: str) -> list[Delivery]:
        """Targets that got a release, oldest first."""
        later = "SELECT release FROM deliveries AS newer WHERE newer.target = one.target ORDER BY rowid DESC LIMIT 1"
        with self._connected() as database:
            rows = database.execute(
                f"SELECT target, MAX(at) AS at, ({later}) AS newest FROM deliveries AS one WHERE release = ?"
                " GROUP BY target ORDER BY MIN(rowid)",
                (release,),
            ).fetchall()
        return [Delivery(**row) for row in rows]

    def approve(self, run: str, given: Approval) -> None:
        """Keep an approval of a run; one by the same name replaces it."""
        with self._connected() as database:
            row = (run, given.by, given.reason, given.at, given.account, given.proof)
            database.execute("INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?)", row)

    def approvals(self, run: str) -> list[Approval]:
        """Approvals of a run as they were given, oldest first."""
        with self._connected() as database:
            asked = "SELECT by, reason, at, account, proof FROM approvals WHERE run = ? ORDER BY at, by"
            rows = database.execute(asked, (run,)).fetchall()
        return [Approval(**row) for row in rows]

    def count_draw(self, data_set: str, data_tag: str, policy: str, draw: str, at_least: int = 1) -> DrawNumber:
        """Count a draw, once.

        Draws that were counted before the ledger kept the data set count for every one.

        Parameters
        ----------
        data_set, data_tag, policy : str
            Name of the data set, tag of the data, and SHA-256 of the policy: draws are numbered for each three of them.
        at_least : int
            Lowest number that it may get, 1 or more; a number given before is raised to it.

        Returns
        -------
        Draw
            Its number, and the highest so far.
        """
        asked = {"data_set": data_set, "data_tag": data_tag, "policy": policy, "draw": draw}
        of_all = "FROM draws WHERE data_tag = :data_tag AND policy = :policy"
        own = f"{of_all} AND data_set IN (:data_set, '')"
        with self._connected() as database:
            highest = database.execute(f"SELECT COALESCE(MAX(number), 0) {own}", asked).fetchone()[0]
            counted = database.execute(f"SELECT MAX(number) {own} AND draw = :draw", asked).fetchone()[0]
            number = max(highest + 1 if counted is None else counted, at_least)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            database.execute(
                "INSERT INTO draws VALUES (:data_tag, :policy, :data_set, :draw, :number, :at)"
                " ON CONFLICT DO UPDATE SET number = excluded.number",
                asked | {"number": number, "at": now},
            )
            others = f"SELECT COUNT(*) {of_all} AND data_set NOT IN (:data_set, '')"
            elsewhere = database.execute(others, asked).fetchone()[0]
        return DrawNumber(number, max(highest, number), elsewhere)

    def has_draw(self, data_set: str, data_tag: str, policy: str, draw: str) -> bool:
        """True if :meth:`count_draw` has counted the draw."""
        with self._connected() as database:
            found = database.execute(
                "SELECT 1 FROM draws WHERE data_tag = ? AND policy = ? AND draw = ? AND data_set IN (?, '')",
                (data_tag, policy, draw, data_set),
            ).fetchone()
        return found is not None

    def note(self, data_set: str, outcome: str, message: str) -> None:
        """Record an event."""
        with self._connected() as database:
            now = datetime.now(UTC).isoformat(timespec="microseconds")
            database.execute("INSERT INTO events VALUES (?, ?, ?, ?)", (data_set, now, outcome, packed(message)))

    def events(self, data_set: str | None = None, last: int = 20) -> list[LedgerEvent]:
        """Newest events, oldest of them first."""
        with self._connected() as database:
            rows = database.execute(
                "SELECT * FROM events WHERE data_set = ? OR ? IS NULL ORDER BY rowid DESC LIMIT ?",
                (data_set, data_set, last),
            ).fetchall()
        return [_event(row) for row in reversed(rows)]

    def last_events(self, data_set: str | None = None) -> list[LedgerEvent]:
        """Last event of every data set, or of one."""
        with self._connected() as database:
            rows = database.execute(
                "SELECT * FROM events WHERE rowid IN (SELECT MAX(rowid) FROM events GROUP BY data_set)"
                " AND (data_set = ? OR ? IS NULL) ORDER BY rowid",
                (data_set, data_set),
            ).fetchall()
        return [_event(row) for row in rows]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction, rolled back if the block fails."""
        try:
            make_private(self.path.parent)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)) as database:
                database.row_factory = sqlite3.Row
                database.execute("BEGIN IMMEDIATE")
                self._prepare(database)
                yield database
                database.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise OutputError(
                f"{self.path}: the ledger cannot be read or written ({error})",
                hint="check the disk and the file; a backup of it can be put back",
            ) from None

    def _prepare(self, database: sqlite3.Connection) -> None:
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found > len(_FORMATS):
            raise OutputError(f"{self.path}: a newer version of this program wrote the ledger", hint="use that version")
        if found == len(_FORMATS):
            return
        for statement in "".join(_FORMATS[found:]).split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {len(_FORMATS)}")


def _put_out(database: sqlite3.Connection, data_set: str, release: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    database.execute("INSERT INTO outs VALUES (?, ?, ?)", (data_set, release, now))


def _event(row: Mapping[str, Any]) -> LedgerEvent:
    return LedgerEvent(row["data_set"], row["at"], row["outcome"], unpacked(row["message"]))


_PLAIN = ("release", "data_set", "created", "data_tag", "release_tag", "status", "policy")


def _entry(row: Mapping[str, Any]) -> LedgerEntry:
    exposure = row["exposure"]
    return LedgerEntry(
        **{key: row[key] for key in _PLAIN},
        acceptances=tuple(
            Acceptance(**found | {"proof": unpacked(found.get("proof", ""))})
            for found in json.loads(row["acceptances"])
        ),
        metrics=tuple(json.loads(row["metrics"])),
        exposure=None if exposure is None else Exposure(**json.loads(exposure)),
    )
