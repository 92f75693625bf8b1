"""Command of the laboratory of privacy metrics."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid.base.errors import ConfigError
from hybrid.cli import console
from hybrid.cli.arguments import (
    AsJson,
    CommandGroup,
    Control,
    QuasiIdentifiers,
    RetryFailed,
    Scheduler,
    Secrets,
    Targets,
    refuse_engine,
)
from hybrid.cli.compare import duration, show_forecast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid.lab.plan import LabPlan
    from hybrid.lab.run import Laboratory
    from hybrid.lab.tables import TablesForecast, TablesPlan

DEMO = "demo"


def lab(
    config: Annotated[
        str | None, typer.Argument(metavar="[PLAN|demo]", help="The plan (YAML), or simulated admissions.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Private folder for the results.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Trials at a time on this machine.")] = 1,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="NAME", help="One of the plan's budgets; of tables: quick or full.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count: trials, stages, expected time.")] = False,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="PLACE", help="Keep stage results (real records) in a folder, or in memory."),
    ] = None,
    engine: Annotated[str, typer.Option("--engine", metavar="local|dask", help="Where the trials are.")] = "local",
    scheduler: Scheduler = None,
    retry_failed: RetryFailed = False,
    train: Annotated[
        Path | None, typer.Option("--train", help="Instead of a plan: records that a generator learned from.")
    ] = None,
    synthetic: Annotated[Path | None, typer.Option("--synthetic", help="Records it made, into which leaks go.")] = None,
    control: Control = None,
    target: Targets = None,
    secret: Secrets = None,
    quasi_identifier: QuasiIdentifiers = None,
    columns: Annotated[Path | None, typer.Option("--config", help="Roles and metrics of the tables (YAML).")] = None,
    as_json: AsJson = False,
) -> None:
    """Try privacy metrics on tables whose leak is known.

    The result is a league: which metric can be trusted, and for what. With --train and --synthetic, leaks are planted
    into that table, and the league says which metric to believe on it. After an interruption, the same command
    continues. Exit code 1: a trial failed, or --dry-run found one that will.
    """
    refuse_engine(engine, scheduler)
    given = [path for path in (train, synthetic) if path is not None]
    if (config is None) != (len(given) == 2) or len(given) == 1:
        raise ConfigError(
            "hybrid lab takes a plan, or the tables --train and --synthetic, and not both",
            hint="hybrid lab PLAN, or hybrid lab --train TRAIN --control CONTROL --synthetic SYNTHETIC",
        )
    if train is not None and synthetic is not None:
        if jobs > 1 or store is not None or scheduler is not None:
            raise ConfigError("--jobs, --store and --engine are about plans", hint="leave them out with tables")
        roles = target or (), secret or (), quasi_identifier or ()
        tables = _given_tables((train, control, synthetic), columns, roles, scale, silent=as_json)
        folder = out or Path("runs") / f"lab-{tables.name}"
        if _foresee_tables(tables, folder, dry_run=dry_run, as_json=as_json):
            return
        from hybrid.lab.tables import run_on_tables

        with console.progress() as progress:
            found = run_on_tables(tables, folder, progress, retry_failed=retry_failed)
        _show(found, folder, "league.json", as_json=as_json)
        return
    from hybrid.lab.run import foresee, run_lab

    with _plan(str(config), scale, store) as (plan, start):
        folder = out or Path("runs") / plan.name
        if dry_run:
            show_forecast(foresee(plan, start, folder), jobs, as_json=as_json)
            return
        with console.progress() as progress:
            found = run_lab(plan, start, folder, jobs, progress, scheduler=scheduler, retry_failed=retry_failed)
    _show(found, folder, "league.csv", as_json=as_json)


def _given_tables(
    files: tuple[Path, Path | None, Path],
    config: Path | None,
    roles: tuple[Sequence[str], Sequence[str], Sequence[str]],
    scale: str | None,
    *,
    silent: bool,
) -> TablesPlan:
    from hybrid.jobs.audit import config_with_roles
    from hybrid.jobs.audited import read_audited
    from hybrid.lab.tables import TablesPlan

    train, control, synthetic = files
    if train.is_dir():
        raise ConfigError(f"{train}: linked tables are not tried; give files", hint="--train one of its tables")
    loaded = config_with_roles(config, train, *roles)
    audited = read_audited(train, control, synthetic, loaded.data)
    for note in () if silent else audited.notes:
        console.line("note", note)
    return TablesPlan(synthetic.stem, audited, loaded.evaluate, scale)


def _foresee_tables(plan: TablesPlan, folder: Path, *, dry_run: bool, as_json: bool) -> bool:
    """Print what is to be computed; true where that was all."""
    from hybrid.lab.tables import foresee_tables

    expected = foresee_tables(plan, folder)
    if not as_json:
        _print_forecast_of_tables(expected)
    elif dry_run:
        console.print_json({"trials": expected.trials, "done": expected.done, "expected_seconds": expected.seconds})
    return dry_run


def _show(found: Laboratory, folder: Path, league: str, *, as_json: bool) -> None:
    """Print the result, and end with exit code 1 if a trial failed."""
    report, words = folder / "lab.html", found.league.by_word()
    if as_json:
        counts = {"done": found.ended, "failed": found.failed}
        files = {"report": str(report), "league": str(folder / league)}
        verdicts = {word: list(names) for word, names in words.items()}
        console.print_json({"folder": str(folder), **counts, **files, "verdicts": verdicts})
    else:
        _print_trials(found)
        if league.endswith(".json"):
            _print_believing(found)
        else:
            for word, names in words.items():
                listed = {"word": word, "names": ", ".join(names)}
                console.line("ok" if word == "trusted" else "note", "{word:own}: {names}", **listed)
        console.show("\nreport  {path}", path=report)
        console.show("league  {path}", path=folder / league)
    if found.failed:
        raise typer.Exit(1)


def _print_forecast_of_tables(expected: TablesForecast) -> None:
    for label, reason in expected.not_planted.items():
        console.line("note", "not planted: {label:own} ({reason:own})", label=label, reason=reason)
    leaking = expected.trials - expected.without_leak
    console.line(
        "ok",
        "{n:number} trials, {clean:number} of them without a leak, {others:number} others: {kinds:items}",
        n=f"{expected.trials:,}",
        clean=f"{expected.without_leak:,}",
        others=f"{leaking:,}",
        kinds=", ".join(title.lower() for title in expected.kinds),
    )
    if expected.done:
        console.line("ok", "{n:number} trials are done already", n=f"{expected.done:,}")
    roughly = "expected time: about {time} of one core, roughly; the first trials will say it better"
    said = "expected time: about {time} of one core" if expected.measured else roughly
    console.line("ok", said, time=duration(expected.seconds))


def _print_trials(found: Laboratory) -> None:
    counts = {"n": f"{found.ended:,}", "failed": f"{found.failed:,}"}
    if found.failed:
        console.line("note", "{n:number} trials done, {failed:number} failed (why is in the report)", **counts)
    else:
        console.line("ok", "{n:number} trials done", **counts)


def _print_believing(found: Laboratory) -> None:
    from hybrid.lab.advice import believing
    from hybrid.lab.risk import KNOWN

    for about in believing(found.league):
        console.show("\nBelieve these, for these leaks, from this size on:")
        for place, each in enumerate(about.believe, 1):
            noticed = "; ".join(console.said(one.words) for one in each.noticed)
            console.out.print(f" {place:>2}. {each.entry.contestant}: {noticed}")
        if about.doubt:
            console.show("\nDo not believe these:")
        for each in about.doubt:
            console.out.print(f"     {each.entry.contestant}: {console.said(each.against)}")
        if about.unseen:
            kinds = ", ".join(KNOWN[kind].title.lower() for kind in about.unseen)
            console.show("\nNoticed by no metric, up to the largest that was planted: {kinds:items}", kinds=kinds)


@contextmanager
def _plan(config: str, scale: str | None, store: str | None) -> Iterator[tuple[LabPlan, Path]]:
    """The plan and the folder that its paths start from."""
    from hybrid.base.scratch import scratch
    from hybrid.lab.plan import demo_plan, load_plan, write_table

    plan = demo_plan(scale) if config == DEMO else load_plan(Path(config), scale)
    chosen = plan if store is None else plan.model_copy(update={"store": store})
    if config != DEMO:
        yield chosen, Path(config).parent
        return
    with scratch("lab") as temporary:
        write_table(plan, Path(temporary))
        yield chosen, Path(temporary)


GROUP = CommandGroup("Compare", (lab,))
