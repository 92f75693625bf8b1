"""Decisions of people on a run: approvals of a review, and runs that were sent back.

Where the policy has a roster of approvers, only approvals count that one of their keys has signed; the ledger keeps
statement and signature, and both are verified again each time approvals are counted. Without a roster, names count as
they were given: a note of a decision, not a proof. Two accounts prove no second person either: one may have both.

After a run was sent back, nothing of the same source, method and policy is published, whatever the seed, until the
person who sent it back approves. Runs by another method or under another policy are judged as always; who approves them
is shown why the earlier ones were sent back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError, GateRefused, VerificationError
from hybrid.base.os_account import account, is_chosen
from hybrid.base.sentence import sentence, sentences
from hybrid.publication.approvers import (
    NO_ROSTER,
    ROSTER_HINT,
    Approver,
    SignatureProblem,
    clean_name,
    clean_text,
    key_fingerprint,
    person_of,
    verify_signature,
)
from hybrid.publication.certificate import Acceptance
from hybrid.publication.draws import check_seal
from hybrid.publication.finished_run import FinishedRun, read_run
from hybrid.publication.folder import opened
from hybrid.publication.key import release_key, release_tag
from hybrid.publication.ledger import Approval, Ledger
from hybrid.publication.nights import held_run

NAMESPACE = "hybrid-approval"
"""Purpose of the signatures: ``ssh-keygen -Y sign -n hybrid-approval``."""
RAN_BY = "ran_by"
"""Entry of a run's manifest: the account that ran it."""
FORMAT = 1
_CLOCKS_DIFFER = timedelta(minutes=10)
_GIVEN_BY_ANYBODY = (
    "it was given inside a user namespace (unshare, or a container without root), where all may choose their account, "
    "and the policy separates duties by accounts"
)
_RUN_BY_ANYBODY = (
    "it was run inside a user namespace (unshare, or a container without root), where all may choose their account, "
    "and the policy separates duties by accounts"
)
_RUN_AGAIN = "run it again outside of a container without root; or a policy of your own with separate_duties: false"
_ANOTHER_PERSON = (
    "another person decides, from an account of their own outside of a container without root; or a policy of your own "
    "with separate_duties: false"
)
_UNPROVEN = "not proven: the name as it was given"
_UNPROVEN_SEVERAL = "not proven: the name as it was given; two accounts of one machine prove no second person"
_SAME = "it was given from the account that ran it, and the policy separates these duties"
_SIGN = "hybrid approve RUN --by NAME --reason TEXT --statement FILE, then: ssh-keygen -Y sign -n hybrid-approval"


@dataclass(frozen=True)
class SignedStatement:
    """Statement of an approver, and the signature by ``ssh-keygen -Y sign``."""

    statement: str
    signature: str


