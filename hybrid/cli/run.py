"""Commands that run the pipeline: run, anonymize, audit, release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hybrid.base.config_files import parse_yaml
from hybrid.base.errors import ConfigError
from hybrid.cli import console

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's configuration (YAML).")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Repeat the draws of this seed.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Another value for a key, such as anonymize.k=10. Repeatable."),
]
StorePath = Annotated[
    str | None,
    typer.Option("--store", metavar="PLACE", help="Keep stage results in this folder or at this address."),
]

Names = list[str] | None
"""Values of an option that may be given more than once."""


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (run, anonymize, audit, release):
        app.command()(command)


def overrides(settings: list[str] | None) -> dict[str, Any]:
    """``--set`` arguments as a mapping; values are read as YAML.

    Raises
    ------
    ConfigError
        An argument has no ``=`` or its value is no YAML.
    """
    result: dict[str, Any] = {}
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise ConfigError(f"--set {setting}: KEY=VALUE was expected", hint="for example --set anonymize.k=10")
        result[key.strip()], _ = parse_yaml(value, f"--set {key.strip()}")
    return result


def run(config: ConfigPath, out: Out = None, seed: Seed = None, set_: Settings = None, store: StorePath = None) -> None:
    """Run the whole pipeline: anonymize, sample, restore, synthesize, evaluate, judge, report."""
    from hybrid.base.ownership import check_replaceable
    from hybrid.jobs.run import new_folder, write_run
    from hybrid.pipeline.config import load_config
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.store import Store, StorePlace

    loaded = load_config(config, overrides(set_))
    folder = out or new_folder(loaded.name)
    check_replaceable(folder)
    kept = Store(None) if store is None else StorePlace(store).open()
    with console.progress() as progress:
        walk = Pipeline(loaded, seed, kept, progress)
        write_run(walk, folder)
    console.print_verdict(walk.verdict)
    console.out.print(f"\nsynthetic table  {folder / walk.synthetic_name}  ({len(walk.synthetic):,} rows)")
    console.out.print(f"report           {folder / 'report.html'}")


def anonymize(config: ConfigPath, out: Out = None, set_: Settings = None, seed: Seed = None) -> None:
    """Run the first stage alone: a k-anonymous table of labels, and how it was reached. Parquet may exceed memory."""
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
            console.out.print(f"        {cost.stage:<7}{cost.seconds:8.1f} s {counted}", markup=False)
    else:
        console.line("note", f"read into memory: {reason}")
    levels = "" if result.levels is None else "  ".join(f"{name} {level}" for name, level in result.levels.items())
    console.line("ok", f"{result.records:,} records, {result.classes:,} classes, smallest {result.min_class_size:,}")
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


def release(
    config: ConfigPath,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of all releases.")] = Path("releases"),
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder for the run behind it.")] = Path("runs"),
    seed: Seed = None,
    set_: Settings = None,
    work: Annotated[
        Path, typer.Option("--work", metavar="DIR", help="The private zone: kept stage results and the release key.")
    ] = Path("work"),
    accept_review: Annotated[
        bool, typer.Option("--accept-review", help="Publish although the policy asks for a review.")
    ] = False,
    by: Annotated[str, typer.Option("--by", help="Who accepts the review.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why.")] = "",
) -> None:
    """Run, pass the gate, publish. Exit code 3: refused."""
    from hybrid.base.ownership import check_growing, check_replaceable
    from hybrid.jobs.nightly import remember
    from hybrid.jobs.run import new_folder, write_candidate
    from hybrid.pipeline.config import load_config
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.publication.publish import publish
    from hybrid.store import Store

    if accept_review and not (by and reason):
        raise ConfigError("--accept-review needs --by NAME and --reason TEXT", hint="say who accepts it, and why")
    loaded = load_config(config, overrides(set_))
    folder = new_folder(loaded.name, runs)
    check_replaceable(folder)
    check_growing(out)
    with console.progress() as progress:
        walk = Pipeline(loaded, seed, Store(work / "store"), progress)
        write_candidate(walk, folder, work)
        remember(walk, work)
    console.print_verdict(walk.verdict)
    console.out.print(f"\nreport   {folder / 'report.html'}")
    published = publish(folder, out, work, accept_review=accept_review, by=by, reason=reason)
    console.out.print(f"release  {published}")
