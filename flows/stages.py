"""What all flows share: stages as tasks that exchange names and paths, never tables."""

import logging
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prefect import flow, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from hybrid.config import load_config
from hybrid.errors import HybridError
from hybrid.pipeline import Walk
from hybrid.store import Store

__all__ = ["STAGES", "compute", "flow", "publish_artifacts", "script", "stage_task", "walk_of"]

logging.getLogger("hybrid").setLevel("INFO")

STAGES = ("anonymized", "sampled", "restored", "generated", "baseline", "evaluation")
"""The stages of a walk, in order; each is one task."""

# Our store decides by content what is computed again: Prefect's caches see paths, not what is in the files,
# and would write tables into its own storage.
stage_task = partial(task, cache_policy=NO_CACHE, persist_result=False)


def walk_of(config: str, work: str) -> Walk:
    """The walk whose stages the tasks of one flow compute and find in the store."""
    return Walk(load_config(Path(config)), store=Store(Path(work) / "store"))


@stage_task(task_run_name="{stage}")
def compute(config: str, work: str, stage: str) -> None:
    """Compute one stage, or find it in the store."""
    getattr(walk_of(config, work), stage)


def publish_artifacts(name: str, summary: str, report: Path) -> None:
    """Show the summary and the link to the report in Prefect."""
    key = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    create_markdown_artifact(summary, key=f"{key}-summary")
    create_link_artifact(report.resolve().as_uri(), link_text="report", key=f"{key}-report")


def script(run: Callable[..., str], *arguments: object, **options: object) -> None:
    """Run a flow from the command line: print what it gives, or its error in one message with the exit code for it."""
    try:
        print(run(*arguments, **options))  # noqa: T201
    except HybridError as error:
        for problem in error.problems:
            print(f"{error.title}  {problem}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
