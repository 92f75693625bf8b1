"""Offline verification of a release against its certificate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hybrid.base.errors import Problem
from hybrid.base.hashing import file_sha256
from hybrid.base.ownership import CERTIFICATE
from hybrid.publication.certificate import FORMAT, checksum, metrics_of
from hybrid.publication.finished_run import EVALUATION, evaluation_from_json
from hybrid.publication.verdict import Check, Verdict

_FETCH = "fetch the release again from its publisher"


def verify(release_dir: Path) -> list[Problem]:
    """List every problem of a release.

    Empty if it is as it was published.

    Parameters
    ----------
    release_dir : Path
        A release's folder, wherever it was copied to, or a link to it.

    Returns
    -------
    list of Problem
        Missing, changed and extra files; a certificate that is damaged, contradicts itself or the evaluation, or
        says that the gate did not let the release out.
    """
    if not release_dir.is_dir():
        return [Problem(f"{release_dir}: there is no such folder")]
    try:
        certificate = json.loads((release_dir / CERTIFICATE).read_bytes())
        found = certificate["format"], certificate["checksum"], certificate["files"], certificate["verdict"]
    except OSError:
        return [Problem(f"{CERTIFICATE} is missing or cannot be read", _FETCH)]
    except (ValueError, LookupError, TypeError):
        return [Problem(f"{CERTIFICATE} is damaged", _FETCH)]
    if found[0] != FORMAT:
        return [Problem(f"{CERTIFICATE} has format {found[0]}; this version reads {FORMAT}", "use a newer version")]
    try:
        return [*_certificate_problems(certificate), *_file_problems(release_dir, certificate)]
    except (ValueError, LookupError, TypeError, AttributeError):
        return [Problem(f"{CERTIFICATE} or {EVALUATION} is damaged: entries are missing or of another kind", _FETCH)]


def _certificate_problems(certificate: Mapping[str, Any]) -> Iterator[Problem]:
    if checksum(certificate) != certificate["checksum"]:
        yield Problem(f"{CERTIFICATE} was changed: its checksum differs", _FETCH)
    verdict = certificate["verdict"]
    worst = Verdict.of(verdict["policy"], tuple(Check(**check) for check in verdict["checks"])).status
    if worst != verdict["status"]:
        yield Problem(f"{CERTIFICATE}: the verdict is {verdict['status']}, the worst check {worst}", _FETCH)
    names = {found["by"].casefold() for found in certificate["acceptances"] if found["by"] and found["reason"]}
    accepted = len(names) >= certificate["policy"]["approvals"]
    if worst == "block" or (worst == "review" and not accepted):
        yield Problem(f"{CERTIFICATE}: the gate did not let this release out ({worst})", "do not use it")


def _file_problems(release_dir: Path, certificate: Mapping[str, Any]) -> Iterator[Problem]:
    files: Mapping[str, Mapping[str, Any]] = certificate["files"]
    if EVALUATION not in files or not any(Path(name).stem == "synthetic" for name in files):
        yield Problem(f"{CERTIFICATE} names no synthetic table or no {EVALUATION}", _FETCH)
    present = {path.relative_to(release_dir).as_posix() for path in release_dir.rglob("*")}
    for name in sorted(present - set(files) - {CERTIFICATE}):
        yield Problem(f"{name} is not part of the release", "remove it")
    for name, about in files.items():
        path = release_dir / name
        if name not in present:
            yield Problem(f"{name} is missing", _FETCH)
        elif path.is_symlink() or not path.is_file() or file_sha256(path) != about["sha256"]:
            yield Problem(f"{name} was changed", _FETCH)
        elif name == EVALUATION:
            evaluation = evaluation_from_json(json.loads(path.read_bytes()))
            if metrics_of(evaluation) != certificate["metrics"]:
                yield Problem(f"{CERTIFICATE} gives other metrics than {EVALUATION}", _FETCH)
