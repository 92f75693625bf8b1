"""Offline verification of a release against its certificate and signature."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import Problem, VerificationError
from hybrid.base.hashing import file_sha256
from hybrid.base.ownership import CERTIFICATE
from hybrid.base.regular_file import LARGEST, read_json
from hybrid.publication.approvers import person_of
from hybrid.publication.certificate import checksum
from hybrid.publication.facts import FORMAT, metrics_of
from hybrid.publication.finished_run import DAMAGE, EVALUATION, evaluation_from_json
from hybrid.publication.folder import WITHDRAWN, read_mark
from hybrid.publication.private_words import WITHHELD
from hybrid.publication.signing.envelope import (
    ENVELOPE,
    SignedCertificate,
    read_envelope,
    signature_problems,
    statement_problems,
)
from hybrid.publication.table_facts import table_files
from hybrid.publication.verdict import Check, Verdict

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

_FETCH = "fetch the release again from its publisher"
MOST_FILES = 10_000
"""Files and folders of a release that are looked at."""


def verify(release_dir: Path, keys: Sequence[SSlibKey] = (), *, whole: bool = True) -> list[Problem]:
    """List every problem of a release.

    Empty if it is as it was published, also where it was withdrawn since. Files of another size than stated are not
    read, nor any where one of the keys should have signed and has not: whoever wrote that could make it take for ever.

    Parameters
    ----------
    release_dir : Path
        A release's folder, wherever it was copied to, or a link to it.
    keys : sequence of SSlibKey
        Public keys of the publisher, obtained another way than with the release; one of them must have signed it.
        None: who published the release is not checked, and who can write the folder can forge it as a whole.
    whole : bool
        False: of the files but the certificate, only names, kinds and sizes are compared.

    Returns
    -------
    list of Problem
        Missing, changed and extra files; a certificate that is damaged, contradicts itself, the evaluation or the
        signed statement, or says that the gate did not let the release out; a signature that is missing, damaged, by
        another key, or of another release.
    """
    if not release_dir.is_dir():
        return [Problem(f"{release_dir}: there is no such folder")]
    problems: list[Problem] = []
    signed = None
    try:
        signed = read_envelope(release_dir)
    except VerificationError as error:
        problems += error.problems
    certificate = _read_certificate(release_dir)
    unreadable = [certificate] if isinstance(certificate, Problem) else []
    if isinstance(certificate, Problem):
        if signed is None:
            return [*problems, certificate]
        certificate = signed.certificate
    try:
        if certificate["format"] != FORMAT:
            found = Problem(
                f"{CERTIFICATE} has format {certificate['format']}; this version reads {FORMAT}", "use a newer version"
            )
            return [*problems, found]
        if signed is not None or not problems:
            problems += signature_problems(certificate, signed, keys)
        if problems:  # what the publisher did not sign says nothing about the files
            signed = None
            whole = whole and not keys
            problems += unreadable
        problems += _certificate_problems(certificate)
        problems += _folder_problems(release_dir, certificate, signed, whole)
    except DAMAGE:
        damaged = Problem(f"{CERTIFICATE} or {EVALUATION} is damaged: entries are missing or of another kind", _FETCH)
        return [*problems, damaged]
    return problems


def _read_certificate(release_dir: Path) -> Mapping[str, Any] | Problem:
    try:
        certificate: Any = read_json(release_dir / CERTIFICATE)
    except OSError:
        return Problem(f"{CERTIFICATE} is missing or cannot be read", _FETCH)
    except ValueError:
        return Problem(f"{CERTIFICATE} is damaged", _FETCH)
    return certificate if isinstance(certificate, dict) else Problem(f"{CERTIFICATE} is damaged", _FETCH)


def _certificate_problems(certificate: Mapping[str, Any]) -> Iterator[Problem]:
    if checksum(certificate) != certificate["checksum"]:
        yield Problem(f"{CERTIFICATE} was changed: its checksum differs", _FETCH)
    verdict = certificate["verdict"]
    if verdict["status"] == WITHHELD:
        stated = certificate["config"]["privacy"], certificate["differential_privacy"]["parts"]
        if not all((*stated, certificate["decided"]["by"])):
            yield Problem(f"{CERTIFICATE} withholds its verdict and states no privacy budget", "do not use it")
        return
    worst = Verdict.of(verdict["policy"], tuple(Check.from_json(check) for check in verdict["checks"])).status
    if worst != verdict["status"]:
        yield Problem(f"{CERTIFICATE}: the verdict is {verdict['status']}, the worst check {worst}", _FETCH)
    names = {person_of(found["by"]) for found in certificate["acceptances"] if found["by"] and found["reason"]}
    accepted = len(names) >= certificate["policy"]["approvals"]
    if worst == "block" or (worst == "review" and not accepted):
        yield Problem(f"{CERTIFICATE}: the gate did not let this release out ({worst})", "do not use it")


def _folder_problems(
    release_dir: Path, certificate: Mapping[str, Any], signed: SignedCertificate | None, whole: bool
) -> Iterator[Problem]:
    stated = certificate["files"]
    expected = {name: about["sha256"] for name, about in stated.items()}
    signed_content = certificate if signed is None else signed.certificate
    if signed is not None and signed_content["release"] == certificate["release"]:
        stated, expected = signed_content["files"], dict(signed.subjects)
    found = list(islice(release_dir.rglob("*"), MOST_FILES + 1))
    if len(found) > MOST_FILES:
        yield Problem(f"the folder holds more than {MOST_FILES:,} files, and was not read", _FETCH)
        return
    present = {path.relative_to(release_dir).as_posix(): path for path in found}
    sizes = {name: about["bytes"] for name, about in stated.items()}
    files = {
        name: (expected[name] if not whole and size == sizes.get(name) else _sha256(path, size, sizes.values()))
        for name, path in present.items()
        if name in expected and (size := _size(path)) is not None
    }
    if signed is not None:
        yield from statement_problems(release_dir, certificate, signed, files)
    tables = table_files(certificate)
    if not tables or not {EVALUATION, *tables} <= certificate["files"].keys():
        yield Problem(f"{CERTIFICATE} names no synthetic table or no {EVALUATION}", _FETCH)
    above = {parent.as_posix() for name in expected for parent in Path(name).parents}
    for name in sorted(set(present) - set(expected) - above - {CERTIFICATE, ENVELOPE, WITHDRAWN}):
        yield Problem(f"{name} is not part of the release", "remove it")
    if WITHDRAWN in present and not read_mark(release_dir):
        yield Problem(f"{WITHDRAWN} is damaged, or another file in its place", _FETCH)
    for name, sha256 in expected.items():
        if name not in present:
            yield Problem(f"{name} is missing", _FETCH)
        elif files.get(name) != sha256 and not (name == CERTIFICATE and certificate != signed_content):
            other = next((file for file, sha in expected.items() if sha == files.get(name)), None)
            yield Problem(f"{name} was changed" + (f": it is {other}" if other else ""), _FETCH)
    if EVALUATION in files and files[EVALUATION] == expected.get(EVALUATION):
        evaluation = evaluation_from_json(read_json(release_dir / EVALUATION))
        if metrics_of(evaluation) != certificate["metrics"]:
            yield Problem(f"{CERTIFICATE} gives other metrics than {EVALUATION}", _FETCH)


def _size(path: Path) -> int | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _sha256(path: Path, size: int, stated: Collection[int]) -> str:
    if size not in stated and not (path.name == CERTIFICATE and size <= LARGEST):
        return ""
    try:
        return file_sha256(path)
    except OSError:
        return ""
