"""One release: every stage a task, then the gate, then (if asked) publishing.

python flows/release.py configs/quickstart.yaml
"""

import argparse
from pathlib import Path

from flows.stages import STAGES, compute, flow, publish_artifacts, script, stage_task, walk_of
from hybrid.errors import HybridError
from hybrid.release.publish import publish as publish_folder
from hybrid.run_folder import keep_private_details, new_folder, summary, write_candidate


@stage_task()
def conclude(config: str, work: str, runs: str, releases: str, publish: bool) -> str:
    """Judge, write the run's folder, publish if asked; gives the folder of the release, or of the run."""
    walk = walk_of(config, work)
    folder = new_folder(walk.config.name, Path(runs))
    write_candidate(walk, folder, Path(work))
    publish_artifacts(walk.config.name, summary(walk), folder / "report.html")
    return str(publish_folder(folder, Path(releases), Path(work)) if publish else folder)


@flow(name="release", log_prints=False)
def release(
    config: str, publish: bool = False, work: str = "work", runs: str = "runs", releases: str = "releases"
) -> str:
    """Run the pipeline on a configuration; publish the result if the gate lets it out."""
    try:
        for stage in STAGES:
            compute(config, work, stage)
        return conclude(config, work, runs, releases, publish)
    except HybridError as error:
        keep_private_details(error, Path(work))
        raise


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--publish", action="store_true", help="publish the result if the gate lets it out")
    arguments = parser.parse_args()
    script(release, arguments.config, publish=arguments.publish)
