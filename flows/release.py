"""One release: every stage a task, then the gate, then (if asked) publishing.

python flows/release.py configs/quickstart.yaml
"""

import argparse
from pathlib import Path

from flows.stages import STAGES, compute, flow, script, show_run, stage_task, walk_of
from hybrid.base.errors import HybridError
from hybrid.jobs.nightly import remember
from hybrid.jobs.run import keep_private_details, new_folder, write_candidate
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.publish import publish as publish_folder


@stage_task("conclude")
def conclude(walk: Pipeline, work: Path, runs: Path, releases: Path, publish: bool) -> Path:
    """Judge, write the run's folder, publish if asked; gives the folder of the release, or of the run."""
    folder = new_folder(walk.config.name, runs)
    write_candidate(walk, folder, work)
    remember(walk, work)
    show_run(walk, folder)
    return publish_folder(folder, releases, work) if publish else folder


@flow(name="release", log_prints=False)
def release(
    config: str, publish: bool = False, work: str = "work", runs: str = "runs", releases: str = "releases"
) -> str:
    """Run the pipeline on a configuration; publish the result if the gate lets it out."""
    try:
        walk = walk_of(load_config(Path(config)), Path(work))
        for stage in STAGES:
            compute(walk, stage)
        return str(conclude(walk, Path(work), Path(runs), Path(releases), publish))
    except HybridError as error:
        keep_private_details(error, Path(work))
        raise


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--publish", action="store_true", help="publish the result if the gate lets it out")
    arguments = parser.parse_args()
    script(release, arguments.config, publish=arguments.publish)
