"""All descriptions of a release, written into its folder."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.publication.certificate import Acceptance
from hybrid.publication.description.croissant import croissant
from hybrid.publication.description.csvw import SUFFIX, csvw
from hybrid.publication.description.datapackage import datapackage
from hybrid.publication.description.dcat import dcat
from hybrid.publication.description.description import Description, PublishOptions, describe
from hybrid.publication.description.provenance import provenance
from hybrid.publication.description.readme import readme
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.first_page import FirstPage
from hybrid.publication.verdict import Verdict
from hybrid.table.file_formats import is_csv

logger = logging.getLogger(__name__)
README = "README.md"
PROVENANCE = "provenance.jsonld"
FORMATS: dict[str, Callable[[Description], dict[str, Any]]] = {
    "croissant.json": croissant,
    "datapackage.json": datapackage,
    "dcat.jsonld": dcat,
}
"""Functions that write a description for machines, by file name."""


def description_names(run: FinishedRun) -> list[str]:
    """Names of the files that :func:`write_descriptions` writes for a run."""
    said = PublishOptions.model_validate(run.manifest["config"].get("publish") or {})
    sidecars = [f"{name}{SUFFIX}" for name in run.tables if is_csv(name)]
    return [*FORMATS, README, *([PROVENANCE] if said.provenance else []), *sidecars]


@dataclass(frozen=True)
class ReleaseFacts:
    """Decisions of publishing, as the certificate states them."""

    release: str
    created: str
    """Name of the release; when it was made (UTC, ISO 8601)."""
    source_tag: str
    """Keyed tag of the source."""
    verdict: Verdict
    """What the gate said."""
    acceptances: tuple[Acceptance, ...]
    """Who accepted a review, and why."""
    page: FirstPage
    """What was done, in plain words."""


def write_descriptions(run: FinishedRun, folder: Path, facts: ReleaseFacts) -> None:
    """Write the descriptions of a run beside the files they describe: all of the release but the certificate.

    A licence or a contact that the publisher has not stated is named in the log.
    """
    about = describe(
        run,
        folder,
        release=facts.release,
        created=facts.created,
        page=facts.page,
        unmet=facts.verdict.open_checks,
        acceptances=facts.acceptances,
    )
    contents = {name: write(about) for name, write in FORMATS.items()}
    contents |= {f"{table.file.name}{SUFFIX}": csvw(about, table) for table in about.tables if table.is_csv}
    if about.said.provenance:
        contents[PROVENANCE] = provenance(about, run, facts.source_tag, [one.by for one in about.acceptances])
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / README).write_text(readme(about, run.language), encoding="utf-8")
    if about.missing:
        names = " and no ".join(about.missing)
        logger.warning("release %s states no %s (section publish)", about.release, names)
