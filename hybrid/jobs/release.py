"""Release of a configuration or of a finished run.

A release runs the configuration or reads the finished run, judges it and publishes it. The command line, the flows and
the nights all take these steps: :func:`write_candidate` computes every stage and writes the run's folder, or
:func:`read_candidate` reads it; :meth:`Candidate.publish` passes the gate. Delivery follows in
:mod:`hybrid.jobs.nightly`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.base.errors import ConfigError
from hybrid.base.ownership import check_growing, check_replaceable
from hybrid.base.progress import Progress, silent
from hybrid.jobs.run import new_folder
from hybrid.jobs.start import AnyConfig, AnyRun, Frames, configuration, start, write
from hybrid.linked.roles import refuse_undecided_tables
from hybrid.linked.run import LinkedRun
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.roles import refuse_undecided, refuse_without_person
from hybrid.publication.certificate import Acceptance
from hybrid.publication.count_draws import count_run
from hybrid.publication.draw import Draw
from hybrid.publication.finished_run import read_whole_run
from hybrid.publication.publish import publish
from hybrid.publication.seal import check_seal
from hybrid.publication.side_by_side import verdict_of
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
            A folder cannot be made or written to, or the releases and another zone lie within each other.
        """
        private = [("runs", self.runs.resolve()), ("work", self.work.resolve())]
        public = self.releases.resolve()
        for name, place in private:
            if place.is_relative_to(public) or public.is_relative_to(place):
                raise ConfigError(
                    f"--{name} {place} and the releases in {public} lie within each other",
                    hint="releases are for readers, the others are not: give each a folder of its own",
                )
        check_growing(self.runs)
        check_growing(self.releases)


@dataclass(frozen=True)
class Candidate:
    """A finished run, ready for the gate.

    Parameters
    ----------
    folder : Path
        Folder of the run.
    places : Places
        The zones it belongs to.
    verdict : Verdict
        Verdict of the policy on the run alone, without earlier releases.
    draw : Draw
        Number of the draw at which that verdict was reached.
    as_read : bool
        Whether the run was read from its folder: then that very run is published, or nothing.
    """

    folder: Path
    places: Places
    verdict: Verdict
    draw: Draw
    as_read: bool = False

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
        return publish(
            self.folder,
            self.places.releases,
            self.places.work,
            accept_review=acceptance is not None,
            by="" if acceptance is None else acceptance.by,
            reason="" if acceptance is None else acceptance.reason,
            this_run=self.as_read,
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
    verdict : Verdict
        Verdict of the policy on the run alone, without earlier releases.
    draw : Draw
        Number of the draw at which that verdict was reached.
    pipeline : Pipeline or LinkedRun, optional
        Every stage of the run; None if the run was read from its folder.
    """

    folder: Path
    run: Path
    verdict: Verdict
    draw: Draw
    pipeline: AnyRun | None = None

    def __repr__(self) -> str:
        return f"Published {self.folder} of the run {self.run}, the {self.draw.words}\n{self.verdict!r}"


def write_candidate(pipeline: AnyRun, places: Places) -> Candidate:
    """Write a candidate: the run's folder and the data for later nights.

    Computes what is missing, and keeps what the gate needs.

    Parameters
    ----------
    pipeline : Pipeline or LinkedRun
        The run, with the store of ``places``.
    places : Places
        ``runs`` gets the run's folder, whose report shows the earlier releases of the data set; ``work`` the count of
        the draw, the membership in equivalence classes and the statistics of the source.

    Raises
    ------
    ConfigError
        As :func:`refuse_unreleasable`.
    HybridError
        Of any stage; then there is no folder.
    """
    if not isinstance(pipeline, LinkedRun):
        pipeline.refuse_spent()
    refuse_unreleasable(pipeline)
    folder = new_folder(pipeline.config.name, places.runs)
    check_replaceable(folder)
    write(pipeline, folder, places.work)
    assert pipeline.draw is not None
    return Candidate(folder, places, pipeline.verdict, pipeline.draw)


def read_candidate(folder: Path, places: Places) -> Candidate:
    """Read a finished run to be published as it is.

    Every file is checked, and nothing is drawn again.

    Raises
    ------
    DataError, VerificationError
        The folder holds no finished run, not what the run wrote, or no seal of the private zone.
    """
    run = read_whole_run(folder)
    check_seal(run, places.work)
    draw = count_run(places.work, run)
    return Candidate(folder, places, verdict_of(run, draw.number), draw, as_read=True)


def refuse_unreleasable(pipeline: AnyRun) -> None:
    """Refuse undecided roles and persons, and private tables with a given seed.

    All are checked before the work: a person must have decided all roles.

    Raises
    ------
    ConfigError
        As :func:`hybrid.pipeline.roles.refuse_undecided` and :func:`hybrid.pipeline.roles.refuse_without_person`; of
        linked tables all undecided columns at once. Or ``privacy.mode: dp`` with a given seed.
    """
    if isinstance(pipeline, LinkedRun):
        refuse_undecided_tables(pipeline.config)
        pipeline.check()
        return
    if pipeline.config.privacy is not None and pipeline.seeded:
        raise ConfigError(
            "privacy.mode dp: a seed was given, so nothing is claimed, and nothing would be published",
            hint="leave --seed out",
        )
    refuse_undecided(pipeline.config)
    pipeline.check()
    refuse_without_person(pipeline.config, pipeline.table)


def release(
    config: AnyConfig | Draft | Mapping[str, Any] | Path | str,
    data: Frames | None = None,
    *,
    work: Path | str = "work",
    runs: Path | str = "runs",
    releases: Path | str = "releases",
    seed: int | None = None,
    accept: Acceptance | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Published:
    """Run a configuration, or read a finished run; pass the gate; publish.

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

    Returns
    -------
    Published
        The release's folder, the run's folder, the verdict, and the stages.

    Raises
    ------
    GateRefused
        The policy does not let the result out. Nothing is published; the run's folder has the report.
    ConfigError
        The folder of a run, together with a table, a seed or overrides.
    VerificationError
        A file in the folder of the run is not what the run wrote.
    HybridError
        As :func:`hybrid.jobs.start.run`, and :func:`hybrid.publication.publish.publish`.

    Examples
    --------
    >>> hybrid.release("config.yaml", data=frame).folder  # doctest: +SKIP
    PosixPath('releases/2026-11-21-5f0c9b2e')
    """
    places = Places(Path(work), Path(runs), Path(releases))
    pipeline = None
    if isinstance(config, Path | str) and Path(config).is_dir():
        refuse_changes(Path(config), data is not None, seed is not None, bool(overrides))
        check_growing(places.releases)
        candidate = read_candidate(Path(config), places)
    else:
        loaded = configuration(config, data, overrides)
        places.check_writable()
        pipeline = start(loaded, seed, places.store, progress, work=places.work)
        candidate = write_candidate(pipeline, places)
    return Published(candidate.publish(accept), candidate.folder, candidate.verdict, candidate.draw, pipeline)


def refuse_changes(folder: Path, data: bool = False, seed: bool = False, overrides: bool = False) -> None:
    """Refuse a table, a seed or overrides beside a run's folder.

    A finished run is published as it is.

    Raises
    ------
    ConfigError
        One of them is given.
    """
    given = [
        name for name, is_given in (("a table", data), ("a seed", seed), ("other settings", overrides)) if is_given
    ]
    if given:
        raise ConfigError(
            f"{folder} is a finished run, and {' and '.join(given)} cannot change it",
            hint="leave them out, or give the configuration to draw again",
        )
