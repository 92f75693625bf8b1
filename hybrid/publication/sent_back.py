"""Runs that a person sent back instead of approving them.

Of the same source, method and policy nothing is published after that, whatever the seed, until whoever sent it back
approves. Runs of the data set by another method, or under another policy, are judged as always; who approves them is
shown why the earlier ones were sent back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from hybrid.base.account import account, is_chosen
from hybrid.base.errors import ConfigError, GateRefused
from hybrid.publication.approvals import accepted
from hybrid.publication.finished_run import FinishedRun, read_run
from hybrid.publication.folder import opened
from hybrid.publication.held_run import held_run
from hybrid.publication.key import release_key, release_tag
from hybrid.publication.ledger import Ledger
from hybrid.publication.names import clean_name, clean_text, person_of
from hybrid.publication.seal import check_seal


@dataclass(frozen=True)
class SentBack:
    """A run that was sent back."""

    run: str
    """SHA-256 of its manifest."""
    folder: str
    """Name of its folder."""
    data_set: str
    release_tag: str
    """Of source and method (:func:`hybrid.publication.key.release_tag`)."""
    policy: str
    """SHA-256 of the policy."""
    at: str
    """UTC, ISO 8601."""
    by: str
    reason: str
    account: str
    """Account of the operating system, and host."""

    @property
    def words(self) -> str:
        """The run, the person and the reason."""
        return f"{self.folder} was sent back on {self.at[:10]} by {self.by}: {self.reason}"


class SentBackRuns(Ledger):
    """Runs sent back, in the ledger of a private zone."""

    def keep(self, given: SentBack) -> None:
        """Enter a run that was sent back."""
        row = asdict(given)
        with self._connected() as database:
            names = ", ".join(f":{name}" for name in row)
            database.execute(f"INSERT INTO sent_back ({', '.join(row)}) VALUES ({names})", row)

    def of_data_set(self, data_set: str) -> list[SentBack]:
        """Runs of a data set that were sent back, oldest first."""
        with self._connected() as database:
            rows = database.execute("SELECT * FROM sent_back WHERE data_set = ? ORDER BY rowid", (data_set,)).fetchall()
        return [SentBack(**row) for row in rows]


def send_back(run_dir: Path, releases_dir: Path, private_dir: Path, by: str, reason: str) -> SentBack:
    """Send a run back, with a reason for its authors.

    Parameters
    ----------
    run_dir : Path
        Folder of a finished run.
    releases_dir, private_dir : Path
        The public and the private zone.
    by, reason : str
        Who sends it back and why; both stay in the private zone. Anybody may: nothing comes out by it.

    Raises
    ------
    ConfigError
        A name or a reason is missing or cannot be used, or the run's source and method are released already.
    DataError, VerificationError
        The folder holds no finished run of this private zone.
    """
    name, why = clean_name(by, "--by"), clean_text(reason, "--reason")
    if not why:
        raise ConfigError("sending a run back needs a reason", hint="give --reason; the next person reads it")
    run = read_run(run_dir)
    check_seal(run, private_dir)
    ledger = SentBackRuns(private_dir)
    tag = release_tag(release_key(private_dir), run.manifest)
    with opened(releases_dir):
        ledger.settle(releases_dir)
        gone = {one.release for one in ledger.withdrawals()}
        out = next((one for one in ledger.entries() if one.release_tag == tag and one.release not in gone), None)
        if out is not None:
            raise ConfigError(f"{run_dir}: this data and method are released as {out.release}", hint="hybrid withdraw")
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        given = SentBack(run.id, run.folder.name, run.data_set, tag, run.policy.sha256, at, name, why, account())
        ledger.keep(given)
        held = held_run(private_dir, run.data_set)
        if held is not None and held.run_id == run.id:
            replace(held, outcome="refused", message=f"sent back by {name}: {why}").keep(private_dir)
        ledger.note(run.data_set, "sent back", f"{given.folder} by {name}: {why}")
    return given


def standing(run: FinishedRun, private_dir: Path, now: datetime) -> tuple[SentBack, ...]:
    """Runs sent back that keep a run from being published.

    They are of its source, method and policy. One is lifted by an approval of this run, later, that counts: by the
    same person, from the same account or signed.
    """
    tag = release_tag(release_key(private_dir), run.manifest)
    found = [one for one in SentBackRuns(private_dir).of_data_set(run.data_set) if one.release_tag == tag]
    same = [one for one in found if one.policy == run.policy.sha256]
    return tuple(one for one in same if not _lifted(one, run, Ledger(private_dir), now)) if same else ()


def since_last_release(data_set: str, private_dir: Path) -> tuple[SentBack, ...]:
    """Runs sent back since the last release of a data set."""
    ledger = SentBackRuns(private_dir)
    released = max((one.created for one in ledger.entries(data_set)), default="")
    return tuple(one for one in ledger.of_data_set(data_set) if one.at > released)


def refuse_sent_back(run: FinishedRun, standing: Sequence[SentBack], ledger: Ledger) -> None:
    """Refuse a run whose source, method and policy were sent back.

    Raises
    ------
    GateRefused
        With every reason.
    """
    if standing:
        message = "; ".join(one.words for one in standing)
        ledger.note(run.data_set, "refused", message)
        names = " and ".join(dict.fromkeys(one.by for one in standing))
        raise GateRefused(
            f"{message}; of this data, method and policy nothing was published",
            hint=f"change the method so that the reason no longer holds, and run again; or {names} approves",
        )


def _lifted(one: SentBack, run: FinishedRun, ledger: Ledger, now: datetime) -> bool:
    later = {
        person_of(given.by)
        for given in ledger.approvals(run.id)
        if datetime.fromisoformat(given.at) > datetime.fromisoformat(one.at)
        and (run.policy.approvers or (given.account == one.account and not is_chosen(one.account)))
    }
    counted = {person_of(given.by) for given in accepted(run, ledger, now)}
    return person_of(one.by) in later & counted
