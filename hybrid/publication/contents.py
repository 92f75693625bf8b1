"""Files that a run's release will hold, before it is published."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid.base.manifest import MANIFEST
from hybrid.base.ownership import CERTIFICATE
from hybrid.publication.description.options import PublishOptions
from hybrid.publication.description.write import FORMATS, PROVENANCE, README
from hybrid.publication.finished_run import EVALUATION, FinishedRun
from hybrid.publication.signing.envelope import ENVELOPE


@dataclass(frozen=True)
class ReleaseContents:
    """Files of a release that is still to be published.

    Parameters
    ----------
    copied : mapping of str to str
        SHA-256 of files that the run holds and the release copies as they are, by name.
    made : tuple of str
        Files that publishing makes from the run: redacted copies, descriptions, certificate and its signature.
    kept : tuple of str
        Files of the run that stay behind.
    """

    copied: dict[str, str]
    made: tuple[str, ...]
    kept: tuple[str, ...]


def release_contents(run: FinishedRun) -> ReleaseContents:
    """Files that publishing a run puts into the release's folder."""
    said = PublishOptions.model_validate(run.manifest["config"].get("publish") or {})
    descriptions = (*FORMATS, README, *([PROVENANCE] if said.provenance else []))
    sources = {run.source_of(name).name for name in run.payload}
    return ReleaseContents(
        copied=dict(sorted(run.payload.items())),
        made=tuple(sorted((EVALUATION, MANIFEST, CERTIFICATE, ENVELOPE, *descriptions))),
        kept=tuple(sorted({MANIFEST, *run.manifest["files"]} - sources)),
    )
