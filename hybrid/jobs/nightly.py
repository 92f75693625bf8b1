"""Nightly job: compare the data, decide, compute, publish, deliver, notify.

The decision follows a rule and is logged: a night **skips** where data, method and policy equal those of the latest
release; it **reuses** that release where the rule allows it and the data changed little; it **refits** otherwise.
Reusing keeps the latest release published and draws nothing: a second draw from the same model would add no
information about the data, and would disclose more about the same people.

A run that the gate held back is not drawn again for the same data, method and policy: a night **resumes** the run that
waits for an approval, and **refuses** again without any work where the gate refused it or a person sent it back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from hybrid.base.errors import (
    ApprovalNeeded,
    ConfigError,
    DriftError,
    GateRefused,
    HybridError,
    OutputError,
    Problem,
    VerificationError,
)
from hybrid.base.sentence import sentence
from hybrid.jobs.places import Places
from hybrid.jobs.release import Candidate, read_candidate, refuse_unreleasable, write_candidate
from hybrid.jobs.report_inputs import keep_source_statistics, source_statistics
from hybrid.jobs.run import keep_private_details
from hybrid.operations.deliver import Deliveries, DeliverOptions, NotDelivered
from hybrid.operations.drift import DriftFinding, compare_tables, find_baseline
from hybrid.operations.notify import Notice, Outcome, post
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.finished_run import read_run
from hybrid.publication.folder import Release, opened
from hybrid.publication.key import record_secret, release_key, release_tag
from hybrid.publication.ledger import Ledger
from hybrid.publication.nights import HeldRun, forget_held_run, held_run, one_night, releases_of
from hybrid.publication.own_release import OwnReleases, ReleaseTags, newest_own, repair_latest, tags_of, verify_own
from hybrid.publication.redact import public_config

logger = logging.getLogger(__name__)
Action = Literal["skip", "reuse", "refit", "resume", "refuse"]
EXIT_CODES: Mapping[Outcome, int] = {"released": 0, "kept": 0, "refused": 3, "waiting": 4}
"""Exit codes of the nights that reach their end."""


_DECIDED: Mapping[Action, str] = {
    "skip": "night.skip",
    "reuse": "night.reuse",
    "refit": "night.refit",
    "resume": "night.resume",
    "refuse": "night.refuse",
}


@dataclass(frozen=True)
class NightDecision:
    """Decision of a night, and its reason."""

    action: Action
    reason: str
    findings: tuple[DriftFinding, ...] = ()
    release: str | None = None
    """Name of the latest release, if it is kept."""
    held: HeldRun | None = None
    """Run that the gate held back, if the night goes on with it."""

    @property
    def needs_stages(self) -> bool:
        """True if the stages must be computed."""
        return self.action == "refit"

    def __str__(self) -> str:
        return str(self.words)

    @property
    def words(self) -> str:
        """The decision with its reason."""
        return sentence(_DECIDED[self.action], reason=self.reason)


Listener = Callable[[Notice], None]


class Night:
    """One night of one data set.

    The pipeline has the store of the places. ``listener`` receives the outcome of the night, as the log, the ledger and
    the webhook do.
    """

    def __init__(self, pipeline: Pipeline, places: Places, listener: Listener | None = None) -> None:
        self.pipeline = pipeline
        self.places = places
        self.listener = listener
        self.name = pipeline.config.name
        self.run_folder: Path | None = None
        """Folder of the run behind a new release, once it is written."""
        self.refusal: GateRefused | None = None
        """What the gate said to the run of this night, if it held it back."""
        self.found: tuple[str, ...] = ()
        """What did not fit in the folder of releases when the night began."""
        self.published: str | None = None
        """Name of the release that is out, once the night has published or kept one."""
        self.ledger = Ledger(places.work)

    def run(self, accept_drift: bool = False) -> Notice:
        """Run the night from start to end.

        With ``accept_drift`` the night continues although the data changed beyond the limits: a person has checked it.
        If it fails, the ledger and the notice say so, and every earlier release is as it was.
        """
        with self.watched():
            return self.close(self.decide(accept_drift))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Lock the data set for one night; an error is recorded and reported before it is raised again.

        A night before that was interrupted (killed, machine down, stopped by hand) is recorded and reported first.
        """
        with one_night(self.places.work, self.name) as mark:
            if mark.cut_off is not None:
                self._end("interrupted", sentence("night.interrupted", when=mark.cut_off))
            try:
                yield
            except Exception as error:
                self._record_failure(error)
                mark.remove()
                raise
            mark.remove()

    def decide(self, accept_drift: bool = False) -> NightDecision:
        """Decide on the night by comparing the tables with those last released.

        A table that changed beyond the limits raises DriftError, unless the change was accepted.
        """
        self.places.check_writable()
        self._check_releases()
        delivery = deliveries_of(self.pipeline.config)
        delivery.check(self.places.releases)
        delivery.recall(self.name, self.places.work)
        refuse_unreleasable(self.pipeline)
        self.pipeline.check()
        key = release_key(self.places.work)
        tag = release_tag(key, {"data_fingerprint": self.pipeline.data_fingerprint, "config": self._config})
        latest = self._latest()
        is_latest = latest is not None and self._same_policy(latest) and self._tags(latest).release == tag
        held = None if is_latest else self._held_run(tag)
        if held is not None:
            return _of_held_run(held)
        if latest is None:
            return NightDecision("refit", "there is no release of this data set that could stay")
        baseline = find_baseline(self.places.work, self.name, self._tags(latest).data)
        if is_latest:
            if baseline is None:
                keep_source_statistics(self.pipeline, self.places.work)
            reason = "data, method and policy are those of the latest release"
            return NightDecision("skip", reason, release=latest.path.name)
        if baseline is None:
            return NightDecision("refit", "nothing is known of the source of the latest release: drift is not checked")
        now = source_statistics(self.pipeline, record_secret(key), baseline.statistics)
        findings = compare_tables(baseline.statistics, now, self.pipeline.config.nightly.drift)
        for finding in findings:
            logger.log(logging.INFO if finding.status == "pass" else logging.WARNING, "%s", finding.message)
        stops = [finding for finding in findings if finding.status == "stop"]
        if stops and not accept_drift:
            hint = "look at the source; if the change is right, run once with --accept-drift"
            raise DriftError(Problem(finding.message, hint) for finding in stops)
        return self._by_rule(latest, findings)

    def close(self, decision: NightDecision) -> Notice:
        """Carry out the decision: publish a release or keep the latest, deliver it, clean the store.

        Where the gate holds the run back, the notice says that it waits or is refused, and later nights find it.

        An OutputError then says that the release is published, and not delivered to every target.
        """
        logger.info("%s", decision)
        if decision.release is not None:
            self.ledger.note(self.name, "kept", f"{decision.release} ({decision})")
            with self._after_publication(decision.release):
                return self._deliver(decision, "kept", self.places.releases / decision.release)
        if decision.action == "refuse" and decision.held is not None:
            self.ledger.note(self.name, "refused", decision.reason)
            return self._notify(Notice(self.name, "refused", decision.reason, run=decision.held.folder.name))
        candidate = self._candidate(decision.held)
        before = self._latest()
        try:
            release = candidate.publish()
        except GateRefused as refusal:
            return self._hold_back(candidate, refusal, decision.held)
        with self._after_publication(release.name):
            forget_held_run(self.places.work, self.name)
            stays = before is not None and before.path.name == release.name
            return self._deliver(decision, "kept" if stays else "released", release)

    @contextmanager
    def _after_publication(self, release: str) -> Iterator[None]:
        """Mark errors of the block as those after a publication: they do not take back that a release is out."""
        self.published = release
        try:
            yield
        except NotDelivered:
            raise
        except HybridError as error:
            after = f"release {release} is published; after that: "
            raise OutputError(
                Problem(f"{after}{one.message}", one.hint, one.values) for one in error.problems
            ) from None

    def seconds_before(self) -> Mapping[str, float]:
        """Seconds of each stage for the latest release; empty if unknown."""
        latest = self._latest()
        tag = "" if latest is None else self._tags(latest).data
        baseline = find_baseline(self.places.work, self.name, tag) if tag else None
        return {} if baseline is None else baseline.seconds

    def _check_releases(self) -> None:
        """Compare every release with the ledger and the keys; repair ``latest``.

        First of all: what others changed must not stay out because the night stops later.
        """
        with opened(self.places.releases):
            self.ledger.settle(self.places.releases)
            own = OwnReleases(self.places.releases, self.ledger)
            repaired = repair_latest(own)
            look = own.inspect()
        if repaired:
            self.ledger.note(self.name, "repaired", repaired)
        found = (*filter(None, [repaired]), *(problem.message for problem in look.problems))
        self.found = tuple(dict.fromkeys((*self.found, *found)))
        for message in found:
            logger.warning("%s", message)
        logger.info("%s", look)

    def _candidate(self, held: HeldRun | None) -> Candidate:
        if held is None:
            candidate = write_candidate(self.pipeline, self.places)
        else:
            held.check_unchanged()
            candidate = read_candidate(held.folder, self.places)
        self.run_folder = candidate.folder
        return candidate

    def _deliver(self, decision: NightDecision, outcome: Outcome, release: Path) -> Notice:
        options, config = self.pipeline.config.nightly, self.pipeline.config
        deliver_own(release, config, self.places)
        self.places.store.clean(timedelta(days=options.keep_days))
        return self._notify(Notice(self.name, outcome, decision.words, release.name))

    def _hold_back(self, candidate: Candidate, refusal: GateRefused, before: HeldRun | None) -> Notice:
        """Keep a run that the gate held back for later nights.

        Publishing has entered the outcome into the ledger.
        """
        self.refusal = refusal
        event = self.ledger.events(self.name, last=1)[-1]
        run = read_run(candidate.folder)
        outcome: Literal["waiting", "refused"] = "waiting" if isinstance(refusal, ApprovalNeeded) else "refused"
        tag = release_tag(release_key(self.places.work), run.manifest)
        held = HeldRun(
            data_set=self.name,
            outcome=outcome,
            since=event.at if before is None else before.since,
            release_tag=tag,
            policy=run.policy.sha256,
            run=str(candidate.folder.resolve()),
            run_id=run.id,
            released=releases_of(tag, self.ledger.entries(self.name)),
            message=event.message,
        )
        held.keep(self.places.work)
        return self._notify(Notice(self.name, outcome, event.message, run=candidate.folder.name))

    def _held_run(self, tag: str) -> HeldRun | None:
        """Held run of this source, method and policy.

        None where it was released meanwhile, and where the folder of a waiting run is gone.
        """
        held = held_run(self.places.work, self.name)
        if held is None or (held.release_tag, held.policy) != (tag, self.pipeline.policy.sha256):
            return None
        if not held.is_open(self.ledger.entries(self.name)):
            return None
        return held if held.outcome == "refused" or held.folder.is_dir() else None

    def _latest(self) -> Release | None:
        return newest_own(self.places.releases, self.ledger, self.name)

    def _tags(self, release: Release) -> ReleaseTags:
        return tags_of(release, self.ledger)

    def _same_policy(self, latest: Release) -> bool:
        return bool(latest.certificate["policy"]["sha256"] == self.pipeline.policy.sha256)

    @property
    def _config(self) -> dict[str, Any]:
        return self.pipeline.config.model_dump(mode="json")

    def _by_rule(self, latest: Release, findings: tuple[DriftFinding, ...]) -> NightDecision:
        rule = self.pipeline.config.nightly.reuse
        psi, most = max((finding.psi or 0.0, finding.subject) for finding in findings)
        changed = sentence("night.changed", rows=findings[0].message, most=repr(most), psi=f"{psi:.3f}")
        if not self._same_policy(latest) or latest.certificate["config"] != public_config(self._config):
            return NightDecision("refit", sentence("night.method", changed=changed), findings)
        if rule is None:
            return NightDecision("refit", sentence("night.data", changed=changed), findings)
        if psi > rule.psi or any(finding.status != "pass" for finding in findings):
            return NightDecision("refit", sentence("night.beyond_rule", changed=changed), findings)
        if datetime.now(UTC) - datetime.fromisoformat(latest.created) > timedelta(days=rule.days):
            old = sentence("night.old", days=f"{rule.days:g}", changed=changed)
            return NightDecision("refit", old, findings)
        return NightDecision("reuse", sentence("night.little", changed=changed), findings, latest.path.name)

    def _record_failure(self, error: Exception) -> None:
        if isinstance(error, HybridError):
            keep_private_details(error, self.places.work)
            stopped = error.exit_code == 2 or isinstance(error, GateRefused)
            self._end("stopped" if stopped else "failed", _first(error))
        else:
            # The text of a stray error may hold a record.
            after = "" if self.published is None else f"release {self.published} is published; after that: "
            self._end("failed", f"{after}{type(error).__name__}")

    def _end(self, outcome: Outcome, message: str) -> None:
        self.ledger.note(self.name, outcome, message)
        self._notify(Notice(self.name, outcome, message, self.published))

    def _notify(self, notice: Notice) -> Notice:
        notice = replace(notice, found=self.found)
        about = {"data_set": notice.data_set, "outcome": notice.outcome, "release": notice.release, "run": notice.run}
        logger.info("%s", notice, extra=about)
        if self.pipeline.config.nightly.webhook_env is not None:
            post(notice, self.pipeline.config.nightly.webhook_env)
        if self.listener is not None:
            self.listener(notice)
        return notice


