"""Release flow.

Every stage a task, then the gate, then (if asked) publishing.

python flows/release.py configs/quickstart.yaml
"""

import argparse
from pathlib import Path

from prefect import State
from prefect.states import Completed

from flows.stages import STATES, compute, flow, pipeline_of, script_by_state, show_run, stage_task
from hybrid.base.errors import ApprovalNeeded, GateRefused, HybridError
from hybrid.jobs.places import Places
from hybrid.jobs.release import refuse_unreleasable, write_candidate
from hybrid.jobs.run import keep_private_details
from hybrid.jobs.start import configuration
from hybrid.operations.notify import Outcome
from hybrid.pipeline.pipeline import Pipeline

WRITTEN = "Written"
"""Name of the state where the run was not to be published."""


@stage_task("conclude")
def conclude(pipeline: Pipeline, places: Places, publish: bool) -> Path | GateRefused:
    """Judge, write the run's folder, publish if asked.

    Return the folder of the release or of the run, or what the gate said to a run that it held back.
    """
    candidate = write_candidate(pipeline, places)
    show_run(pipeline, candidate.folder)
    try:
        return candidate.publish() if publish else candidate.folder
    except GateRefused as refusal:
        return refusal


@flow(name="release", log_prints=False)
def release(
    config: str, publish: bool = False, work: str = "work", runs: str = "runs", releases: str = "releases"
) -> State:
    """Run the pipeline on a configuration.

    Publish the result if the gate lets it out. A run that waits for an approval, or that the gate refused, is no
    failure: the state is of the type COMPLETED and named by the outcome.
    """
    places = Places(Path(work), Path(runs), Path(releases))
    try:
        pipeline = pipeline_of(configuration(config), places.work)
        refuse_unreleasable(pipeline)
        for stage in pipeline.steps:
            compute(pipeline, stage)
        ended = conclude(pipeline, places, publish)
    except HybridError as error:
        keep_private_details(error, places.work)
        raise
    if isinstance(ended, GateRefused):
        outcome: Outcome = "waiting" if isinstance(ended, ApprovalNeeded) else "refused"
        return Completed(name=STATES[outcome], message=str(ended))
    return Completed(name=STATES["released"] if publish else WRITTEN, message=str(ended), data=str(ended))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--publish", action="store_true", help="publish the result if the gate lets it out")
    arguments = parser.parse_args()
    codes = {STATES["released"]: 0, WRITTEN: 0, STATES["waiting"]: 3, STATES["refused"]: 3}
    script_by_state(release, codes, arguments.config, publish=arguments.publish)
