"""Commands that compare configurations, and about the store they share: compare, store."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid.cli import console
from hybrid.cli.arguments import AsJson, CommandGroup, RetryFailed, Scheduler, Work, refuse_engine

if TYPE_CHECKING:
    from hybrid.comparison.forecast import Forecast

StoreAt = Annotated[str, typer.Argument(metavar="DIR", help="The store: a folder or an address (s3://...).")]
store_app = typer.Typer(no_args_is_help=True, help="Kept stage results (private).")


def compare(
    config: Annotated[Path, typer.Argument(metavar="PLAN", help="The comparison plan (YAML).")],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Runs at a time on this machine.")] = 1,
    scale: Annotated[str | None, typer.Option("--scale", metavar="NAME", help="One of the plan's budgets.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count: configurations, stages to compute, expected time.")
    ] = False,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="PLACE", help="Keep stage results in a folder, at an address, or in memory."),
    ] = None,
    engine: Annotated[str, typer.Option("--engine", metavar="local|dask", help="Where the runs are.")] = "local",
    scheduler: Scheduler = None,
    retry_failed: RetryFailed = False,
    work: Work = Path("work"),
    as_json: AsJson = False,
) -> None:
    """Run a plan of configurations side by side.

    After an interruption, the same command continues it. Exit code 1: a run failed, or --dry-run found one that will.
    """
    refuse_engine(engine, scheduler)
    with console.progress() as progress:
        from hybrid.comparison import compare as run_plan
        from hybrid.comparison import forecast, load_plan
        from hybrid.comparison.write import ANSWERS, RECOMMENDED

        plan = load_plan(config, scale)
        if store is not None:
            plan = plan.model_copy(update={"store": store})
        folder = out or Path("runs") / plan.name
        todo = plan, config.parent, folder
        if dry_run:
            expected = forecast(*todo)
        else:
            table = run_plan(*todo, jobs, progress, scheduler=scheduler, retry_failed=retry_failed, work=work)
    if dry_run:
        show_forecast(expected, jobs, as_json=as_json, reach=True)
        return
    failed = int((table["status"] == "failed").sum())
    recommended = str(folder / RECOMMENDED) if (folder / RECOMMENDED).exists() else None
    files = {"table": str(folder / "comparison.csv"), "report": str(folder / "comparison.html")}
    said = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))["said"]
    if as_json:
        counts = {"done": len(table) - failed, "failed": failed, "said": said}
        console.print_json({"folder": str(folder)} | counts | files | {"recommended": recommended})
    else:
        counts = {"n": f"{len(table) - failed:,}", "failed": f"{failed:,}"}
        if failed:
            console.line(
                "error", "{n:number} runs done, {failed:number} failed (why is in the column reason)", **counts
            )
        else:
            console.line("ok", "{n:number} runs done", **counts)
        for sentence in said:
            console.line("note", sentence)
        console.show("\ntable        {path}", path=files["table"])
        console.show("report       {path}", path=files["report"])
        if recommended is not None:
            console.show("the first    {path}", path=recommended)
    if failed:
        raise typer.Exit(1)


def show_forecast(expected: Forecast, jobs: int, *, as_json: bool, reach: bool = False) -> None:
    """Print what is to be computed; exit code 1 if a configuration cannot run here."""
    if as_json:
        console.print_json(forecast_json(expected, jobs))
    else:
        print_forecast(expected, jobs)
        if reach:
            print_reach(expected)
    if expected.refused:
        raise typer.Exit(1)


def forecast_json(expected: Forecast, jobs: int) -> dict[str, Any]:
    """Forecast for ``--json``."""
    return {
        "configurations": expected.configurations,
        "runs": expected.trials,
        "done": expected.done,
        "refused": [{"configurations": list(one.configurations), "reason": one.reason} for one in expected.refused],
        "left_out": dict(Counter(one.reason for one in expected.left_out)),
        "executions": expected.executions,
        "expected_seconds": expected.seconds / jobs,
        "measured": expected.is_measured,
        "reach": None if expected.reach is None else asdict(expected.reach),
    }


def print_forecast(expected: Forecast, jobs: int) -> None:
    seeds, further = divmod(expected.trials, max(expected.configurations, 1))
    counts = {"n": f"{expected.configurations:,}", "seeds": str(seeds), "runs": f"{expected.trials:,}"}
    times = "," if further else " x {seeds:number} seeds ="
    console.line("ok", f"{{n:number}} configurations{times} {{runs:number}} runs", **counts)
    for refused in expected.refused:
        names = ", ".join(refused.configurations)
        about = {"names": names, "reason": refused.reason}
        hint = "its runs will be rows with this reason"
        console.line("error", "cannot run here: {names}: {reason:own}", hint, **about)
    if expected.done:
        console.line("ok", "{n:number} runs are done already", n=f"{expected.done:,}")
    for reason, count in Counter(each.reason for each in expected.left_out).items():
        console.line("note", "{n:number} left out: {reason:own}", n=f"{count:,}", reason=reason)
    if expected.budget is not None:
        console.line("note", expected.budget.sentence)
    grid = console.grid("stage", "needed by runs", "different", "kept already", "seconds left")
    for stage in expected.stages:
        seconds = f"{stage.seconds:,.0f}" + ("" if stage.is_measured else f" ({console.said('estimated')})")
        grid.add_row(stage.stage, f"{stage.asked:,}", f"{stage.distinct:,}", f"{stage.kept:,}", seconds)
    grid.add_row(
        console.said("report, files"),
        f"{expected.trials:,}",
        f"{expected.trials:,}",
        f"{expected.done:,}",
        f"{expected.rest:,.0f}",
    )
    console.out.print(grid)
    asked = sum(stage.asked for stage in expected.stages)
    executed = {"n": f"{expected.executions:,}", "m": f"{asked:,}"}
    console.show("{n:number} stage executions; {m:number} without shared stages", **executed)
    foreseen = {"time": duration(expected.seconds / jobs), "jobs": jobs}
    if expected.is_measured:
        console.show("expected time: about {time} with --jobs {jobs}, as the finished runs here took", **foreseen)
        return
    console.show(
        "expected time: about {time} with --jobs {jobs}, by estimates for a machine that does nothing else. Start, and "
        "ask again after the first runs: then their times count",
        **foreseen,
    )


def print_reach(expected: Forecast) -> None:
    """Print which differences a comparison can find, before it runs."""
    reach = expected.reach
    if reach is None:
        console.line(
            "note", "without control people (split.control) no attack is compared with people outside the data"
        )
    elif reach.seeds < 2:
        console.line("note", "with one seed no difference between configurations can be told from chance", "add seeds")
    elif expected.configurations > 1:
        console.line(
            "note",
            "with {seeds:number} seeds and {people:number} control people a difference in TSTR between two "
            "configurations below about {size:form} will not be found",
            "more seeds, or a larger table, find smaller ones",
            seeds=reach.seeds,
            people=f"{reach.people:,}",
            size=f"{reach.one:.2g}",
        )
        if expected.configurations > 2:
            least = (
                "a search for any difference among all {n:number} finds none; the strongest attack varies more"
                if reach.every >= 1
                else "a search for any difference among all {n:number} finds none below about {size:form}; the "
                "strongest attack varies more"
            )
            console.line(
                "note",
                least,
                "compare fewer configurations, or decide first which pairs matter",
                n=f"{expected.configurations:,}",
                size=f"{reach.every:.2g}",
            )


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def store_list(place: StoreAt) -> None:
    """List the kept stage results."""
    from hybrid.store import StorePlace

    grid = console.grid("stage", "fingerprint", "created", "seconds", "MB")
    for entry in StorePlace(place).open().entries():
        grid.add_row(
            entry.stage, entry.key[:12], entry.created[:19], f"{entry.seconds:.1f}", f"{entry.n_bytes / 1e6:.1f}"
        )
    console.out.print(grid)


def store_clean(
    place: StoreAt,
    days: Annotated[float, typer.Option("--days", min=0, help="Remove what was not used for so long.")] = 0,
) -> None:
    """Remove kept stage results."""
    from hybrid.store import StorePlace

    removed = StorePlace(place).open().clean(timedelta(days=days))
    console.line("ok", "{n:number} results removed", n=f"{removed:,}")


def store_key() -> None:
    """Print a fresh key for an encrypted store.

    Set HYBRID_STORE_KEY to it, and keep it where you keep passwords.
    """
    from hybrid.store.cipher import new_key

    console.out.print(new_key())


for _name, _action in (("list", store_list), ("clean", store_clean), ("key", store_key)):
    store_app.command(name=_name)(_action)
GROUP = CommandGroup("Compare", (compare,), {"store": store_app})
