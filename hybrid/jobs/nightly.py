"""Nightly job: compare the data, decide, compute, publish, deliver, notify.

The decision follows a rule and is logged: a night **skips** where data, method and policy equal those of the latest
release; it **reuses** that release where the rule allows it and the data changed little; it **refits** otherwise.
Reusing keeps the latest release published and draws nothing: a second draw from the same model would add no
information about the data, and would disclose more about the same people.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from hybrid.base.errors import DriftError, GateRefused, HybridError, Problem
from hybrid.jobs.release import Places, refuse_unreleasable, write_candidate
from hybrid.jobs.run import keep_private_details, keep_source_statistics
from hybrid.operations.deliver import check_targets, deliver
from hybrid.operations.drift import DriftFinding, compare, describe, find_baseline
from hybrid.operations.notify import Notice, Outcome, post
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.folder import Release, releases_in
from hybrid.publication.key import record_secret, release_key, release_tag
from hybrid.publication.ledger import Ledger
from hybrid.publication.night_lock import one_night
from hybrid.publication.redact import public_config
from hybrid.publication.verify import verify

logger = logging.getLogger(__name__)
Action = Literal["skip", "reuse", "refit"]


@dataclass(frozen=True)
class Decision:
    """Decision of a night, and its reason."""

    action: Action
    reason: str
    findings: tuple[DriftFinding, ...] = ()
    release: str | None = None
    """Name of the latest release, if it is kept."""

    @property
    def walks(self) -> bool:
        """True if the stages must be computed."""
        return self.release is None

    def __str__(self) -> str:
        return f"{self.action}: {self.reason}"


Listener = Callable[[Notice], None]


class Night:
    """One night of one data set.

    Parameters
    ----------
    pipeline : Pipeline
        With the store of ``places``.
    places : Places
        Where everything is kept.
    listener : callable
        Receives the outcome of the night, as the log, the ledger and the webhook do.
    """

    def __init__(self, pipeline: Pipeline, places: Places, listener: Listener | None = None) -> None:
        self.pipeline = pipeline
        self.places = places
        self.listener = listener
        self.name = pipeline.config.name
        self.run_folder: Path | None = None
        """Folder of the run behind a new release, once it is written."""
        self.ledger = Ledger(places.work)

    def run(self, accept_drift: bool = False) -> Notice:
        """Run the night from start to end.

        Parameters
        ----------
        accept_drift : bool
            Continue although the data changed beyond the limits: a person has checked it.

        Returns
        -------
        Notice
            released or kept.

        Raises
        ------
        HybridError
            There is no new release; the ledger and the notice say so, every earlier release is as it was.
        """
        with self.watched():
            return self.close(self.decide(accept_drift))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Lock the data set for one night.

        Record and report an error before it is raised again.

        A night before that was interrupted (killed, machine down, stopped by hand) is recorded and reported first.
        """
        with one_night(self.places.work, self.name) as mark:
            if mark.cut_off is not None:
                self._end(
                    "interrupted", f"the night that began {mark.cut_off} was interrupted; this one continues from there"
                )
            try:
                yield
            except Exception as error:
                self._write_down(error)
                mark.remove()
                raise
            mark.remove()

    def decide(self, accept_drift: bool = False) -> Decision:
        """Decide on the night by comparing the table with the last released.

        Raises
        ------
        DriftError
            The table changed beyond the limits, and the change was not accepted.
        HybridError
            The source cannot be read, or the configuration cannot be run.
        """
        self.places.check_writable()
        config = self.pipeline.config
        check_targets(config.nightly.deliver, config.data, config.folder, self.places.releases)
        refuse_unreleasable(self.pipeline)
        self.pipeline.check()
        key = release_key(self.places.work)
        latest = self._latest()
        if latest is None:
            return Decision("refit", "there is no release of this data set that could stay")
        baseline = find_baseline(self.places.work, self.name, latest.certificate["source"]["tag"])
        if self._same_source_and_method(key, latest):
            if baseline is None:
                keep_source_statistics(self.pipeline, self.places.work)
            reason = "data, method and policy are those of the latest release"
            return Decision("skip", reason, release=latest.path.name)
        if baseline is None:
            return Decision("refit", "nothing is known of the table behind the latest release: drift is not checked")
        now = describe(self.pipeline.table, record_secret(key), baseline.statistics)
        findings = compare(baseline.statistics, now, self.pipeline.config.nightly.drift)
        for finding in findings:
            logger.log(logging.INFO if finding.status == "pass" else logging.WARNING, "%s", finding.message)
        stops = [finding for finding in findings if finding.status == "stop"]
        if stops and not accept_drift:
            hint = "look at the source; if the change is right, run once with --accept-drift"
            raise DriftError(Problem(finding.message, hint) for finding in stops)
        return self._by_rule(latest, findings)

    def close(self, decision: Decision) -> Notice:
        """Carry out the decision.

        Publish a new release or keep the latest, deliver it, clean the store.

        Raises
        ------
        GateRefused
            The policy does not let the new release out.
        OutputError
            Published, and not delivered to every target.
        """
        logger.info("%s", decision)
        options = self.pipeline.config.nightly
        outcome: Outcome = "kept"
        if decision.release is not None:
            release = self.places.releases / decision.release
            self.ledger.note(self.name, "kept", f"{release.name} ({decision})")
        else:
            candidate = write_candidate(self.pipeline, self.places)
            self.run_folder = candidate.folder
            before = self._latest()
            release = candidate.publish()
            outcome = "kept" if before is not None and before.path.name == release.name else "released"
        deliver(release, options.deliver, self.pipeline.config.data, self.pipeline.config.folder, self.places.work)
        self.places.store.clean(timedelta(days=options.keep_days))
        return self._tell(Notice(self.name, outcome, str(decision), release.name))

    def seconds_before(self) -> Mapping[str, float]:
        """Seconds of each stage for the latest release; empty if unknown."""
        latest = self._latest()
        tag = "" if latest is None else latest.certificate["source"]["tag"]
        baseline = find_baseline(self.places.work, self.name, tag) if tag else None
        return {} if baseline is None else baseline.seconds

    def _latest(self) -> Release | None:
        """Newest release of this data set.

        None if there is none or it was changed.

        The folder's ``latest`` may belong to another data set. The ledger, not the clock, gives the order.
        """
        order = {entry.release: at for at, entry in enumerate(self.ledger.entries(self.name))}
        own = [found for found in releases_in(self.places.releases) if found.certificate.get("name") == self.name]
        newest = max(own, key=lambda found: (order.get(found.path.name, -1), found.created), default=None)
        return None if newest is None or verify(newest.path) else newest

    def _same_source_and_method(self, key: bytes, latest: Release) -> bool:
        manifest = {"data_fingerprint": self.pipeline.data_fingerprint, "config": self._config}
        return self._same_policy(latest) and latest.certificate["release_tag"] == release_tag(key, manifest)

    def _same_policy(self, latest: Release) -> bool:
        return bool(latest.certificate["policy"]["sha256"] == self.pipeline.policy.sha256)

    @property
    def _config(self) -> dict[str, Any]:
        return self.pipeline.config.model_dump(mode="json")

    def _by_rule(self, latest: Release, findings: tuple[DriftFinding, ...]) -> Decision:
        rule = self.pipeline.config.nightly.reuse
        psi, most = max((finding.psi or 0.0, finding.subject) for finding in findings)
        words = f"{findings[0].message}; most changed: {most!r}, stability index {psi:.3f}"
        if not self._same_policy(latest) or latest.certificate["config"] != public_config(self._config):
            return Decision("refit", f"the method or the policy changed; {words}", findings)
        if rule is None:
            return Decision("refit", f"the data changed; {words}", findings)
        if psi > rule.psi or any(finding.status != "pass" for finding in findings):
            return Decision("refit", f"the data changed more than the rule for reuse allows; {words}", findings)
        if datetime.now(UTC) - datetime.fromisoformat(latest.created) > timedelta(days=rule.days):
            return Decision("refit", f"the latest release is older than {rule.days:g} days; {words}", findings)
        return Decision("reuse", f"the data changed little; {words}", findings, latest.path.name)

    def _write_down(self, error: Exception) -> None:
        if isinstance(error, GateRefused):
            # Publishing has entered in the ledger whether it is refused or waits for an approval.
            event = self.ledger.events(self.name, last=1)[-1]
            self._tell(Notice(self.name, "waiting" if event.outcome == "waiting" else "refused", event.message))
        elif isinstance(error, HybridError):
            keep_private_details(error, self.places.work)
            self._end("stopped" if error.exit_code == 2 else "failed", _first(error))
        else:
            # The text of a stray error may hold a record.
            self._end("failed", type(error).__name__)

    def _end(self, outcome: Outcome, message: str) -> None:
        self.ledger.note(self.name, outcome, message)
        self._tell(Notice(self.name, outcome, message))

    def _tell(self, notice: Notice) -> Notice:
        about = {"data_set": notice.data_set, "outcome": notice.outcome, "release": notice.release}
        logger.info("%s", notice, extra=about)
        if self.pipeline.config.nightly.webhook_env is not None:
            post(notice, self.pipeline.config.nightly.webhook_env)
        if self.listener is not None:
            self.listener(notice)
        return notice


def _first(error: HybridError) -> str:
    first, *others = error.problems
    return f"{first.message} (and {len(others)} more)" if others else first.message
