"""Source of a dossier: the certificate of a release, or the facts of a finished run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import DataError, VerificationError
from hybrid.base.manifest import MANIFEST
from hybrid.base.ownership import CERTIFICATE
from hybrid.base.regular_file import read_json
from hybrid.base.sentence import SENTENCES, restated, with_sentences
from hybrid.publication.description.description import PublishOptions
from hybrid.publication.facts import FACTS
from hybrid.publication.finished_run import checked_json, read_run, refuse_without_claim
from hybrid.publication.folder import read_mark
from hybrid.publication.private_words import is_dp
from hybrid.publication.verdict import Check
from hybrid.publication.verify import verify

PACKAGE, CROISSANT = "datapackage.json", "croissant.json"


@dataclass(frozen=True)
class Fact:
    """One line of a dossier."""

    text: str
    """The fact: a number with its interval and limit, or a sentence of the certificate."""
    where: str = ""
    """File and key, and the metric where one was measured; empty where nobody has stated it."""


@dataclass(frozen=True)
class DossierSource:
    """Facts of a run or release, and where they were read."""

    content: Mapping[str, Any]
    """As :func:`hybrid.publication.facts.facts_of` gives it; of a release, the certificate."""
    said: Mapping[str, Any]
    """The publisher's own words: ``source``, ``uses``, ``limits_of_use``, ``license``, ``contact``."""
    is_release: bool
    """Whether it is a published release, which was verified; else a run that is not published."""
    withdrawn: Mapping[str, str] | None = None
    """When, by whom and why it was withdrawn (day, who, reason); None if it was not."""
    language: str | None = None
    """Language of the publisher's words (BCP 47), where it was stated."""

    @property
    def config(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.content["config"]
        return found

    @property
    def is_dp(self) -> bool:
        return is_dp(self.config)

    @property
    def anonymization(self) -> AnonymizationResult | None:
        found = self.content["anonymization"]
        return None if found is None else AnonymizationResult.from_json(found)

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(Check.from_json(check) for check in self.content["verdict"]["checks"])

    @property
    def privacy_metrics(self) -> list[Mapping[str, Any]]:
        """Metrics of privacy of the released table."""
        metrics = self.content["metrics"]
        return [one for one in metrics if (one["family"], one["stage"]) == ("privacy", "synthetic")]

    @property
    def summary(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.content["summary"]
        return found

    def where(self, entry: str, more: str = "") -> str:
        """File and key of an entry."""
        file = f"{CERTIFICATE if self.is_release else FACTS}: {entry}"
        return f"{file}, {more}" if more else file


def read_source(folder: Path) -> DossierSource:
    """Read a release or a finished run.

    Raises
    ------
    ConfigError
        The run asked for differential privacy and does not claim it.
    DataError
        The folder is neither; of the audit of files, how these were made is not known.
    VerificationError
        A file was changed since it was written, or is missing.
    """
    if (folder / CERTIFICATE).exists():
        return _released(folder)
    try:
        kind = read_json(folder / MANIFEST).get("kind")
    except (OSError, ValueError, AttributeError):
        kind = None
    if kind == "audit":
        raise DataError(
            f"{folder}: this is the audit of a table, and an audit does not know how the table was made, who decided, "
            "and what was promised, so there is no dossier of it",
            hint=f"its numbers are in {folder / 'report.html'}; whoever made the table can write a dossier of it",
        )
    return _finished(folder)


def _released(folder: Path) -> DossierSource:
    problems = verify(folder)
    if problems:
        raise VerificationError(problems)
    certificate = read_json(folder / CERTIFICATE)
    content = _stated(certificate, certificate)
    if "summary" not in content:
        raise DataError(f"{folder}: this release is of an early version, whose certificate has no summary")
    described = read_json(folder / PACKAGE) if (folder / PACKAGE).exists() else {}
    said = dict(_stated(described.get("statement") or {}, certificate))
    said["license"] = next((one.get("name") or one.get("path") for one in described.get("licenses") or ()), None)
    roles = {one["role"]: one["title"] for one in described.get("contributors") or () if "role" in one}
    mark = read_mark(folder)
    withdrawn = None
    if mark is not None:
        withdrawn = {"day": str(mark.get("at"))[:10], "who": str(mark.get("by")), "reason": str(mark.get("reason"))}
    croissant = read_json(folder / CROISSANT) if (folder / CROISSANT).exists() else {}
    contact, language = roles.get("contact"), croissant.get("inLanguage")
    return DossierSource(content, said | {"contact": contact}, is_release=True, withdrawn=withdrawn, language=language)


def _stated(content: Mapping[str, Any], facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Content with the sentences that the facts have the templates of."""
    stated: Mapping[str, Any] = with_sentences(content, facts.get(SENTENCES, {}))
    return stated


def _finished(folder: Path) -> DossierSource:
    run = read_run(folder)
    refuse_without_claim(run.manifest)
    if FACTS not in run.manifest["files"]:
        raise DataError(f"{folder}: the run is of an earlier version and has no {FACTS}", hint="run it again")
    facts = checked_json(folder, FACTS, run.manifest["files"][FACTS]["sha256"])
    content = restated(facts)
    own = PublishOptions.model_validate(run.manifest["config"].get("publish") or {})
    said = {"source": own.source, "uses": own.uses, "limits_of_use": own.not_for, "license": own.license}
    contact = own.contact and own.contact.name
    return DossierSource(content, said | {"contact": contact}, is_release=False, language=own.language)
