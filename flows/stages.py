"""What all flows share: stages as tasks that exchange names and paths, never tables."""

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

# Nothing about a run leaves this machine, also when Prefect is started from another folder than prefect.toml's.
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "90")
# A library under Prefect's server warns of its own annotations when anjana's pinned beartype is installed.
os.environ.setdefault("PYTHONWARNINGS", "ignore:::beartype._util.error.utilerrwarn")
warnings.filterwarnings("ignore", module=r"beartype\._util\.error")

from prefect import task
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from hybrid.config import load_config
from hybrid.errors import HybridError
from hybrid.pipeline import Walk
from hybrid.run_folder import private_folder
from hybrid.store import Store

logging.getLogger("hybrid").setLevel("INFO")

STAGES = ("anonymized", "sampled", "restored", "generated", "baseline", "evaluation")
"""The stages of a walk, in order; each is one task."""


def walk_of(config: str, work: str) -> Walk:
    """The walk whose stages the tasks of one flow compute and find in the store."""
    private_folder(Path(work))
    return Walk(load_config(Path(config)), store=Store(Path(work) / "store"))


# Our store decides by content what is computed again: Prefect's caches see paths, not what is in the files,
# and would write tables into its own storage.
@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="{stage}")
def compute(config: str, work: str, stage: str) -> None:
    """Compute one stage, or find it in the store."""
    getattr(walk_of(config, work), stage)


def script(flow: Callable[..., str], *arguments: object, **options: object) -> None:
    """Run a flow from the command line: print what it gives, or its error in one message with the exit code for it."""
    try:
        print(flow(*arguments, **options))  # noqa: T201
    except HybridError as error:
        sys.exit(_explained(error))


def _explained(error: HybridError) -> int:
    for problem in error.problems:
        print(f"{error.title}  {problem}", file=sys.stderr)  # noqa: T201
    return error.exit_code


def publish_artifacts(key: str, summary: str, report: Path) -> None:
    """Show the summary and the link to the report in Prefect."""
    key = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")
    create_markdown_artifact(summary, key=f"{key}-summary")
    create_link_artifact(report.resolve().as_uri(), link_text="report", key=f"{key}-report")
