"""Release: run a configuration, judge the result, publish it.

The command line, the flows and the nights all take these steps: :func:`write_candidate` computes every stage and
writes the run's folder, :meth:`Candidate.publish` passes the gate. Delivery follows in :mod:`hybrid.jobs.nightly`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.base.ownership import check_growing, check_replaceable
from hybrid.base.progress import Progress, silent
from hybrid.jobs.run import configuration, new_folder, write_run
from hybrid.operations.drift import Baseline, describe, keep_baseline
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.roles import refuse_split_persons, refuse_undecided
from hybrid.publication.certificate import Acceptance
from hybrid.publication.finished_run import read_run
from hybrid.publication.key import data_tag, record_secret, release_key
from hybrid.publication.ledger import Ledger
from hybrid.publication.pending_membership import keep_membership
from hybrid.publication.publish import publish
from hybrid.publication.verdict import Verdict
from hybrid.store import Store


@dataclass(frozen=True)
class Places:
    """Folders of the three zones: private (``work``), operator (``runs``), public (``releases``)."""

    work: Path = Path("work")
    runs: Path = Path("runs")
    releases: Path = Path("releases")

    @property
    def store(self) -> Store:
        """Store of stage results, in the private zone."""
        return Store(self.work / "store")

    def check_writable(self) -> None:
        """Check before the work that runs and releases can be written.

        Raises
        ------
        ConfigError
            A folder cannot be made or written to.
        """
        check_growing(self.runs)
        check_growing(self.releases)


@dataclass(frozen=True)
class Candidate:
    """A finished run, ready for the gate.

    Parameters
    ----------
    pipeline : Pipeline
        Every stage computed.
    folder : Path
        Folder of the run.
    places : Places
        The zones it belongs to.
    """

    pipeline: Pipeline
    folder: Path
    places: Places

    @property
    def verdict(self) -> Verdict:
        """Verdict of the policy on the run alone, without earlier releases."""
        return self.pipeline.verdict

    def publish(self, acceptance: Acceptance | None = None) -> Path:
        """Publish the run if the gate lets it out.

        Parameters
        ----------
        acceptance : Acceptance, optional
            Who accepts a review, and why. A block is never accepted.

        Returns
        -------
        Path
            Folder of the release.

        Raises
        ------
        GateRefused
            The verdict is block, or review that too few people accepted.
        HybridError
            As :func:`hybrid.publication.publish.publish`.
        """
        if acceptance is None:
            return publish(self.folder, self.places.releases, self.places.work)
        return publish(
            self.folder,
            self.places.releases,
            self.places.work,
            accept_review=True,
            by=acceptance.by,
            reason=acceptance.reason,
        )


@dataclass(frozen=True)
class Published:
    """A release, and the run behind it.

    Parameters
    ----------
    folder : Path
        Folder of the release.
    run : Path
        Folder of the run.
    pipeline : Pipeline
        Every stage of the run.
    """

    folder: Path
    run: Path
    pipeline: Pipeline

    @property
    def verdict(self) -> Verdict:
        """Verdict of the policy on the run alone, without earlier releases."""
        return self.pipeline.verdict


def write_candidate(pipeline: Pipeline, places: Places) -> Candidate:
    """Write a candidate: the run's folder and the data for later nights.

    Computes what is missing, and keeps what the gate needs.

    Parameters
    ----------
    pipeline : Pipeline
        The run, with the store of ``places``.
    places : Places
        ``runs`` gets the run's folder, whose report shows the earlier releases of the data set; ``work`` the
        membership in equivalence classes and the statistics of the source.

    Raises
    ------
    ConfigError
        As :func:`refuse_unreleasable`.
    HybridError
        Of any stage; then there is no folder.
    """
    refuse_unreleasable(pipeline)
    folder = new_folder(pipeline.config.name, places.runs)
    check_replaceable(folder)
    write_run(pipeline, folder, Ledger(places.work).entries(pipeline.config.name))
    if pipeline.anonymized is not None:
        found = pipeline.membership(record_secret(release_key(places.work)))
        keep_membership(places.work, read_run(folder).id, found)
    keep_source_statistics(pipeline, places.work)
    return Candidate(pipeline, folder, places)


def refuse_unreleasable(pipeline: Pipeline) -> None:
    """Check before the work that a person has decided all roles, and that no person is on both sides of the split.

    Raises
    ------
    ConfigError
        As :func:`hybrid.pipeline.roles.refuse_undecided` and :func:`hybrid.pipeline.roles.refuse_split_persons`.
    """
    refuse_undecided(pipeline.config)
    refuse_split_persons(pipeline.config, pipeline.table)


def keep_source_statistics(pipeline: Pipeline, private_dir: Path) -> None:
    """Keep the source's statistics for later nights, and seconds per stage."""
    key = release_key(private_dir)
    tag = data_tag(key, {"data_fingerprint": pipeline.data_fingerprint})
    seconds = {stage.name: stage.seconds for stage in pipeline.recorder.stages}
    statistics = describe(pipeline.table, record_secret(key))
    keep_baseline(private_dir, pipeline.config.name, tag, Baseline(statistics, seconds))


def release(
    config: RunConfig | Mapping[str, Any] | Path | str,
    data: pd.DataFrame | None = None,
    *,
    work: Path | str = "work",
    runs: Path | str = "runs",
    releases: Path | str = "releases",
    seed: int | None = None,
    accept: Acceptance | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Published:
    """Run a configuration, pass the gate, publish.

    Parameters
    ----------
    config, data, seed, overrides, progress
        As for :func:`hybrid.jobs.run.run`.
    work : Path or str
        The private zone: ledger, release key, kept stage results. Never published.
    runs : Path or str
        Gets the folder of the run.
    releases : Path or str
        The public zone; gets the folder of the release.
    accept : Acceptance, optional
        Who accepts a review, and why; without it a review is refused.

    Returns
    -------
    Published
        The release's folder, the run's folder, and the stages.

    Raises
    ------
    GateRefused
        The policy does not let the result out. Nothing is published; the run's folder has the report.
    HybridError
        As :func:`hybrid.jobs.run.run`, and :func:`hybrid.publication.publish.publish`.

    Examples
    --------
    >>> hybrid.release("config.yaml", data=frame).folder  # doctest: +SKIP
    PosixPath('releases/2026-11-21-5f0c9b2e')
    """
    places = Places(Path(work), Path(runs), Path(releases))
    loaded = configuration(config, data, overrides)
    places.check_writable()
    candidate = write_candidate(Pipeline(loaded, seed, places.store, progress), places)
    return Published(candidate.publish(accept), candidate.folder, candidate.pipeline)
