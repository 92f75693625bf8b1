"""A group of commands: one panel of ``hybrid --help``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer


@dataclass(frozen=True)
class Group:
    """Commands under one title.

    Parameters
    ----------
    title : str
        Title of the panel; groups with the same title share one.
    commands : tuple of callable
        Functions that Typer turns into commands, named as they are, in the order of the panel.
    families : mapping of str to Typer
        Commands with sub-commands, by name, after the others.
    """

    title: str
    commands: tuple[Callable[..., Any], ...] = ()
    families: Mapping[str, typer.Typer] = field(default_factory=dict)

    def register(self, app: typer.Typer) -> None:
        """Add the commands to the program."""
        for command in self.commands:
            app.command(rich_help_panel=self.title)(command)
        for name, family in self.families.items():
            app.add_typer(family, name=name, rich_help_panel=self.title)
