"""Draws of the same data and policy, counted in the ledger, and the seal by which a run proves to be one of them.

With enough draws, any verdict becomes a pass in the end. The ledger therefore numbers the draws of a data set, and the
n-th is judged at the confidence of :func:`hybrid.publication.gate.strictness`. A draw is a synthetic table with the
numbers measured on it: the very same run, made again, is the same draw. Another data set (another name) over the same
data is a release of its own: its draws are numbered by themselves, and each says how many the others had.

The seal is a keyed hash of the manifest (HMAC-SHA256 under a key of the private zone), which lists the SHA-256 of every
other file of the run: tables, evaluation, report, and the policy with the number and the roster of its approvers.
Without the key, nothing in the folder of a run can be exchanged unnoticed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hybrid.base.errors import HybridError, VerificationError
from hybrid.base.manifest import MANIFEST
from hybrid.base.regular_file import read_json
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.finished_run import FinishedRun, read_run
from hybrid.publication.gate import DrawNumber
from hybrid.publication.key import data_tag, draw_tag, release_key
from hybrid.publication.ledger import Ledger
from hybrid.publication.policy import Policy


def count_draw(
    private_dir: Path,
    data_set: str,
    data_fingerprint: str,
    policy: Policy,
    table_sha256: str,
    evaluation: Evaluation,
    at_least: int = 1,
) -> DrawNumber:
    """Count a draw in the ledger, or find its earlier number.

    Parameters
    ----------
    private_dir : Path
        The private zone with the ledger and the release key, which is created there if needed.
    policy : Policy
        By which the draw is judged; its content counts, not its name.
    at_least : int
        Lowest number that the draw may get, 1 or more: the one that its manifest states.
    """
    source, tag = _tags(private_dir, data_fingerprint, table_sha256, evaluation)
    return Ledger(private_dir).count_draw(data_set, source, policy.sha256, tag, at_least)


def is_counted(private_dir: Path, run: FinishedRun) -> bool:
    """True if the ledger has counted this run, its table with its numbers, as a draw of its source under its policy."""
    source, tag = _tags(private_dir, run.manifest["data_fingerprint"], run.table_sha256, run.evaluation)
    return Ledger(private_dir).has_draw(run.data_set, source, run.policy.sha256, tag)


def _tags(private_dir: Path, data_fingerprint: str, table_sha256: str, evaluation: Evaluation) -> tuple[str, str]:
    key = release_key(private_dir)
    tag = draw_tag(key, table_sha256, _numbers(evaluation))
    return data_tag(key, {"data_fingerprint": data_fingerprint}), tag


def count_run(private_dir: Path, run: FinishedRun) -> DrawNumber:
    """Count a finished run, after the other draws of the same data, policy and data set in its folder.

    Where this private zone did not count one of them when it was written (another one did, or none), nobody knows in
    which order they were made: the run that was chosen among them gets the highest number.
    """
    highest = 1
    for beside in _runs_beside(run):
        known = is_counted(private_dir, beside)
        draw = _count(private_dir, beside, beside.draw or 1)
        highest = highest if known else draw.total
    return _count(private_dir, run, max(run.draw or 1, highest))


def _count(private_dir: Path, run: FinishedRun, at_least: int) -> DrawNumber:
    fingerprint = run.manifest["data_fingerprint"]
    numbers = run.table_sha256, run.evaluation
    return count_draw(private_dir, run.data_set, fingerprint, run.policy, *numbers, at_least)


def _runs_beside(run: FinishedRun) -> Iterator[FinishedRun]:
    """Other runs in the same folder of the same data set, data and policy, oldest first.

    A run that cannot be read is left out: it cannot be published either.
    """
    found = []
    for folder in run.folder.resolve().parent.iterdir():
        if folder == run.folder.resolve() or not _is_of(folder, run):
            continue
        try:
            beside = read_run(folder)
        except HybridError:
            continue
        if beside.policy.sha256 == run.policy.sha256:
            found.append(beside)
    yield from sorted(found, key=lambda beside: (str(beside.manifest.get("created")), beside.folder.name))


def _is_of(folder: Path, run: FinishedRun) -> bool:
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return False
    same = ("data_fingerprint", "name")
    return isinstance(manifest, Mapping) and all(manifest.get(key) == run.manifest[key] for key in same)


def _numbers(evaluation: Evaluation) -> list[tuple[Any, ...]]:
    """Measured numbers, rounded to six digits and 1e-9: the order of floating-point sums makes no other draw."""
    return [
        (
            metric.name,
            metric.stage,
            _about(metric),
            *(f"{round(number, 9):.6g}" for number in _values(metric.outcome)),
        )
        for metric in evaluation.metrics
    ]


def _about(metric: MetricResult) -> str | None:
    return metric.column if metric.table is None else f"{metric.table}.{metric.column}"


def _values(outcome: Measure | NotComputable) -> tuple[float, ...]:
    return (outcome.value, *(outcome.excess or ())) if isinstance(outcome, Measure) else ()


SEAL = "seal"
"""Entry of the manifest."""


def sealed(manifest: Mapping[str, Any], private_dir: Path) -> dict[str, Any]:
    """The complete manifest of a run (JSON types) with its seal.

    The release key is created in the private zone if needed.

    Raises
    ------
    OutputError
        The key cannot be made or read.
    """
    plain: dict[str, Any] = json.loads(json.dumps(manifest))
    return plain | {SEAL: _seal(plain, release_key(private_dir))}


def check_seal(run: FinishedRun, private_dir: Path) -> None:
    """Refuse a run of another private zone, or changed since.

    Raises
    ------
    VerificationError
        There is no seal, it does not match the manifest, or the ledger has not counted this table as a draw of this
        source under this policy.
    """
    manifest = dict(run.manifest)
    found = manifest.pop(SEAL, None)
    if found is None:
        raise VerificationError(
            f"{run.folder}: the run has no seal of a private zone; nothing was published",
            hint="a trial of a comparison has none: draw it again with hybrid release CONFIG",
        )
    if not hmac.compare_digest(str(found), _seal(manifest, release_key(private_dir))):
        raise VerificationError(
            f"{run.folder}: the seal does not match: the run was changed, or was written with another private zone; "
            "nothing was published",
            hint="name the private zone it was written with (--work), or draw it again",
        )
    if not is_counted(private_dir, run):
        raise VerificationError(
            f"{run.folder}: the ledger knows no draw of this table from this source under this policy",
            hint="draw it again with hybrid release CONFIG",
        )


def _seal(manifest: Mapping[str, Any], key: bytes) -> str:
    own = hmac.new(key, b"seal of runs", hashlib.sha256).digest()
    text = json.dumps(manifest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hmac.new(own, text.encode(), hashlib.sha256).hexdigest()