def statement_of(run: FinishedRun, by: str, reason: str, now: datetime) -> str:
    """Statement that an approver signs: JSON, one entry a line."""
    content = _about(run) | {
        "by": clean_name(by, "--by"),
        "reason": _reason(reason),
        "made": now.astimezone(UTC).isoformat(timespec="seconds"),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_statement(file: Path, run_dir: Path, by: str, reason: str, now: datetime) -> None:
    """Write the statement of :func:`statement_of` into a file, for its approver alone."""
    if file.exists():
        raise ConfigError(f"{file}: there is a file already; it was left as it is", hint="choose another name")
    write_text(file, statement_of(read_run(run_dir), by, reason, now), private=True)


def read_signed(file: Path) -> SignedStatement:
    """Read a statement and the signature beside it."""
    signature = file.with_name(f"{file.name}.sig")
    try:
        return SignedStatement(file.read_bytes().decode(), signature.read_bytes().decode())
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{file}: the statement or {signature.name} cannot be read", hint=_SIGN) from None


def approve(
    run: FinishedRun, ledger: Ledger, by: str, reason: str, signed: SignedStatement | None, now: datetime
) -> None:
    """Check an approval as it is given, and keep it.

    Parameters
    ----------
    by, reason : str
        Who decides and why; of a signed approval, the statement says it.
    signed : SignedStatement or None
        Needed where the policy has a roster.
    now : datetime
        With a time zone.
    """
    if signed is not None:
        content = _content(signed.statement)
        by, reason = str(content.get("by", "")), str(content.get("reason", ""))
        at = str(content.get("made", ""))
    else:
        at = now.astimezone(UTC).isoformat(timespec="seconds")
    if not by.strip() or not reason.strip():
        raise ConfigError("accepting a review needs a name and a reason", hint="give both; the certificate shows them")
    if run.policy.approvers and signed is None:
        names = ", ".join(approver.name for approver in run.policy.approvers)
        raise ConfigError(f"the policy accepts signed approvals only, of {names}", hint=_SIGN)
    if run.policy.lacks_roster:
        raise ConfigError(f"{run.policy.name}: {NO_ROSTER}, so that nobody can accept a review", hint=ROSTER_HINT)
    proof = "" if signed is None else json.dumps([signed.statement, signed.signature])
    given = Approval(clean_name(by, "--by"), _reason(reason), at, account(), proof)
    problem = _problem(run, given, now) or _same_account(run, given, ledger.approvals(run.id))
    if problem:
        raise VerificationError(sentence("approval.not_counted", by=given.by, problem=problem), hint=_hint(run))
    ledger.approve(run.id, given)


def accepted(run: FinishedRun, ledger: Ledger, now: datetime) -> tuple[Acceptance, ...]:
    """Approvals of a run that count, one for each person, oldest first.

    A clock that was set back does not revive an approval: the time is never before the ledger's newest event.
    """
    now = max([now, *(datetime.fromisoformat(event.at) for event in ledger.events(last=1))])
    found: dict[str, Acceptance] = {}
    counted: list[Approval] = []
    for given in ledger.approvals(run.id):
        person = person_of(given.by)
        if person in found or _problem(run, given, now) or _same_account(run, given, counted):
            continue
        counted.append(given)
        found[person] = Acceptance(given.by, given.reason, given.at, _proof(run, given))
    return tuple(found.values())


def _problem(run: FinishedRun, given: Approval, now: datetime) -> str:
    policy = run.policy
    made = _time(given.at)
    if made is None or made > now + _CLOCKS_DIFFER:
        return "it has no time, or one in the future"
    if now - made > timedelta(days=policy.approval_days):
        return sentence("approval.too_old", days=policy.approval_days)
    ran_by = run.manifest.get(RAN_BY)
    if policy.lacks_roster:
        return NO_ROSTER
    if policy.approvers:
        return next(_signed_problems(run, given, ran_by, now), "")
    if not policy.separates_duties:
        return ""
    if is_chosen(given.account):
        return _GIVEN_BY_ANYBODY
    return _unknown_author(ran_by) or (_SAME if given.account == ran_by else "")


def _unknown_author(ran_by: str | None) -> str:
    """Reason why the author is unknown; empty if the account counts."""
    if ran_by is None:
        return _SAME
    return _RUN_BY_ANYBODY if is_chosen(ran_by) else ""


def _same_account(run: FinishedRun, given: Approval, others: Iterable[Approval]) -> str:
    if run.policy.approvers or not run.policy.separates_duties:
        return ""
    of_account = [other.by for other in others if other.account == given.account]
    if all(person_of(name) == person_of(given.by) for name in of_account):
        return ""
    return sentence("approval.same_account", by=of_account[0])


def _signed_problems(run: FinishedRun, given: Approval, ran_by: str | None, now: datetime) -> Iterator[str]:
    approver = _on_roster(run, given.by)
    if approver is None:
        yield "the policy's roster does not name this person"
        return
    if approver.until is not None and now.date() > approver.until:
        yield sentence("approval.until", day=f"{approver.until}")
    if run.policy.separates_duties and (_unknown_author(ran_by) or ran_by in approver.accounts):
        yield "who ran it does not approve it" if ran_by is None or not is_chosen(ran_by) else _unknown_author(ran_by)
    signed = _signed(given)
    if signed is None:
        yield "it is not signed"
        return
    try:
        content = _content(signed.statement)
    except VerificationError as error:
        yield error.problems[0].message
        return
    differing = tuple(key for key, value in _about(run).items() if content.get(key) != value)
    if differing:
        yield sentence("approval.other", what=differing)
    if (content.get("by"), content.get("made")) != (given.by, given.at):
        yield "the statement names another person or time"
    try:
        verify_signature(signed.statement.encode(), signed.signature, approver.public_key, NAMESPACE)
    except SignatureProblem as problem:
        yield sentence("approval.signature", problem=str(problem))


def _on_roster(run: FinishedRun, by: str) -> Approver | None:
    return next((found for found in run.policy.approvers if person_of(found.name) == person_of(by)), None)


def _signed(given: Approval) -> SignedStatement | None:
    try:
        statement, signature = json.loads(given.proof)
    except (ValueError, TypeError):
        return None
    return SignedStatement(str(statement), str(signature))


def _proof(run: FinishedRun, given: Approval) -> str:
    approver = _on_roster(run, given.by)
    if approver is None:
        return _UNPROVEN if run.policy.approvals < 2 else _UNPROVEN_SEVERAL
    return sentence("proof.signed", key=key_fingerprint(approver.public_key))


def _about(run: FinishedRun) -> dict[str, Any]:
    policy = run.policy
    return {
        "format": FORMAT,
        "decision": "release, although the policy asks for a review",
        "data_set": run.data_set,
        "run": run.id,
        "table": run.table_sha256,
        "policy": {"name": policy.name, "version": policy.version, "sha256": policy.sha256},
    }


def _content(statement: str) -> dict[str, Any]:
    try:
        content = json.loads(statement)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise VerificationError("this is not the statement of an approval", hint=_SIGN)
    return content


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _reason(text: str) -> str:
    return clean_text(text, "--reason")


def _hint(run: FinishedRun) -> str:
    if is_chosen(run.manifest.get(RAN_BY) or ""):
        return _RUN_AGAIN
    if run.policy.approvers:
        return _SIGN
    return _ANOTHER_PERSON


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
        return sentence("sent_back", run=self.folder, day=self.at[:10], by=self.by, reason=self.reason)


class SentBackRuns(Ledger):
    """Runs sent back, in the ledger of a private zone."""

    def keep(self, given: SentBack) -> None:
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
    releases_dir, private_dir : Path
        The public and the private zone.
    by, reason : str
        Who sends it back and why; both stay in the private zone. Anybody may: nothing comes out by it.
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
            replace(held, outcome="refused", message=sentence("sent_back.by", by=name, reason=why)).keep(private_dir)
        ledger.note(run.data_set, "sent back", sentence("event.run", run=given.folder, by=name, reason=why))
    return given


def blocking_runs(run: FinishedRun, private_dir: Path, now: datetime) -> tuple[SentBack, ...]:
    """Runs of the same source, method and policy that were sent back and keep a run from being published.

    One is lifted by a later approval of this run that counts: by the same person, from the same account or signed.
    """
    tag = release_tag(release_key(private_dir), run.manifest)
    found = [one for one in SentBackRuns(private_dir).of_data_set(run.data_set) if one.release_tag == tag]
    same = [one for one in found if one.policy == run.policy.sha256]
    return tuple(one for one in same if not _lifted(one, run, Ledger(private_dir), now)) if same else ()


def since_last_release(data_set: str, private_dir: Path) -> tuple[SentBack, ...]:
    ledger = SentBackRuns(private_dir)
    released = max((one.created for one in ledger.entries(data_set)), default="")
    return tuple(one for one in ledger.of_data_set(data_set) if one.at > released)


def refuse_sent_back(run: FinishedRun, blocking_runs: Sequence[SentBack], ledger: Ledger) -> None:
    """Refuse a run whose source, method and policy were sent back (GateRefused, with every reason)."""
    if blocking_runs:
        message = sentences(*(one.words for one in blocking_runs), between="further")
        ledger.note(run.data_set, "refused", message)
        names = " and ".join(dict.fromkeys(one.by for one in blocking_runs))
        raise GateRefused(
            sentence("sent_back.blocks", found=message),
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
