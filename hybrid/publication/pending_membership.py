"""Private class membership of a run until publication or refusal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.sentence import sentence
from hybrid.publication.composition import Exposure, JointClasses, Membership, named_persons
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.folder import releases_in
from hybrid.publication.ledger import Ledger, LedgerEntry
from hybrid.store import keep_private

FOLDER = "memberships"
KEPT_DAYS = 30
"""Longest wait for an approval; published later, the exposure with other releases is unknown."""


@dataclass(frozen=True)
class JoinedHistory:
    """Joint history of a data set, the coming release included."""

    exposure: Exposure | str
    """Exposure of all of them, or the reason why it is unknown."""
    joint: JointClasses | None


def keep_membership(private_dir: Path, run_id: str, found: Membership) -> None:
    """Keep the membership of a run (mode 0600) until publication."""
    content = io.BytesIO()
    persons = named_persons(found.records, found.persons)
    np.savez_compressed(content, records=found.records, classes=found.classes, **persons)
    keep_private(_path(private_dir, run_id), content.getvalue(), KEPT_DAYS)


def forget_membership(private_dir: Path, run: FinishedRun) -> None:
    """Remove the membership of a run; the ledger has what it needs."""
    _path(private_dir, run.id).unlink(missing_ok=True)


def keeps_membership(run: FinishedRun, private_dir: Path) -> bool:
    """True if what joins a run with earlier releases is kept, or if it has no classes to be joined."""
    found = run.anonymization
    if found is None or not found.k_anonymous or found.drawn is not None:
        return True
    return _path(private_dir, run.id).is_file()


def joined_history(run: FinishedRun, ledger: Ledger, releases_dir: Path, private_dir: Path) -> JoinedHistory:
    """Joint exposure of a run and its data set's earlier releases."""
    if run.anonymization is None:
        return JoinedHistory("nothing was anonymized, so there are no classes to intersect", None)
    if not run.anonymization.k_anonymous:
        return JoinedHistory("the technique of anonymization makes no classes that could be intersected", None)
    if run.anonymization.drawn is not None:
        return _of_whole_table(run.anonymization, ledger.entries(run.data_set))
    path = _path(private_dir, run.id)
    if not path.is_file():
        return JoinedHistory("the run kept no membership (publish it with hybrid release)", None)
    entered = {entry.release for entry in ledger.entries(run.data_set)}
    of_this = {found.path.name for found in releases_in(releases_dir) if found.certificate.get("name") == run.data_set}
    if of_this - entered:
        return JoinedHistory(sentence("history.missing", n=len(of_this - entered)), None)
    earlier = ledger.joint_classes(run.data_set)
    if earlier is None:
        return JoinedHistory("an earlier release is in the ledger without its classes", None)
    with np.load(path, allow_pickle=False) as content:
        found = Membership(content["records"], content["classes"], content.get("persons", content["records"]))
    joint = earlier.joined(found)
    return JoinedHistory(joint.exposure(found, run.anonymization.k), joint)


def _of_whole_table(found: AnonymizationResult, earlier: Sequence[LedgerEntry]) -> JoinedHistory:
    if earlier:
        return JoinedHistory("the classes of all rows are in the source, and were not compared with earlier ones", None)
    kept = found.records - found.suppressed
    return JoinedHistory(Exposure(found.k, 1, kept, exposed=0, departed=0, smallest=found.smallest), None)


def _path(private_dir: Path, run_id: str) -> Path:
    return private_dir / FOLDER / f"{run_id}.npz"