def deliver_latest(config: RunConfig, places: Places) -> tuple[str | None, list[str]]:
    """Deliver the newest release; withdrawn ones leave warehouses.

    Gives the name of the newest release that is not withdrawn and as it was published, None if there is none, and the
    targets that got it now. After an error the next call does what is missing.
    """
    if config.nightly.deliver == DeliverOptions():
        raise ConfigError("the config names no place to deliver to", hint="set nightly.deliver.folder or .sql")
    newest = newest_own(places.releases, Ledger(places.work), config.name)
    if newest is None:
        deliveries_of(config).recall(config.name, places.work)
        return None, []
    return newest.path.name, deliver_own(newest.path, config, places)


def deliver_own(release: Path, config: RunConfig, places: Places) -> list[str]:
    """Deliver a release that is as this installation published it.

    One that was changed, or is not in the ledger, is not delivered.
    """
    problems = verify_own(release, Ledger(places.work))
    if problems:
        raise VerificationError(Problem(f"{release.name}: {one.message}; not delivered", one.hint) for one in problems)
    return deliveries_of(config).deliver(release, places.work)


def deliveries_of(config: RunConfig) -> Deliveries:
    return Deliveries(config.nightly.deliver, config.sources, config.folder)


def _of_held_run(held: HeldRun) -> NightDecision:
    run, day = held.folder.name, held.since[:10]
    if held.outcome == "waiting":
        return NightDecision("resume", sentence("night.waits", run=run, day=day), held=held)
    return NightDecision("refuse", sentence("night.refused", run=run, day=day, message=held.message), held=held)


def _first(error: HybridError) -> str:
    first, *others = error.problems
    return f"{first.message} (and {len(others)} more)" if others else first.message
