"""Publication of a run through the gate, all or nothing.

The release is written to ``releases/<date>-<id>/``.

A release holds the synthetic table, the report, the evaluation, a redacted manifest and the signed certificate. Labels
of real records (``anonymized.parquet``), models, seeds and paths stay behind.
"""

from __future__ import annotations

import json
import logging
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybrid.base.errors import ApprovalNeeded, ConfigError, GateRefused, Problem, VerificationError
from hybrid.base.hashing import file_sha256
from hybrid.base.manifest import MANIFEST, hash_files
from hybrid.base.ownership import CERTIFICATE
from hybrid.base.regular_file import open_regular
from hybrid.base.sentence import sentence
from hybrid.publication.approvals import SignedStatement, accepted, approve, blocking_runs, refuse_sent_back
from hybrid.publication.approvers import NO_ROSTER, ROSTER_HINT
from hybrid.publication.certificate import Acceptance, build_certificate
from hybrid.publication.column_roles import DecidedRoles, with_roles
from hybrid.publication.composition import Exposure
from hybrid.publication.description.write import ReleaseFacts, description_names, write_descriptions
from hybrid.publication.draws import check_seal, count_run
from hybrid.publication.facts import metrics_of, summary_of
from hybrid.publication.finished_run import (
    EVALUATION,
    FinishedRun,
    changed,
    read_run,
    refuse_known_leak,
    refuse_without_claim,
)
from hybrid.publication.folder import Release, incoming, opened, place, point_latest, read_release, releases_in
from hybrid.publication.gate import DrawNumber
from hybrid.publication.key import data_tag, record_secret, release_key, release_tag
from hybrid.publication.ledger import Ledger, LedgerEntry
from hybrid.publication.nights import approve_hint
from hybrid.publication.own_release import OwnReleases, repair_latest, tags_of
from hybrid.publication.pending_membership import JoinedHistory, forget_membership, joined_history
from hybrid.publication.rare_values import refuse_rare_values
from hybrid.publication.redact import private_evaluation, public_evaluation, public_manifest, refuse_leaks
from hybrid.publication.signing.envelope import ENVELOPE, signing_entry, write_envelope
from hybrid.publication.signing.keyring import release_signer, signing_keys
from hybrid.publication.verdict import Verdict
from hybrid.publication.verify import verify


@dataclass(frozen=True)
class ReleaseContents:
    """Files of a release that is still to be published."""

    copied: dict[str, str]
    """SHA-256 of files that the run holds and the release copies as they are, by name."""
    made: tuple[str, ...]
    """Files that publishing makes from the run: redacted copies, descriptions, certificate and its signature."""
    kept: tuple[str, ...]
    """Files of the run that stay behind."""


def release_contents(run: FinishedRun) -> ReleaseContents:
    """Files that publishing a run puts into the release's folder."""
    sources = {run.source_of(name).name for name in run.payload}
    return ReleaseContents(
        copied=dict(sorted(run.payload.items())),
        made=tuple(sorted((EVALUATION, MANIFEST, CERTIFICATE, ENVELOPE, *description_names(run)))),
        kept=tuple(sorted({MANIFEST, *run.manifest["files"]} - sources)),
    )


logger = logging.getLogger(__name__)


