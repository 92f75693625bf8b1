"""Command of the laboratory of privacy metrics."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid.cli import console
from hybrid.cli.compare import print_forecast
from hybrid.cli.group import Group
from hybrid.cli.options import RetryFailed, Scheduler, refuse_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.lab import LabPlan

DEMO = "demo"


def lab(
    config: Annotated[str, typer.Argument(metavar="PLAN|demo", help="The plan (YAML), or simulated admissions.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Private folder for the results.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Trials at a time on this machine.")] = 1,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="NAME", help="One of the plan's budgets, such as quick.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count: trials, stages, expected time.")] = False,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="PLACE", help="Keep stage results (real records) in a folder, or in memory."),
    ] = None,
    engine: Annotated[str, typer.Option("--engine", metavar="local|dask", help="Where the trials are.")] = "local",
    scheduler: Scheduler = None,
    retry_failed: RetryFailed = False,
) -> None:
    """Try privacy metrics on tables whose leak is known.

    The result is a league: which metric can be trusted, and for what. After an interruption, the same command
    continues it.
    """
    from hybrid.lab import foresee, run_lab

    refuse_engine(engine, scheduler)
    with _plan(config, scale) as (plan, folder):
        chosen = plan if store is None else plan.model_copy(update={"store": store})
        target = out or Path("runs") / plan.name
        if dry_run:
            print_forecast(foresee(chosen, folder, target), jobs)
            return
        with console.progress() as progress:
            found = run_lab(chosen, folder, target, jobs, progress, scheduler=scheduler, retry_failed=retry_failed)
    failed = f", {found.failed:,} failed (why is in the report)" if found.failed else ""
    console.line("note" if found.failed else "ok", f"{found.ended:,} trials done{failed}")
    for word, names in found.league.by_word().items():
        console.line("ok" if word == "trusted" else "note", f"{word}: {', '.join(names)}")
    console.out.print(f"\nreport  {target / 'lab.html'}\nleague  {target / 'league.csv'}")


@contextmanager
def _plan(config: str, scale: str | None) -> Iterator[tuple[LabPlan, Path]]:
    """The plan and the folder that its paths start from."""
    from hybrid.base.scratch import scratch
    from hybrid.lab import demo_plan, load_plan
    from hybrid.lab.demo import write_table

    if config != DEMO:
        yield load_plan(Path(config), scale), Path(config).parent
        return
    plan = demo_plan(scale)
    with scratch("lab") as temporary:
        write_table(plan, Path(temporary))
        yield plan, Path(temporary)


GROUP = Group("Compare", (lab,))
