"""Release of a configuration or of a finished run.

A release reads the finished run of the configuration, or runs it where there is none, judges it and publishes it. The
command line, the flows and the nights all take these steps: :func:`write_candidate` computes every stage and writes the
run's folder, or :func:`read_candidate` reads it; :meth:`Candidate.publish` passes the gate. Delivery follows in
:mod:`hybrid.jobs.nightly`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.base.ownership import check_growing
from hybrid.base.progress import Progress, silent
from hybrid.jobs.finished_runs import Finished, finished_runs, only_finished_run
from hybrid.jobs.places import Places, new_folder
from hybrid.jobs.run import write_draw
from hybrid.jobs.start import Frames, configuration
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.decided_roles import refuse_undecided, refuse_without_person
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.certificate import Acceptance
from hybrid.publication.difference import verdict_of
from hybrid.publication.draws import check_seal, count_run
from hybrid.publication.finished_run import read_whole_run
from hybrid.publication.gate import DrawNumber
from hybrid.publication.publish import publish
from hybrid.publication.verdict import Verdict


@dataclass(frozen=True)
class Candidate:
    """A finished run, ready for the gate."""

    folder: Path
    places: Places
    verdict: Verdict
    """Verdict of the policy on the run alone, without earlier releases."""
    draw: DrawNumber
    """Number of the draw at which that verdict was reached."""
    pipeline: Pipeline | None = None
    """Every stage of the run; None if it was read from its folder: then that very run is published, or nothing."""

    def publish(self, acceptance: Acceptance | None = None) -> Path:
        """Publish the run if the gate lets it out.

        An acceptance says who accepts a review, and why; a block is never accepted. GateRefused: the verdict is block,
        or review that too few people accepted.
        """
        return publish(
            self.folder,
            self.places.releases,
            self.places.work,
            accept_review=acceptance is not None,
            by="" if acceptance is None else acceptance.by,
            reason="" if acceptance is None else acceptance.reason,
            this_run=self.pipeline is None,
        )


@dataclass(frozen=True)
class Published:
    """A release, and the run behind it."""

    folder: Path
    run: Path
    verdict: Verdict
    """Verdict of the policy on the run alone, without earlier releases."""
    draw: DrawNumber
    """Number of the draw at which that verdict was reached."""
    pipeline: Pipeline | None = None
    """Every stage of the run; None if the run was read from its folder."""

    def __repr__(self) -> str:
        return f"Published {self.folder} of the run {self.run}, the {self.draw.words}\n{self.verdict!r}"


def write_candidate(pipeline: Pipeline, places: Places) -> Candidate:
    """Write a candidate: the run's folder, what the gate needs, and the data for later nights.

    Computes what is missing.

    ``runs`` gets the run's folder, whose report shows the earlier releases of the data set; ``work`` the count of the
    draw, the membership in equivalence classes and the statistics of the source. After an error of any stage there is
    no folder.
    """
    pipeline.refuse_spent()
    refuse_unreleasable(pipeline)
    folder = new_folder(pipeline.config.name, places.runs)
    write_draw(pipeline, folder, places.work)
    assert pipeline.draw is not None
    return Candidate(folder, places, pipeline.verdict, pipeline.draw, pipeline)


def read_candidate(folder: Path, places: Places) -> Candidate:
    """Read a finished run to be published as it is: every file is checked, and nothing is drawn again."""
    run = read_whole_run(folder)
    check_seal(run, places.work)
    draw = count_run(places.work, run)
    return Candidate(folder, places, verdict_of(run, draw.number), draw)


def refuse_unreleasable(pipeline: Pipeline) -> None:
    """Refuse undecided roles and persons, and private tables with a given seed, before the work."""
    if pipeline.config.privacy is not None and pipeline.person.seeded:
        raise ConfigError(
            "privacy.mode dp: a seed was given, so nothing is claimed, and nothing would be published",
            hint="leave --seed out",
        )
    refuse_undecided(pipeline.config)
    pipeline.check()
    refuse_without_person(pipeline.config, pipeline.person.table)


def release(
    config: RunConfig | Draft | Mapping[str, Any] | Path | str,
    data: Frames | None = None,
    *,
    work: Path | str = "work",
    runs: Path | str = "runs",
    releases: Path | str = "releases",
    seed: int | None = None,
    accept: Acceptance | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent,
    anew: bool = False,
) -> Published:
    """Run a configuration, or read a finished run; pass the gate; publish.

    A run of this very configuration that lies in ``runs``, of the same data, roles, policy and version, is published as
    it is, unless its policy blocks it: nothing is drawn again.

    Parameters
    ----------
    config, data, seed, overrides, progress
        As for :func:`hybrid.jobs.start.run`. Or ``config`` is the folder of a finished run: exactly that run is
        published, nothing is drawn again, and the others must not be given.
    work : Path or str
        The private zone: ledger, release key, kept stage results. Never published.
    runs : Path or str
        Gets the folder of the run.
    releases : Path or str
        The public zone; gets the folder of the release.
    accept : Acceptance, optional
        Who accepts a review, and why; without it a review is refused.
    anew : bool
        Draw once more, although there is such a run; as with a ``seed``. The draw is counted as a further one.

    Raises
    ------
    GateRefused
        The policy does not let the result out. Nothing is published; the run's folder has the report.
    ConfigError
        The folder of a run, together with a table, a seed or overrides. Or several runs are of this very configuration.
    VerificationError
        A file in the folder of the run is not what the run wrote.

    Examples
    --------
    >>> hybrid.release("config.yaml", data=frame).folder  # doctest: +SKIP
    PosixPath('releases/2026-11-21-5f0c9b2e')
    """
    places = Places(Path(work), Path(runs), Path(releases))
    candidate, _ = candidate_of(config, places, data, seed, overrides, progress, anew=anew)
    return Published(candidate.publish(accept), candidate.folder, candidate.verdict, candidate.draw, candidate.pipeline)


def candidate_of(
    config: RunConfig | Draft | Mapping[str, Any] | Path | str,
    places: Places,
    data: Frames | None = None,
    seed: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent,
    *,
    anew: bool = False,
) -> tuple[Candidate, list[Finished] | None]:
    """The run to publish, read or written, and the finished ones that were looked at; arguments as for :func:`release`.

    None where a run was named by its folder.
    """
    if isinstance(config, Path | str) and Path(config).is_dir():
        _refuse_changes(Path(config), data is not None, seed is not None, bool(overrides))
        check_growing(places.releases)
        return read_candidate(Path(config), places), None
    loaded = configuration(config, data, overrides)
    places.check_writable()
    started = Pipeline(loaded, seed, places.store, progress, ledger_dir=places.work)
    found = [] if anew or seed is not None else finished_runs(started, places)
    finished = only_finished_run(found)
    candidate = write_candidate(started, places) if finished is None else read_candidate(finished.run.folder, places)
    return candidate, found


def _refuse_changes(folder: Path, data: bool, seed: bool, overrides: bool) -> None:
    """Refuse a table, a seed or overrides beside a run's folder: a finished run is published as it is."""
    known = {"a table": data, "a seed": seed, "other settings": overrides}
    given = [name for name, is_given in known.items() if is_given]
    if given:
        raise ConfigError(
            f"{folder} is a finished run, and {' and '.join(given)} cannot change it",
            hint="leave them out, or give the configuration to draw again",
        )