def publish(
    run_dir: Path,
    releases_dir: Path,
    private_dir: Path,
    *,
    accept_review: bool = False,
    by: str = "",
    reason: str = "",
    signed: SignedStatement | None = None,
    this_run: bool = False,
) -> Path:
    """Publish a finished run if its policy lets it out.

    The run's numbers are judged here, by the policy that the run carries and from files checked against the manifest,
    not taken from an earlier verdict. The draw is counted, with the other runs in the same folder, and judged by its
    number in the ledger, which is never below the one that the run states. The release is entered in the ledger,
    filled under a hidden name, written through to the disk and renamed; then ``latest`` is exchanged. Killed at any
    point, every earlier release is whole, ``latest`` names a whole release, and the next call clears up. A release is
    never overwritten. Runs of the same source, hierarchies and method (whatever their seed) are one release:
    publishing the second returns the first, unless that was damaged since; where another was out in between, ``latest``
    names the first again. Of a source and method whose release was withdrawn nothing is published, and of a run that
    was sent back (:mod:`hybrid.publication.approvals`) nothing until whoever sent it back approves.

    Parameters
    ----------
    releases_dir : Path
        The public zone; made if needed.
    private_dir : Path
        The private zone: the key of :mod:`hybrid.publication.key`, the ledger, and the run's membership.
    accept_review : bool
        Publish although the verdict is review; never although it is block.
    by, reason : str
        Who accepts the review and why; both are in the certificate.
    signed : SignedStatement, optional
        The approver's signed statement, instead of ``by`` and ``reason``; needed where the policy has a roster.
    this_run : bool
        Refuse where another draw of the same source and method is already released, instead of returning that one.

    Raises
    ------
    GateRefused
        The verdict is block; the failed checks are the problems. Or a text prints a value that few people of the source
        hold (:mod:`hybrid.publication.rare_values`). Or ``this_run``, and another draw is out. Or
        the release of the same source and method was withdrawn, or a run of them sent back.
    ApprovalNeeded
        The verdict is review, and too few people accepted it. An acceptance is kept in the ledger, and counts when the
        next person accepts, or the run is published once more.
    ConfigError
        The table has a known leak; the roles of the columns are not decided; a review is accepted without a name or
        a reason, or the policy contradicts a metric.
    DataError, VerificationError
        The run is not complete or was changed, its seal is not that of the private zone, or a file holds what must
        not leave.
    OutputError
        The folder is not writable or the disk is full; no release was changed.
    """
    run = read_run(run_dir)
    check_seal(run, private_dir)
    refuse_known_leak(run.manifest["config"])
    refuse_without_claim(run.manifest)
    key = release_key(private_dir)
    tags = {"data_tag": data_tag(key, run.manifest), "release_tag": release_tag(key, run.manifest)}
    ledger = Ledger(private_dir)
    roles = _decided(run)
    draw = count_run(private_dir, run)
    _refuse_blocked(run, run.judged(draw.number), ledger, private_dir)
    with opened(releases_dir):
        ledger.settle(releases_dir)
        _refuse_withdrawn(run, ledger, tags["release_tag"])
        existing = _published(releases_dir, tags["release_tag"], ledger)
        if existing is None:
            _refuse_unknown(releases_dir, tags["release_tag"], ledger)
        history = joined_history(run, ledger, releases_dir, private_dir)
        verdict = with_roles(run.judged(draw.number, history.exposure), roles)
        _refuse_blocked(run, verdict, ledger, private_dir)
        if existing is not None:
            if this_run:
                _refuse_other_draw(run, existing, ledger)
            logger.info("already published as %s", existing.path.name)
            outcome, message = _catch_up(releases_dir, existing, run, ledger)
            forget_membership(private_dir, run)
            ledger.note(run.data_set, outcome, message)
            return existing.path
        returned = blocking_runs(run, private_dir, datetime.now(UTC))
        if accept_review and (verdict.status == "review" or returned):
            approve(run, ledger, by, reason, signed, datetime.now(UTC))
            returned = blocking_runs(run, private_dir, datetime.now(UTC))
        refuse_sent_back(run, returned, ledger)
        acceptances = _admit(run, verdict, ledger)
        release = _build(run, releases_dir, private_dir, ledger, verdict, draw, acceptances, tags, history)
        ledger.settle(releases_dir)
        point_latest(release)
        forget_membership(private_dir, run)
        ledger.note(run.data_set, "released", release.name)
        return release


def _decided(run: FinishedRun) -> DecidedRoles:
    roles = DecidedRoles.from_json(run.manifest.get("roles"))
    if roles.decided_by is None or roles.undecided:
        names = f"; undecided columns: {', '.join(roles.undecided)}" if roles.undecided else ""
        raise ConfigError(
            f"{run.folder}: nobody has decided the roles of the columns behind this run{names}",
            hint="decide them under data.columns, set roles: {decided_by: NAME, date: YYYY-MM-DD}, and run again",
        )
    return roles


def _refuse_blocked(run: FinishedRun, verdict: Verdict, ledger: Ledger, private_dir: Path) -> None:
    if verdict.status == "block":
        forget_membership(private_dir, run)
        ledger.note(run.data_set, "refused", _blocked(verdict))
        raise GateRefused(_problems(verdict))


def _blocked(verdict: Verdict) -> str:
    return sentence("event.blocked", rules=tuple(check.rule for check in verdict.open_checks))


def _problems(verdict: Verdict) -> list[Problem]:
    return [
        Problem(
            sentence("gate.problem", status=check.status, rule=check.rule, found=check.message),
            check.to_try(),
        )
        for check in verdict.open_checks
    ]


def _admit(run: FinishedRun, verdict: Verdict, ledger: Ledger) -> tuple[Acceptance, ...]:
    if verdict.status == "pass":
        return ()
    wanted = run.policy.approvals
    found = accepted(run, ledger, datetime.now(UTC))
    if len(found) >= wanted:
        return found
    ledger.note(run.data_set, "waiting", sentence("event.review", n=len(found), wanted=wanted, run=run.folder.name))
    asked = sentence("review.asked", n=wanted)
    if found:
        asked = sentence("review.asked.so_far", asked=asked, n=len(found))
    if run.policy.lacks_roster:
        raise ApprovalNeeded([*_problems(verdict), Problem(asked), Problem(NO_ROSTER, ROSTER_HINT)])
    raise ApprovalNeeded([*_problems(verdict), Problem(asked, approve_hint(run.folder))])


def _published(releases_dir: Path, release_tag: str, ledger: Ledger) -> Release | None:
    own = OwnReleases(releases_dir, ledger)
    for name in reversed(own.names()):
        if own.entries[name].release_tag != release_tag:
            continue
        if not own.problems(name):
            return read_release(releases_dir / name)
        logger.warning("release %s has changed since it was published; a new one is made", name)
    return None


