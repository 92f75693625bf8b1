"""A finished run, read back from its folder and checked against its manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hybrid.anonymize.result import AnonymizationResult
from hybrid.errors import DataError, VerificationError
from hybrid.evaluate.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.manifest import MANIFEST

EVALUATION = "evaluation.json"
ANONYMIZATION = "anonymization.json"
REPORT = "report.html"


@dataclass(frozen=True)
class FinishedRun:
    """What a run left in its folder, as far as a release needs it.

    ``payload`` are the files that a release copies as they are, with the SHA-256 the run gave them.
    """

    folder: Path
    manifest: dict[str, Any]
    evaluation: Evaluation
    anonymization: AnonymizationResult | None
    payload: dict[str, str]


def read_run(folder: Path) -> FinishedRun:
    """Read the folder of a finished run.

    Raises
    ------
    DataError
        The folder holds no finished run, or one without a synthetic table.
    VerificationError
        A file is not what the run wrote.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        files = {name: about["sha256"] for name, about in manifest["files"].items()}
        _ = manifest["config"], manifest["seed"], manifest["data_fingerprint"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise DataError(f"{folder}: this is not the folder of a finished run", mend="use hybrid run first") from None
    synthetic = [name for name in files if Path(name).stem == "synthetic" and "/" not in name]
    missing = [name for name in (EVALUATION, REPORT) if name not in files]
    if len(synthetic) != 1 or missing:
        lacks = ", ".join(missing if len(synthetic) == 1 else ["synthetic.csv or .parquet", *missing])
        raise DataError(f"{folder}: the run is not complete: it lacks {lacks}", mend="run it again with hybrid run")
    anonymization = None
    if ANONYMIZATION in files:
        content = _checked_json(folder, ANONYMIZATION, files)
        known = {field.name for field in fields(AnonymizationResult)}
        anonymization = AnonymizationResult(**{name: content[name] for name in content if name in known})
    evaluation = evaluation_from_json(_checked_json(folder, EVALUATION, files))
    return FinishedRun(
        folder, manifest, evaluation, anonymization, {name: files[name] for name in (*synthetic, REPORT)}
    )


def evaluation_from_json(content: Mapping[str, Any]) -> Evaluation:
    """The evaluation that :meth:`Evaluation.to_json` wrote."""
    return Evaluation(tuple(_metric(entry) for entry in content["metrics"]))


def _metric(entry: Mapping[str, Any]) -> MetricResult:
    outcome: Measure | NotComputable
    if entry["state"] == "ok":
        low, high = entry["ci"] or (None, None)
        outcome = Measure(entry["value"], low, high, entry["reference"], entry["n"], entry["details"])
    else:
        outcome = NotComputable(entry["details"]["reason"], entry["state"])
    about = (entry["name"], entry["family"], entry["stage"], entry["direction"])
    return MetricResult(*about, outcome, entry["column"], entry["seconds"])


def _checked_json(folder: Path, name: str, files: Mapping[str, str]) -> Any:
    """One read serves the check and the content, so that nothing changes in between."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise DataError(f"{folder / name}: cannot be read ({error.strerror})", mend="run it again") from None
    if hashlib.sha256(content).hexdigest() != files[name]:
        raise changed(folder / name)
    return json.loads(content)


def changed(path: Path) -> VerificationError:
    """The error for a file that is not what its run wrote."""
    return VerificationError(f"{path}: the file was changed after the run wrote it", mend="run it again")
