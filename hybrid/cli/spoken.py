"""Help and usage of the commands in the language of ``HYBRID_LANGUAGE``.

The commands say what they are in English, once. Before a command line is read, each text of them is said anew, a
paragraph at a time: it is a template of the catalogue, without places. Names of commands, options and keys stay, and so
do what stands for a value (``CONFIG``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
import typer.rich_utils

from hybrid.base.language import language_of
from hybrid.cli.console import err, said

TITLES = {
    "ARGUMENTS_PANEL_TITLE": "Arguments",
    "OPTIONS_PANEL_TITLE": "Options",
    "COMMANDS_PANEL_TITLE": "Commands",
    "DEFAULT_STRING": "[default: {}]",
    "ENVVAR_STRING": "[env var: {}]",
    "REQUIRED_LONG_STRING": "[required]",
}
"""Words of Typer's own, by the constant that holds them."""
METAVARS = {"TEXT", "INTEGER", "FLOAT", "PATH", "INTEGER RANGE", "FLOAT RANGE"}
"""What Typer writes for a value that has no name of its own."""
_Context: Any = typer.Context
_Formatter: Any = _Context.formatter_class


class _SpokenFormatter(_Formatter):  # type: ignore[misc]
    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or f"{said('Usage:')} ")


class _SpokenContext(_Context):  # type: ignore[misc]
    formatter_class = _SpokenFormatter


def paragraphs(text: str) -> list[str]:
    """Paragraphs of a help text, each on one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def spoken(app: typer.Typer) -> Any:
    """The command of an application, with every text of its help in the language."""
    for constant, english in TITLES.items():
        setattr(typer.rich_utils, constant, _told(english))
    command = typer.main.get_command(app)
    for one in _tree(command):
        _speak(one)
    return command


def _tree(command: Any) -> Iterator[Any]:
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from _tree(below)


def _speak(command: Any) -> None:
    command.context_class = _SpokenContext
    command.options_metavar = _told(command.options_metavar)
    if hasattr(command, "subcommand_metavar"):
        command.subcommand_metavar = _told(command.subcommand_metavar)
    help_option = command.get_help_option(_SpokenContext(command))
    for one in (command, *command.params, help_option):
        if getattr(one, "help", None):
            one.help = "\n\n".join(map(_told, paragraphs(one.help)))
        if isinstance(getattr(one, "rich_help_panel", None), str):
            one.rich_help_panel = _told(one.rich_help_panel)
    for one in command.params:
        if one.metavar is None and one.param_type_name == "option" and one.type.name.upper() in METAVARS:
            one.metavar = _told(one.type.name.upper())


def _told(text: str) -> str:
    found = language_of(None).alone(text)
    return text if found is None else found


def print_usage_error(error: Any) -> None:
    """Print how a command is used, and what is wrong with a line that is used otherwise."""
    context = getattr(error, "ctx", None)
    if context is not None:
        err.print(context.get_usage())
        err.print(said("Try '{command} --help' for help.", command=context.command_path))
        err.print()
    err.print(f"{said('Error:')} {said(error.format_message())}")