def _refuse_unknown(releases_dir: Path, release_tag: str, ledger: Ledger) -> None:
    keys = [key.public for key in signing_keys(ledger.path.parent)]
    known = {entry.release for entry in ledger.entries()}
    for release in releases_in(releases_dir) if keys else ():
        if (
            release.path.name not in known
            and tags_of(release, ledger).release == release_tag
            and not verify(release.path, keys)
        ):
            raise VerificationError(
                f"{release.path.name} is out, of the same data and method and signed by this installation, and "
                f"{ledger.path} does not hold it; nothing was published",
                hint="put the ledger back from a backup; if that release shall not count, move its folder elsewhere",
            )


def _refuse_other_draw(run: FinishedRun, existing: Release, ledger: Ledger) -> None:
    """Refuse a second draw of a source and method already released: the table must be that of the release."""
    published = {about["sha256"] for about in existing.certificate["files"].values()}
    if not published.issuperset(run.tables.values()):
        message = sentence("draw.out", name=existing.path.name)
        ledger.note(run.data_set, "refused", message)
        raise GateRefused(
            sentence("nothing_published", found=message),
            hint="keep that release: a second draw would disclose more about the same people",
        )


def _refuse_withdrawn(run: FinishedRun, ledger: Ledger, release_tag: str) -> None:
    of_this = {entry.release for entry in ledger.entries() if entry.release_tag == release_tag}
    found = next((known for known in reversed(ledger.withdrawals()) if known.release in of_this), None)
    if found is not None:
        message = sentence("draw.withdrawn", name=found.release, by=found.by, reason=found.reason)
        ledger.note(run.data_set, "refused", message)
        raise GateRefused(
            sentence("nothing_published", found=message),
            hint="release other data, or change the method (the config) so that the reason no longer holds",
        )


def _catch_up(releases_dir: Path, existing: Release, run: FinishedRun, ledger: Ledger) -> tuple[str, str]:
    """Point ``latest`` to a release that is published already.

    It names another if its process was killed before that, or if the source has gone back: the run was drawn after the
    release of the data set that is out. Publishing an old run again does not turn ``latest`` back.

    Returns the outcome and its message for the ledger.
    """
    name, own = existing.path.name, OwnReleases(releases_dir, ledger)
    newest = own.not_withdrawn(run.data_set)[-1]
    if newest == name or str(run.manifest["created"]) <= own.entries[newest].created:
        repair_latest(own)
        return "kept", name
    ledger.put_out(run.data_set, name)
    point_latest(existing.path)
    return "released", sentence("event.returned", name=name)


def _build(
    run: FinishedRun,
    releases_dir: Path,
    private_dir: Path,
    ledger: Ledger,
    verdict: Verdict,
    draw: DrawNumber,
    acceptances: tuple[Acceptance, ...],
    tags: Mapping[str, str],
    history: JoinedHistory,
) -> Path:
    now = datetime.now(UTC)
    target = releases_dir / f"{now:%Y-%m-%d}-{secrets.token_hex(4)}"
    created = now.isoformat(timespec="microseconds")
    stated = created[:10] if run.is_dp else created  # the time of day may tell when the decision read real records
    signing_key, signer = release_signer(private_dir)
    with incoming(releases_dir) as temporary:
        for name, sha256 in run.payload.items():
            with open_regular(run.source_of(name)) as source, (temporary / name).open("wb") as target_file:
                shutil.copyfileobj(source, target_file)
            if file_sha256(temporary / name) != sha256:
                raise changed(run.source_of(name))
        _write_json(temporary / EVALUATION, private_evaluation() if run.is_dp else public_evaluation(run.evaluation))
        _write_json(temporary / MANIFEST, public_manifest(run.manifest))
        page = summary_of(run, verdict, stated, acceptances)
        facts = ReleaseFacts(target.name, stated, tags["data_tag"], verdict, acceptances, page)
        write_descriptions(run, temporary, facts)
        certificate = build_certificate(
            run,
            release=target.name,
            created=stated,
            verdict=verdict,
            draw=draw,
            acceptances=acceptances,
            files=hash_files(temporary),
            signing=signing_entry(signing_key),
            **tags,
        )
        _write_json(temporary / CERTIFICATE, certificate)
        refuse_leaks(temporary, run, private_dir)
        _look_once_more(temporary, run, tuple(one.by for one in acceptances), ledger, private_dir)
        write_envelope(temporary, certificate, signing_key, signer)
        entry = LedgerEntry(
            release=target.name,
            data_set=run.data_set,
            created=created,
            status=verdict.status,
            policy=verdict.policy,
            acceptances=acceptances,
            metrics=tuple(metrics_of(run.evaluation)),
            exposure=history.exposure if isinstance(history.exposure, Exposure) else None,
            **tags,
        )
        ledger.enter(entry, releases_dir, history.joint, file_sha256(temporary / CERTIFICATE))
        place(temporary, target)
    return target


def _look_once_more(folder: Path, run: FinishedRun, names: tuple[str, ...], ledger: Ledger, private_dir: Path) -> None:
    try:
        refuse_rare_values(folder, run, names, record_secret(release_key(private_dir)))
    except GateRefused as refusal:
        forget_membership(private_dir, run)
        ledger.note(run.data_set, "refused", refusal.problems[0].message)
        raise


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
