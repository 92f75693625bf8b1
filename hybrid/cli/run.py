"""Commands that run the pipeline, or part of it: run, anonymize, audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid.cli import console
from hybrid.cli.group import Group
from hybrid.cli.options import ConfigPath, Out, Seed, Settings, StorePath, Work, overrides

if TYPE_CHECKING:
    from hybrid.linked.config import LinkedConfig

Names = list[str] | None
"""Values of an option that may be given more than once."""


def run(
    config: ConfigPath,
    out: Out = None,
    seed: Seed = None,
    set_: Settings = None,
    store: StorePath = None,
    work: Work = Path("work"),
) -> None:
    """Run the whole pipeline: anonymize, sample, restore, synthesize, evaluate, judge, report."""
    from hybrid.jobs.run import new_folder
    from hybrid.jobs.run import run as run_pipeline
    from hybrid.linked.config import LinkedConfig, load_any

    loaded = load_any(config, overrides(set_))
    folder = out or new_folder(loaded.name)
    if isinstance(loaded, LinkedConfig):
        _run_linked(loaded, folder, seed, store, work)
        return
    with console.progress() as progress:
        pipeline = run_pipeline(loaded, out=folder, seed=seed, store=store, work=work, progress=progress)
    console.print_verdict(pipeline.verdict, "" if pipeline.draw is None else pipeline.draw.words)
    console.out.print(f"\nsynthetic table  {folder / pipeline.synthetic_name}  ({len(pipeline.synthetic):,} rows)")
    console.out.print(f"report           {folder / 'report.html'}")


def _run_linked(config: LinkedConfig, folder: Path, seed: int | None, store: str | None, work: Path) -> None:
    """Run linked tables, and print the joint verdict."""
    from hybrid.jobs.linked import run_linked
    from hybrid.linked.facts import stated

    with console.progress() as progress:
        run = run_linked(config, folder, seed=seed, store=store, work=work, progress=progress)
    console.print_verdict(run.verdict, "" if run.draw is None else run.draw.words)
    console.out.print()
    for table in stated(run):
        console.out.print(
            f"{'public' if table.public else 'synthetic'} table  {folder / table.file}  ({table.rows:,} rows)"
        )
    console.out.print(f"report           {folder / 'report.html'}")


def anonymize(config: ConfigPath, out: Out = None, set_: Settings = None, seed: Seed = None) -> None:
    """Run the first stage alone.

    A k-anonymous table of labels, and how it was reached. Parquet may exceed memory.
    """
    from hybrid.base.ownership import check_replaceable
    from hybrid.jobs.anonymize_file import why_not_streamed, write_streamed
    from hybrid.jobs.run import new_folder, write_anonymized
    from hybrid.pipeline.config import load_config
    from hybrid.pipeline.pipeline import Pipeline

    loaded = load_config(config, overrides(set_))
    folder = out or new_folder(f"{loaded.name}-anonymized")
    check_replaceable(folder)
    reason = why_not_streamed(loaded)
    with console.progress() as progress:
        if reason is None:
            streamed = write_streamed(loaded, folder, seed, progress)
            result = streamed.result
        else:
            result = write_anonymized(Pipeline(loaded, seed, progress=progress), folder)
    if reason is None:
        read, *_ = streamed.costs
        console.line("ok", f"streamed: {read.rows:,} rows, {read.combinations:,} distinct combinations")
        for cost in streamed.costs:
            counted = f"{cost.rows:>15,} rows {cost.combinations:>13,} combinations"
            console.out.print(f"        {cost.stage:<7}{cost.seconds:8.1f} s {counted}")
    else:
        console.line("note", f"read into memory: {reason}")
    levels = "" if result.levels is None else "  ".join(f"{name} {level}" for name, level in result.levels.items())
    smallest = f"{result.smallest:,} {result.unit}"
    console.line("ok", f"{result.records:,} records, {result.classes:,} classes, smallest {smallest}")
    console.line("ok", f"suppressed {result.suppressed:,}   loss {result.loss['value']:.4f}   {levels}")
    console.out.print(f"\nlabels  {folder / 'anonymized.parquet'}")


def audit(
    train: Annotated[Path, typer.Option("--train", help="Records the generator learned from.")],
    synthetic: Annotated[Path, typer.Option("--synthetic", help="Records it made.")],
    control: Annotated[Path | None, typer.Option("--control", help="Records it never saw.")] = None,
    target: Annotated[Names, typer.Option("--target", metavar="COLUMN", help="Users will predict it.")] = None,
    secret: Annotated[Names, typer.Option("--secret", metavar="COLUMN", help="An attacker wants to know it.")] = None,
    quasi_identifier: Annotated[
        Names, typer.Option("--quasi-identifier", metavar="COLUMN", help="An attacker may know it already.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Roles, metrics and policy (YAML).")] = None,
    out: Out = None,
    seed: Seed = None,
) -> None:
    """Evaluate any synthetic table, ours or not: privacy, utility, fidelity.

    CSV or Parquet, with the same columns in any order.
    """
    from hybrid.base.ownership import check_replaceable
    from hybrid.jobs.audit import audit_config, audit_tables, read_audited
    from hybrid.jobs.run import new_folder

    loaded = audit_config(config, train, target or (), secret or (), quasi_identifier or ())
    folder = out or new_folder("audit")
    check_replaceable(folder)
    audited = read_audited(train, control, synthetic, loaded.data)
    for note in audited.notes:
        console.line("note", note)
    with console.progress() as progress:
        verdict = audit_tables(audited, loaded, folder, seed, progress)
    console.print_verdict(verdict)
    console.out.print(f"\nreport  {folder / 'report.html'}")


GROUP = Group("Run", (run, anonymize, audit))
