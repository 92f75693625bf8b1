"""Stages as Prefect tasks of one process.

They share a pipeline, and no table goes through Prefect.
"""

import argparse
import functools
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

from prefect import State, Task, flow, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.blocks.system import Secret
from prefect.cache_policies import NO_CACHE

from hybrid.base.errors import ConfigError, HybridError, place_of
from hybrid.base.logs import write_json_lines
from hybrid.base.progress import LogProgress, Progress
from hybrid.base.resources import forbid_dumps
from hybrid.evaluation.display import displayed_evaluation
from hybrid.jobs.run import summary
from hybrid.operations.notify import Outcome
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.store import Store

__all__ = [
    "STATES",
    "compute",
    "flow",
    "publish_artifacts",
    "script",
    "script_by_state",
    "set_secrets",
    "show_run",
    "stage_task",
    "pipeline_of",
]

P = ParamSpec("P")
R = TypeVar("R")

forbid_dumps()
logging.getLogger("hybrid").setLevel("INFO")
if os.environ.get("HYBRID_LOG_FORMAT") == "json":
    write_json_lines()

STATES: Mapping[Outcome, str] = {
    "released": "Released",
    "kept": "Kept",
    "waiting": "Waiting for approval",
    "refused": "Refused",
}
"""Names of the states that a flow ends in, by outcome; one that fails ends in Prefect's own state Failed."""


def stage_task(name: str, **options: Any) -> Callable[[Callable[P, R]], Task[P, R]]:
    """A task whose errors say nothing of the data.

    Our store decides by content what is computed again: Prefect's caches see paths, not what is in the files, and
    would write tables into its own storage. The text of an error goes into Prefect's database: that of this package's
    own errors is made for it, of any other only its type and place are passed on.
    """

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        @functools.wraps(function)
        def careful(*arguments: P.args, **named: P.kwargs) -> R:
            try:
                return function(*arguments, **named)
            except HybridError:
                raise
            except Exception as error:  # noqa: BLE001
                raise HybridError(
                    f"bug: {type(error).__name__} in {place_of(error)}",
                    hint="run hybrid run CONFIG --debug by hand (its output may show data), and report what it prints",
                ) from None

        return task(careful, task_run_name=name, cache_policy=NO_CACHE, persist_result=False, **options)

    return decorate


def pipeline_of(config: RunConfig, work: Path, progress: Progress | None = None) -> Pipeline:
    """The pipeline of one flow, of a table or linked tables; sources are read once."""
    return Pipeline(
        config,
        store=Store(work / "store"),
        progress=progress or LogProgress(logging.getLogger("hybrid").info),
        ledger_dir=work,
    )


@stage_task("{stage}")
def compute(pipeline: Pipeline, stage: str) -> None:
    """Compute one stage, or find it in the store."""
    pipeline.compute(stage)


def artifact_key(name: str, what: str) -> str:
    """Prefect allows small letters, digits and dashes."""
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}-{what}"


def publish_artifacts(name: str, summary: str, report: Path) -> None:
    """Show the summary and the link to the report in Prefect."""
    create_markdown_artifact(summary, key=artifact_key(name, "summary"))
    create_link_artifact(report.resolve().as_uri(), link_text="report", key=artifact_key(name, "report"))


def show_run(pipeline: Pipeline, folder: Path) -> None:
    """Show a finished run's verdict, figures and report link in Prefect."""
    publish_artifacts(pipeline.config.name, summary(pipeline), folder / "report.html")
    columns = ("table", "name", "stage", "column", "value", "ci", "reference", "direction", "state")
    metrics = displayed_evaluation(pipeline.evaluation).metrics
    rows = [{key: metric.to_json().get(key) for key in columns} for metric in metrics]
    create_table_artifact(rows, key=artifact_key(pipeline.config.name, "figures"))


def set_secrets(credentials: Mapping[str, str]) -> None:
    """Fill environment variables of this process from Secret blocks.

    Parameters
    ----------
    credentials : mapping of str to str
        Name of the block by name of the variable, such as ``{"HYBRID_DB_URL": "hybrid-db-url"}``.

    Raises
    ------
    ConfigError
        There is no such block.
    """
    for variable, block in credentials.items():
        try:
            os.environ[variable] = str(Secret.load(block).get())
        except ValueError:
            raise ConfigError(
                f"Prefect has no Secret block {block!r} (for {variable})", hint="make it: see hybrid help nights"
            ) from None


def script(run: Callable[..., str], *arguments: object, **options: object) -> None:
    """Run a flow from the command line and print what it gives, or its error in one message with its exit code."""
    try:
        print(run(*arguments, **options))  # noqa: T201
    except HybridError as error:
        _end(error)


def plan_script(run: Callable[..., str], description: str | None, out: str) -> None:
    """Run a flow of a plan from the command line.

    Parameters
    ----------
    run : flow
        Takes ``plan``, ``out``, ``jobs``, ``scale`` and ``scheduler``.
    description : str or None
        Shown by ``--help``.
    out : str
        Folder of the results where none is given.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("plan")
    parser.add_argument("--out", default=out)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scale")
    parser.add_argument("--scheduler", help="address of a Dask scheduler")
    script(run, **vars(parser.parse_args()))


def script_by_state(run: Callable[..., State], codes: Mapping[str, int], *arguments: object, **options: object) -> None:
    """Run a flow with states named by outcome; exit with its code.

    Parameters
    ----------
    run : flow
        Its states of other names than those of ``codes`` are failures.
    codes : mapping of str to int
        Exit code by name of the state.
    """
    ended = run(*arguments, **options, return_state=True)
    try:
        if ended.name not in codes:
            ended.result()
    except HybridError as error:
        _end(error)
    print(ended.message)  # noqa: T201
    sys.exit(codes.get(str(ended.name), 1))


def _end(error: HybridError) -> NoReturn:
    for problem in error.problems:
        print(f"{error.title}  {problem}", file=sys.stderr)  # noqa: T201
    sys.exit(error.exit_code)
