"""Finished runs that a release publishes instead of drawing again.

Another draw of the same data by the same method would disclose more about the same people, and is judged more strictly.
So a release of a configuration looks among the runs for one of the same data set, data, method, roles, policy and
version of this package, whatever its seed. It does not choose: where there are several, a person does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.hashing import library_versions
from hybrid.base.manifest import MANIFEST, PACKAGE
from hybrid.base.regular_file import read_json
from hybrid.jobs.places import Places
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.difference import verdict_of
from hybrid.publication.draws import check_seal
from hybrid.publication.finished_run import FinishedRun, read_run, refuse_without_claim
from hybrid.publication.folder import read_release
from hybrid.publication.key import release_key, release_tag
from hybrid.publication.ledger import Ledger
from hybrid.publication.own_release import OwnReleases
from hybrid.publication.pending_membership import keeps_membership


@dataclass(frozen=True)
class Finished:
    """A finished run of a data set, beside the present configuration."""

    run: FinishedRun
    verdict: str
    """Of its policy on the run alone, at the number of the draw that it states: pass, review or block."""
    other: tuple[str, ...]
    """What differs: "data or configuration", "roles", "policy", "version"; empty for a run of this very
    configuration."""
    is_out: bool
    """Whether a release holds its tables."""

    @property
    def words(self) -> str:
        """Folder, time and verdict."""
        created = str(self.run.manifest.get("created", ""))[:16].replace("T", " ")
        return f"{self.run.folder} ({self.verdict.upper()}, of {created} UTC)"


def finished_runs(pipeline: Pipeline, places: Places) -> list[Finished]:
    """Runs of a data set that could be published, oldest first.

    Left out are those that nothing would be published of: blocked by their policy, changed, not sealed by this private
    zone, without the claim that their configuration makes, or killed before they kept what joins them with earlier
    releases.

    Of the pipeline of the present configuration the data are read if there is any run, and nothing is computed. No
    folder of the places need be there.
    """
    config, policy = pipeline.config, pipeline.policy
    runs = list(_sound(places.runs, config.name, places.work))
    if not runs:
        return []
    content = config.model_dump(mode="json")
    key = release_key(places.work)
    tag = release_tag(key, {"data_fingerprint": pipeline.data_fingerprint, "config": content})
    out = set(_released(places, config.name))
    found = []
    for run in runs:
        same = {
            "data or configuration": release_tag(key, run.manifest) == tag,
            "roles": run.manifest.get("roles") == _plain(pipeline.roles.to_json()),
            "policy": run.policy.sha256 == policy.sha256,
            "version": _version(run.manifest) == library_versions(PACKAGE).get(PACKAGE),
        }
        verdict = verdict_of(run, run.draw or 1).status
        if verdict != "block":
            other = tuple(name for name, equal in same.items() if not equal)
            is_out = out.issuperset(run.tables.values())
            if is_out or keeps_membership(run, places.work):
                found.append(Finished(run, verdict, other, is_out))
    return sorted(found, key=lambda each: str(each.run.manifest.get("created")))


def only_finished_run(found: Sequence[Finished]) -> Finished | None:
    """The run of this very configuration; of several the one that is out; None if there is none.

    Several others are refused: which of them is published is a person's decision.
    """
    same = [each for each in found if not each.other]
    same = [each for each in same if each.is_out][:1] or same
    if len(same) > 1:
        raise ConfigError(
            f"{len(same)} finished runs are of this very configuration: {', '.join(each.words for each in same)}",
            hint=f"name the one to publish, such as: hybrid release {same[0].run.folder}; or draw once more, which is "
            "counted as a further draw: --anew",
        )
    return same[0] if same else None


def _released(places: Places, name: str) -> Iterator[str]:
    own = OwnReleases(places.releases, Ledger(places.work))
    for release in own.names(name):
        found = None if own.problems(release, whole=False) else read_release(places.releases / release)
        if found is not None:
            yield from (about["sha256"] for about in found.certificate["files"].values())


def _sound(runs: Path, name: str, private_dir: Path) -> Iterator[FinishedRun]:
    for folder in sorted(runs.iterdir()) if runs.is_dir() else ():
        if not _is_called(folder, name):
            continue
        try:
            run = read_run(folder)
            check_seal(run, private_dir)
            refuse_without_claim(run.manifest)
        except HybridError:
            continue
        yield run


def _is_called(folder: Path, name: str) -> bool:
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return False
    return isinstance(manifest, Mapping) and (manifest.get("kind"), manifest.get("name")) == ("run", name)


def _version(manifest: Mapping[str, Any]) -> str | None:
    found: str | None = (manifest.get("packages") or {}).get(PACKAGE)
    return found


def _plain(content: Any) -> Any:
    return json.loads(json.dumps(content))
