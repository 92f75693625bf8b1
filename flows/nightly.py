"""Nightly flow: data, drift, decision, stages, gate, release, delivery, notices.

python flows/nightly.py configs/nightly.yaml
"""

import argparse
import logging
from dataclasses import asdict
from pathlib import Path

from prefect import State, Task
from prefect.artifacts import create_markdown_artifact
from prefect.blocks.core import Block
from prefect.client.schemas.objects import TaskRun
from prefect.events import emit_event
from prefect.states import Completed

from flows.progress import ShownProgress, server_may_be_gone
from flows.stages import (
    STATES,
    artifact_key,
    compute,
    flow,
    pipeline_of,
    script_by_state,
    set_secrets,
    show_run,
    stage_task,
)
from hybrid.base.errors import HybridError, UnreachableError
from hybrid.jobs.nightly import EXIT_CODES, Listener, Night, NightDecision
from hybrid.jobs.places import Places
from hybrid.jobs.start import configuration
from hybrid.operations.notify import Notice

logger = logging.getLogger("hybrid.flows")


def _may_come_back(task: Task[..., NightDecision], run: TaskRun, state: State[NightDecision]) -> bool:  # noqa: ARG001
    try:
        state.result()
    except UnreachableError:
        return True
    except HybridError:
        return False
    return False


@stage_task("read, compare, decide", retries=3, retry_delay_seconds=[60, 300, 900], retry_condition_fn=_may_come_back)
def look(night: Night, accept_drift: bool) -> NightDecision:
    """Read the source, compare it with that of the latest release, decide."""
    decision = night.decide(accept_drift)
    lines = [f"# {decision.action}", "", decision.reason, "", "| | compared with the latest release |", "|---|---|"]
    lines += [f"| {finding.status} | {finding.message} |" for finding in decision.findings]
    with server_may_be_gone("decision"):
        create_markdown_artifact("\n".join(lines), key=artifact_key(night.name, "decision"))
    return decision


@stage_task("gate, release, deliver")
def close(night: Night, decision: NightDecision) -> Notice:
    """Carry out the decision."""
    try:
        notice = night.close(decision)
        with server_may_be_gone("outcome"):
            create_markdown_artifact(_outcome(night, notice), key=artifact_key(night.name, "outcome"))
        return notice
    finally:
        # The stages of a run that is resumed are not computed here, and must not be for the sake of a picture.
        if decision.needs_stages and night.run_folder is not None and night.run_folder.is_dir():
            with server_may_be_gone("figures"):
                show_run(night.pipeline, night.run_folder)


@flow(name="nightly", log_prints=False)
def nightly(
    config: str,
    work: str = "work",
    runs: str = "runs",
    releases: str = "releases",
    accept_drift: bool = False,
    credentials: dict[str, str] | None = None,
    notify: str | None = None,
) -> State:
    """Run one night of a data set.

    The state's name is the outcome (:data:`STATES`), its result the name of the release that is out. A run that waits
    for an approval, or that the gate refused, is no failure: the state is of the type COMPLETED.

    ``credentials``: Secret blocks by the environment variable they fill; ``notify``: a notification block, TYPE/NAME.
    """
    set_secrets(credentials or {})
    loaded = configuration(config)
    places = Places(Path(work), Path(runs), Path(releases))
    progress = ShownProgress(artifact_key(loaded.name, "progress"))
    night = Night(pipeline_of(loaded, places.work, progress), places, _listener(notify))
    progress.steps, progress.seconds = night.pipeline.steps, night.seconds_before()
    with night.watched():
        decision = look(night, accept_drift)
        for stage in night.pipeline.steps if decision.needs_stages else ():
            compute(night.pipeline, stage)
        notice = close(night, decision)
    progress.finish()
    return Completed(name=STATES[notice.outcome], message=str(notice), data=notice.release)


def _outcome(night: Night, notice: Notice) -> str:
    lines = [f"# {STATES[notice.outcome]}", "", notice.message]
    if night.refusal is not None:
        lines += ["", *(f"- {problem}" for problem in night.refusal.problems)]
    return "\n".join(lines)


def _listener(notify: str | None) -> Listener:
    """Emit an event, and send a notification through a configured block; a failure to do so is logged."""

    def hear(notice: Notice) -> None:
        resource = {"prefect.resource.id": f"hybrid.data-set.{notice.data_set}"}
        emit_event(f"hybrid.night.{notice.outcome}", resource=resource, payload=asdict(notice))
        if notify is None:
            return
        try:
            Block.load(notify).notify(str(notice), subject=f"{notice.data_set}: {notice.outcome}")
        except Exception as error:  # noqa: BLE001 - its text may hold an address or a token
            logger.warning("the notification block %s failed (%s)", notify, type(error).__name__)

    return hear


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument(
        "--accept-drift", action="store_true", help="continue although the data drifted beyond the limits"
    )
    arguments = parser.parse_args()
    codes = {STATES[outcome]: code for outcome, code in EXIT_CODES.items()}
    script_by_state(nightly, codes, arguments.config, accept_drift=arguments.accept_drift)
