"""Release flow.

Every stage a task, then the gate, then (if asked) publishing.

python flows/release.py configs/quickstart.yaml
"""

import argparse
from pathlib import Path

from flows.stages import STAGES, compute, flow, pipeline_of, script, show_run, stage_task
from hybrid.base.errors import HybridError
from hybrid.jobs.release import Places, refuse_unreleasable, write_candidate
from hybrid.jobs.run import keep_private_details
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline


@stage_task("conclude")
def conclude(pipeline: Pipeline, places: Places, publish: bool) -> Path:
    """Judge, write the run's folder, publish if asked.

    Return the folder of the release, or of the run.
    """
    candidate = write_candidate(pipeline, places)
    show_run(pipeline, candidate.folder)
    return candidate.publish() if publish else candidate.folder


@flow(name="release", log_prints=False)
def release(
    config: str, publish: bool = False, work: str = "work", runs: str = "runs", releases: str = "releases"
) -> str:
    """Run the pipeline on a configuration.

    Publish the result if the gate lets it out.
    """
    places = Places(Path(work), Path(runs), Path(releases))
    try:
        pipeline = pipeline_of(load_config(Path(config)), places.work)
        refuse_unreleasable(pipeline)
        for stage in STAGES:
            compute(pipeline, stage)
        return str(conclude(pipeline, places, publish))
    except HybridError as error:
        keep_private_details(error, places.work)
        raise


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--publish", action="store_true", help="publish the result if the gate lets it out")
    arguments = parser.parse_args()
    script(release, arguments.config, publish=arguments.publish)
