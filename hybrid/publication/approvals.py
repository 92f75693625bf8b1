"""Approvals of a review: by whom, until when, with what proof.

Where the policy has a roster of approvers, only approvals count that one of their keys has signed; the ledger keeps
statement and signature, and both are verified again each time approvals are counted. Without a roster, names count as
they were given: a note of a decision, not a proof. Two accounts prove no second person either: one may have both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hybrid.base.account import account, is_chosen
from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError, VerificationError
from hybrid.publication.approvers import NO_ROSTER, ROSTER_HINT, Approver
from hybrid.publication.certificate import Acceptance
from hybrid.publication.finished_run import FinishedRun, read_run
from hybrid.publication.ledger import Approval, Ledger
from hybrid.publication.names import clean_name, clean_text, person_of
from hybrid.publication.ssh_signature import SignatureProblem, key_fingerprint, verify_signature

NAMESPACE = "hybrid-approval"
"""Purpose of the signatures: ``ssh-keygen -Y sign -n hybrid-approval``."""
RAN_BY = "ran_by"
"""Entry of a run's manifest: the account that ran it."""
FORMAT = 1
_CLOCKS_DIFFER = timedelta(minutes=10)
_ANYBODY = " inside a user namespace (unshare, or a container without root), where all may choose their account"
_OUTSIDE = " outside of a container without root; or a policy of your own with separate_duties: false"
_SAME = "it was given from the account that ran it, and the policy separates these duties"
_SIGN = "hybrid approve RUN --by NAME --reason TEXT --statement FILE, then: ssh-keygen -Y sign -n hybrid-approval"


@dataclass(frozen=True)
class SignedStatement:
    """Statement of an approver, and the signature by ``ssh-keygen -Y sign``."""

    statement: str
    signature: str


def statement_of(run: FinishedRun, by: str, reason: str, now: datetime) -> str:
    """Statement that an approver signs: JSON, one entry a line.

    Raises
    ------
    ConfigError
        The name or the reason is missing or cannot be used.
    """
    content = _about(run) | {
        "by": clean_name(by, "--by"),
        "reason": _reason(reason),
        "made": now.astimezone(UTC).isoformat(timespec="seconds"),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_statement(file: Path, run_dir: Path, by: str, reason: str, now: datetime) -> None:
    """Write the statement of :func:`statement_of` into a file, for its approver alone.

    Raises
    ------
    ConfigError
        The name or the reason is missing or cannot be used, or there is a file already.
    DataError, VerificationError
        The folder holds no finished run.
    """
    if file.exists():
        raise ConfigError(f"{file}: there is a file already; it was left as it is", hint="choose another name")
    write_text(file, statement_of(read_run(run_dir), by, reason, now), private=True)


def read_signed(file: Path) -> SignedStatement:
    """Read a statement and the signature beside it.

    Raises
    ------
    ConfigError
        One of the files is missing, or no text.
    """
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
    run : FinishedRun
        What is approved.
    ledger : Ledger
        Keeps the approval.
    by, reason : str
        Who decides and why; of a signed approval, the statement says it.
    signed : SignedStatement or None
        Needed where the policy has a roster.
    now : datetime
        With a time zone.

    Raises
    ------
    ConfigError
        A name or a reason is missing or cannot be used, or the policy wants a signature.
    VerificationError
        The statement is of another run or policy, too old, by somebody who is not on the roster, or its signature does
        not fit; or who ran it approves it.
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
        raise VerificationError(f"the approval by {given.by} does not count: {problem}", hint=_hint(run))
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
    """Reason why an approval does not count; empty if it does."""
    policy = run.policy
    made = _time(given.at)
    if made is None or made > now + _CLOCKS_DIFFER:
        return "it has no time, or one in the future"
    if now - made > timedelta(days=policy.approval_days):
        return f"it is older than {policy.approval_days:g} days"
    ran_by = run.manifest.get(RAN_BY)
    if policy.lacks_roster:
        return NO_ROSTER
    if policy.approvers:
        return next(_signed_problems(run, given, ran_by, now), "")
    if not policy.separates_duties:
        return ""
    if is_chosen(given.account):
        return f"it was given{_ANYBODY}, and the policy separates duties by accounts"
    return _unknown_author(ran_by) or (_SAME if given.account == ran_by else "")


def _unknown_author(ran_by: str | None) -> str:
    """Reason why the author is unknown; empty if the account counts."""
    if ran_by is None:
        return _SAME
    return f"it was run{_ANYBODY}, and the policy separates duties by accounts" if is_chosen(ran_by) else ""


def _same_account(run: FinishedRun, given: Approval, others: Iterable[Approval]) -> str:
    """Reason why an approval is not another person's, or empty."""
    if run.policy.approvers or not run.policy.separates_duties:
        return ""
    of_account = [other.by for other in others if other.account == given.account]
    if all(person_of(name) == person_of(given.by) for name in of_account):
        return ""
    return f"{of_account[0]} approved from the same account, and the policy wants different people"


def _signed_problems(run: FinishedRun, given: Approval, ran_by: str | None, now: datetime) -> Iterator[str]:
    approver = _on_roster(run, given.by)
    if approver is None:
        yield "the policy's roster does not name this person"
        return
    if approver.until is not None and now.date() > approver.until:
        yield f"the roster names this person until {approver.until}"
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
    differing = [key for key, value in _about(run).items() if content.get(key) != value]
    if differing:
        yield f"the statement is about something else: {', '.join(differing)}"
    if (content.get("by"), content.get("made")) != (given.by, given.at):
        yield "the statement names another person or time"
    try:
        verify_signature(signed.statement.encode(), signed.signature, approver.public_key, NAMESPACE)
    except SignatureProblem as problem:
        yield f"the signature does not fit: {problem}"


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
        alone = "" if run.policy.approvals < 2 else "; two accounts of one machine prove no second person"
        return f"not proven: the name as it was given{alone}"
    return f"signed by key {key_fingerprint(approver.public_key)}"


def _about(run: FinishedRun) -> dict[str, Any]:
    """Subject of an approval."""
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
        return f"run it again{_OUTSIDE}"
    if run.policy.approvers:
        return _SIGN
    return f"another person decides, from an account of their own{_OUTSIDE}"
