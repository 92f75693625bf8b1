"""Command of the laboratory of privacy metrics."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    from hybrid.lab.tables import TablesForecast

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
    given = [name for name, value in (("--train", train), ("--synthetic", synthetic)) if value is not None]
    if (config is None) != (len(given) == 2) or len(given) == 1:
        raise ConfigError(
            "hybrid lab takes a plan, or the tables --train and --synthetic, and not both",
            hint="hybrid lab PLAN, or hybrid lab --train TRAIN --control CONTROL --synthetic SYNTHETIC",
        )
    if train is not None and synthetic is not None:
        if jobs > 1 or store is not None or scheduler is not None:
            raise ConfigError("--jobs, --store and --engine are about plans", hint="leave them out with tables")
        roles = target or (), secret or (), quasi_identifier or ()
        _on_tables(
            (train, control, synthetic),
            columns,
            roles,
            out,
            scale,
            dry_run=dry_run,
            retry_failed=retry_failed,
            as_json=as_json,
        )
        return
    assert config is not None
    chosen = out, jobs, scale, store, scheduler
    _on_plan(config, *chosen, dry_run=dry_run, retry_failed=retry_failed, as_json=as_json)


def _on_plan(
    config: str,
    out: Path | None,
    jobs: int,
    scale: str | None,
    store: str | None,
    scheduler: str | None,
    *,
    dry_run: bool,
    retry_failed: bool,
    as_json: bool,
) -> None:
    from hybrid.lab.run import foresee, run_lab

    with _plan(config, scale) as (plan, folder):
        chosen = plan if store is None else plan.model_copy(update={"store": store})
        target = out or Path("runs") / plan.name
        if dry_run:
            show_forecast(foresee(chosen, folder, target), jobs, as_json=as_json)
            return
        with console.progress() as progress:
            found = run_lab(chosen, folder, target, jobs, progress, scheduler=scheduler, retry_failed=retry_failed)
    if as_json:
        console.print_json(_found_json(found, target, "league.csv"))
    else:
        _print_trials(found)
        for word, names in found.league.by_word().items():
            listed = {"word": word, "names": ", ".join(names)}
            console.line("ok" if word == "trusted" else "note", "{word:own}: {names}", **listed)
        console.show("\nreport  {path}", path=target / "lab.html")
        console.show("league  {path}", path=target / "league.csv")
    if found.failed:
        raise typer.Exit(1)


def _found_json(found: Laboratory, folder: Path, league: str) -> dict[str, Any]:
    """Result for ``--json``: metrics by the word of their verdict."""
    words = {word: list(names) for word, names in found.league.by_word().items()}
    counts = {"done": found.ended, "failed": found.failed}
    return {"folder": str(folder), **counts, "report": str(folder / "lab.html"), "league": str(folder / league)} | {
        "verdicts": words
    }


def _on_tables(
    files: tuple[Path, Path | None, Path],
    config: Path | None,
    roles: tuple[Sequence[str], Sequence[str], Sequence[str]],
    out: Path | None,
    scale: str | None,
    *,
    dry_run: bool,
    retry_failed: bool,
    as_json: bool,
) -> None:
    from hybrid.jobs.audit import config_with_roles
    from hybrid.jobs.audited import read_audited
    from hybrid.lab.tables import TablesPlan, foresee_tables, run_on_tables

    train, control, synthetic = files
    if train.is_dir():
        raise ConfigError(f"{train}: linked tables are not tried; give files", hint="--train one of its tables")
    loaded = config_with_roles(config, train, *roles)
    audited = read_audited(train, control, synthetic, loaded.data)
    for note in () if as_json else audited.notes:
        console.line("note", note)
    plan = TablesPlan(synthetic.stem, audited, loaded.evaluate, scale)
    folder = out or Path("runs") / f"lab-{synthetic.stem}"
    expected = foresee_tables(plan, folder)
    if as_json and dry_run:
        console.print_json({"trials": expected.trials, "done": expected.done, "expected_seconds": expected.seconds})
    if not as_json:
        _print_forecast_of_tables(expected)
    if dry_run:
        return
    with console.progress() as progress:
        found = run_on_tables(plan, folder, progress, retry_failed=retry_failed)
    if as_json:
        console.print_json(_found_json(found, folder, "league.json"))
    else:
        _print_trials(found)
        _print_believing(found)
        console.show("\nreport  {path}", path=folder / "lab.html")
        console.show("league  {path}", path=folder / "league.json")
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
    roughly = "" if expected.measured else ", roughly; the first trials will say it better"
    console.line("ok", f"expected time: about {{time}} of one core{roughly}", time=duration(expected.seconds))


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
def _plan(config: str, scale: str | None) -> Iterator[tuple[LabPlan, Path]]:
    """The plan and the folder that its paths start from."""
    from hybrid.base.scratch import scratch
    from hybrid.lab.plan import demo_plan, load_plan, write_table

    if config != DEMO:
        yield load_plan(Path(config), scale), Path(config).parent
        return
    plan = demo_plan(scale)
    with scratch("lab") as temporary:
        write_table(plan, Path(temporary))
        yield plan, Path(temporary)


GROUP = CommandGroup("Compare", (lab,))
