"""Commands that come before a run: demo, init, check, hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hybrid.cli import console
from hybrid.cli.run import ConfigPath, Settings, overrides

hierarchy_app = typer.Typer(no_args_is_help=True, help="Generalization hierarchies: look at, check, extend.")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (demo, init, check):
        app.command()(command)
    app.add_typer(hierarchy_app, name="hierarchy")


def demo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for data, hierarchies and config.")],
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Number of admissions.")] = 5000,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="The same seed, the same files.")] = 20240501,
    format: Annotated[Literal["csv", "parquet"], typer.Option("--format", help="Of the data file.")] = "csv",
) -> None:
    """Write simulated hospital admissions with hierarchies and a config to try everything on."""
    from hybrid.demo import write_demo

    config = write_demo(folder, rows, seed, format)
    console.line("ok", f"{rows:,} simulated admissions in {folder}")
    console.out.print(f"\nnext: hybrid check {config}\n      hybrid run {config}")


def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet table.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="CONFIG", help="Default: config.yaml beside it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Guess a starter config and starter hierarchies from a table; every guess is marked for review."""
    from hybrid.guess import guess_config

    target = out or data.parent / "config.yaml"
    guessed = guess_config(data)
    guessed.write(target, force=force)
    for note in guessed.notes:
        console.line("note", note)
    console.line("ok", f"{target}: read it, and decide every line marked 'review'")
    console.out.print(f"\nnext: hybrid check {target}")


def check(
    config: ConfigPath,
    set_: Settings = None,
    show: Annotated[bool, typer.Option("--show", help="Print the config with every default.")] = False,
) -> None:
    """Check everything that can be checked without running; list all problems at once."""
    from hybrid.config import load_config

    loaded = load_config(config, overrides(set_))
    if show:
        console.out.print(loaded.to_yaml(), markup=False)
        return
    from hybrid.diagnose import diagnose

    findings = diagnose(loaded)
    for finding in findings:
        console.line(finding.level, finding.message, finding.mend)
        if finding.values and console.shows_values():
            console.out.print(f"        values: {finding.values}", markup=False)
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(2)
