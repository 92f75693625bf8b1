"""Arguments and options that several commands share, and groups of commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from hybrid.base.errors import ConfigError

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's configuration (YAML).")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Repeat the draws of this seed.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Another value for a key, such as anonymize.k=10. Repeatable."),
]
StorePath = Annotated[
    str | None,
    typer.Option("--store", metavar="PLACE", help="Keep stage results in this folder or at this address."),
]
Releases = Annotated[Path, typer.Option("--releases", metavar="DIR", help="Folder of all releases.")]
Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder for the runs behind the releases.")]
Work = Annotated[
    Path, typer.Option("--work", metavar="DIR", help="The private zone: ledger, release key, kept stage results.")
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Of the Dask scheduler (tcp://host:8786).")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run again what has failed earlier.")]
Names = list[str] | None
"""Values of an option that may be given more than once."""
Targets = Annotated[Names, typer.Option("--target", metavar="COLUMN", help="Users will predict it.")]
Secrets = Annotated[Names, typer.Option("--secret", metavar="COLUMN", help="An attacker wants to know it.")]
QuasiIdentifiers = Annotated[
    Names, typer.Option("--quasi-identifier", metavar="COLUMN", help="An attacker may know it already.")
]
Control = Annotated[Path | None, typer.Option("--control", help="Records it never saw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def refuse_engine(engine: str, scheduler: str | None) -> None:
    """Refuse an engine that is unknown, or that lacks its scheduler."""
    if engine not in ("local", "dask") or (engine == "dask") != (scheduler is not None):
        raise ConfigError("--engine is local, or dask with --scheduler ADDRESS", hint="--engine dask --scheduler ...")


def overrides(settings: list[str] | None) -> dict[str, Any]:
    """Convert ``--set`` arguments to a mapping of dotted keys; values are read as YAML."""
    from hybrid.base.config_files import parse_yaml

    result: dict[str, Any] = {}
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise ConfigError(f"--set {setting}: KEY=VALUE was expected", hint="for example --set anonymize.k=10")
        result[key.strip()], _ = parse_yaml(value, f"--set {key.strip()}")
    return result


START = "Start here"
FIRST = ("demo", "init", "check", "tune", "run", "release")
"""Commands of the first panel of ``hybrid --help``: from a table to a release."""


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one title."""

    title: str
    """Title of the panel; groups with the same title share one. Commands in :data:`FIRST` stand before all panels."""
    commands: tuple[Callable[..., Any], ...] = ()
    """Functions that Typer turns into commands, named as they are, in the order of the panel."""
    families: Mapping[str, typer.Typer] = field(default_factory=dict)
    """Commands with sub-commands, by name, after the others."""

    def register(self, app: typer.Typer) -> None:
        for command in self.commands:
            app.command(rich_help_panel=START if command.__name__ in FIRST else self.title)(command)
        for name, family in self.families.items():
            app.add_typer(family, name=name, rich_help_panel=self.title)
