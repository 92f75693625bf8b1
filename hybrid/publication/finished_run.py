"""Finished run, read from its folder and checked against its manifest; runs that are never published."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import ConfigError, DataError, Problem, VerificationError
from hybrid.base.language import Language, language_of, languages
from hybrid.base.manifest import MANIFEST, hash_files
from hybrid.base.regular_file import LARGEST, parse_json, read_regular
from hybrid.base.sentence import restated
from hybrid.evaluation.measure import AllRows, Crossed, Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.composition import Exposure
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy
from hybrid.publication.power import Power
from hybrid.publication.private_words import is_dp
from hybrid.publication.verdict import Verdict

T = TypeVar("T")
EVALUATION = "evaluation.json"
ANONYMIZATION = "anonymization.json"
PROTECTION = "protection.json"
REPORT = "report.html"
DETAILS = "report-details.html"
"""Page with all checks, figures and the method; never of a private release."""
PUBLIC_REPORT = "public-report.html"
"""Report of a private table's release, a function of the table, its account and the configuration."""
POLICY = "policy.json"
MOST_DRAWS = 1_000_000
"""Highest number of a draw that a manifest may state."""
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Errors of reading JSON that has not the entries that this program writes."""


@dataclass(frozen=True)
class FinishedRun:
    """Content of a run's folder that a release needs.

    ``payload`` are the files that a release copies as they are (:meth:`source_of`), with the SHA-256 the run gave
    them; ``policy`` is the one in force when the run was judged; ``id`` names this very run (SHA-256 of its manifest).
    """

    folder: Path
    manifest: dict[str, Any]
    evaluation: Evaluation
    anonymization: AnonymizationResult | None
    payload: dict[str, str]
    policy: Policy
    id: str
    power: Power | None = None
    """Planted leaks that the run's verdict noticed; None where none were planted."""

    @property
    def data_set(self) -> str:
        """Name shared by all releases of the data set."""
        return str(self.manifest["name"])

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration as resolved (JSON types)."""
        found: Mapping[str, Any] = self.manifest["config"]
        return found

    @property
    def is_dp(self) -> bool:
        """True under ``privacy.mode: dp``: the release holds no figure of records."""
        return is_dp(self.config)

    @property
    def claims_privacy(self) -> bool:
        """True where differential privacy is claimed."""
        return self.is_dp and self.manifest.get("differential_privacy") is True

    def judged(self, draws: int, exposure: Exposure | str | None = None) -> Verdict:
        """Verdict on the checked files, as the draw of that number (:func:`hybrid.publication.gate.judge`)."""
        facts = self.evaluation, self.anonymization, exposure, draws, self.power, self.config
        return judge(self.policy, *facts, claims_privacy=self.claims_privacy)

    def source_of(self, name: str) -> Path:
        return self.folder / (PUBLIC_REPORT if self.is_dp and name == REPORT else name)

    @property
    def language(self) -> Language:
        """Language of the pages about the run."""
        return language_of((self.config.get("publish") or {}).get("language"))

    @property
    def pages(self) -> list[str]:
        """Files of all pages of the report, in every language that the run has them in."""
        own = [name for name in self.payload if Path(name).suffix == Path(REPORT).suffix]
        others = [translated(name, code) for name in own for code in languages()]
        return [*own, *(name for name in others if name in self.manifest["files"])]

    def page(self, name: str, code: str) -> str:
        """File of a page in a language; the page itself where the run has it in no other."""
        other = translated(name, code)
        return other if other in self.manifest["files"] else name

    @property
    def draw(self) -> int | None:
        """Number of the draw when judged; None if it was not counted."""
        stated: int | None = self.manifest.get("draw")
        return stated

    @property
    def tables(self) -> dict[str, str]:
        """SHA-256 of the files of the released tables, by name."""
        return {name: sha256 for name, sha256 in self.payload.items() if Path(name).suffix != Path(REPORT).suffix}

    @property
    def table_sha256(self) -> str:
        """SHA-256 of the synthetic table's file, or of several tables together."""
        return joint_sha256(self.tables)


def translated(name: str, code: str) -> str:
    """File beside a page of the report, with the same page in another language."""
    return f"{Path(name).stem}.{code}{Path(name).suffix}"


def joint_sha256(files: Mapping[str, str]) -> str:
    """SHA-256 of one file, or of the names and SHA-256 of several."""
    if len(files) == 1:
        return next(iter(files.values()))
    lines = (f"{sha256}  {name}\n" for name, sha256 in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_whole_run(folder: Path) -> FinishedRun:
    """Read a finished run, and compare every file of its folder with its manifest.

    Raises
    ------
    DataError
        As :func:`read_run`.
    VerificationError
        A file is missing, was changed, or is not listed; all of them at once.
    """
    run = read_run(folder)
    listed = {name: about["sha256"] for name, about in run.manifest["files"].items()}
    present = {name: about["sha256"] for name, about in hash_files(folder, leave_out=(MANIFEST,)).items()}
    problems = [
        Problem(f"{folder / name}: {_difference(name, listed, present)}", "publish the run as it was written")
        for name in sorted(listed.keys() | present.keys())
        if listed.get(name) != present.get(name)
    ]
    if problems:
        raise VerificationError(problems)
    return run


def _difference(name: str, listed: Mapping[str, str], present: Mapping[str, str]) -> str:
    if name not in present:
        return "the file is missing"
    return "the file was changed after the run wrote it" if name in listed else "the run did not write this file"


def read_run(folder: Path) -> FinishedRun:
    """Read the folder of a finished run."""
    try:
        return _read_run(folder)
    except DAMAGE:
        raise damaged(folder) from None


def _read_run(folder: Path) -> FinishedRun:
    try:
        content = read_regular(folder / MANIFEST)
        manifest = parse_json(content)
        files = {name: about["sha256"] for name, about in manifest["files"].items()}
        if any(Path(name).is_absolute() or ".." in Path(name).parts for name in files):
            raise ValueError
        _ = [manifest[key] for key in ("config", "seed", "data_fingerprint", "name", "table", "columns", "created")]
        draw = manifest.get("draw")
        if draw is not None and draw not in range(1, MOST_DRAWS + 1):
            raise ValueError
    except (OSError, *DAMAGE):
        raise DataError(f"{folder}: this is not the folder of a finished run", hint="use hybrid run first") from None
    linked = manifest.get("tables") or ()
    synthetic = [name for name in files if Path(name).stem == "synthetic" and "/" not in name]
    wanted = [EVALUATION, REPORT, POLICY, *(about["file"] for about in linked)]
    claims = is_dp(manifest["config"]) and manifest.get("differential_privacy") is True
    wanted += [PUBLIC_REPORT] if claims else []
    pages = [about["report"] for about in linked if about["report"] is not None]
    pages += [DETAILS] if DETAILS in files and not claims else []
    missing = [name for name in (*wanted, *pages) if name not in files]
    if linked:
        synthetic = [about["file"] for about in linked]
    elif len(synthetic) != 1:
        missing = ["the synthetic table", *missing]
    if missing:
        lacks = ", ".join(missing)
        raise DataError(f"{folder}: the run is not complete: it lacks {lacks}", hint="run it again with hybrid run")
    anonymization = None
    if ANONYMIZATION in files:
        anonymization = _checked(folder, ANONYMIZATION, files, AnonymizationResult.from_json)
    evaluation, power = _checked(folder, EVALUATION, files, _evaluated)
    return FinishedRun(
        folder,
        manifest,
        evaluation,
        anonymization,
        {name: files[name] for name in (*synthetic, REPORT, *pages)}
        | ({REPORT: files[PUBLIC_REPORT]} if claims else {}),
        _checked(folder, POLICY, files, Policy.model_validate),
        hashlib.sha256(content).hexdigest(),
        power,
    )


def _evaluated(content: Mapping[str, Any]) -> tuple[Evaluation, Power | None]:
    content = restated(content)
    power = content.get("power")
    return evaluation_from_json(content), None if power is None else Power.from_json(power)


def evaluation_from_json(content: Mapping[str, Any]) -> Evaluation:
    """Parse the evaluation that :meth:`Evaluation.to_json` wrote."""
    counted = content.get("all_rows")
    metrics = tuple(_metric(entry) for entry in content["metrics"])
    crossed = tuple(Crossed(**one) for one in content.get("crossed", ()))
    return Evaluation(metrics, None if counted is None else AllRows(**counted), crossed)


def _metric(entry: Mapping[str, Any]) -> MetricResult:
    outcome: Measure | NotComputable
    if entry["state"] == "ok":
        low, high = entry["ci"] or (None, None)
        excess = None if entry["excess"] is None else (entry["excess"][0], entry["excess"][1], entry["excess"][2])
        outcome = Measure(
            entry["value"], low, high, entry["reference"], entry["n"], entry["details"], excess, entry["together"]
        )
    else:
        outcome = NotComputable(entry["details"]["reason"], entry["state"], entry["details"].get("lacks"))
    about = (entry["name"], entry["family"], entry["stage"], entry["direction"])
    return MetricResult(*about, outcome, entry["column"], entry["seconds"], table=entry.get("table"))


def _checked(folder: Path, name: str, files: Mapping[str, str], parse: Callable[[Any], T]) -> T:
    # Its hash may have been renewed, so that the content may be of another kind.
    found = checked_json(folder, name, files[name])
    try:
        return parse(found)
    except DAMAGE:
        raise DataError(f"{folder / name}: this is not what a run writes", hint="run it again") from None


def checked_json(folder: Path, name: str, sha256: str) -> Any:
    """Content of a JSON file of a run; raises as :func:`checked_content`."""
    try:
        return parse_json(checked_content(folder / name, sha256))
    except (ValueError, RecursionError):
        raise DataError(f"{folder / name}: this is not what a run writes", hint="run it again") from None


def checked_content(path: Path, sha256: str, most: int = LARGEST) -> bytes:
    """Content of a file of a run, read once for check and use, so that nothing changes in between.

    Parameters
    ----------
    most : int
        Largest size in bytes.

    Raises
    ------
    DataError
        It cannot be read.
    VerificationError
        It is not the one that the run wrote.
    """
    try:
        content = read_regular(path, most)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})", hint="run it again") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise changed(path)
    return content


def damaged(folder: Path) -> DataError:
    return DataError(
        f"{folder}: a file of the run is damaged: entries are missing or of another kind", hint="run it again"
    )


def changed(path: Path) -> VerificationError:
    return VerificationError(f"{path}: the file was changed after the run wrote it", hint="run it again")


def refuse_known_leak(config: Mapping[str, Any]) -> None:
    """Refuse a configuration (JSON types) with the section ``risk``."""
    if config.get("risk") is not None:
        raise ConfigError(
            "the configuration has a section risk: it is a trial of the laboratory, whose tables may hold training "
            "records and are never written or released",
            hint="hybrid lab tries metrics on such tables and keeps aggregates alone",
        )


def refuse_without_claim(manifest: Mapping[str, Any]) -> None:
    """Refuse the manifest of a run with the section ``privacy`` that claims nothing.

    Raises
    ------
    ConfigError
        The seed was given, so whoever gave it can repeat the draws, or the account is missing.
    """
    if is_dp(manifest["config"]) and not (manifest.get("differential_privacy") and manifest.get("privacy_budget")):
        raise ConfigError(
            "privacy.mode dp: this run claims no differential privacy, and its release would state it",
            hint="draw again without --seed: hybrid release CONFIG",
        )
