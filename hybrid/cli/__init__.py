"""The ``hybrid`` command: groups of commands, exit codes and error messages."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import traceback
from importlib import import_module, metadata
from typing import Any, Literal

import typer

from hybrid.base.errors import HybridError, place_of
from hybrid.base.logs import write_json_lines, writes_json_lines
from hybrid.base.resources import forbid_dumps
from hybrid.cli.arguments import CommandGroup
from hybrid.cli.console import err, out, print_error, said, show_progress, show_warnings, styled
from hybrid.cli.spoken import print_usage_error, spoken

MODULES = (
    "data",
    "tour",
    "run",
    "releases",
    "nights",
    "compare",
    "lab",
    "look",
)
"""Modules with a ``GROUP`` of commands, in the order of ``hybrid --help``; a new one is one line here."""

ANYWHERE = ("--debug", "--quiet")
"""Options of the program that may also stand after the command."""
logger = logging.getLogger(__name__)
INTERRUPTED = 130
"""Exit code that Typer gives Ctrl-C."""

ClickError: Any = typer.BadParameter.__mro__[2]
"""Click's base of usage errors, which newer versions of Typer carry under a name of their own."""

app = typer.Typer(
    name="hybrid",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Anonymize, then synthesize: release tables about people with the evidence beside them.\n\n"
    "Exit codes: 0 done; 1 failed; 2 the input or the config is wrong; 3 the gate refused the release; "
    "4 a night waits for an approval.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"hybrid {metadata.version('hybrid-release')}")
        raise typer.Exit


for _module in MODULES:
    _group: CommandGroup = import_module(f"hybrid.cli.{_module}").GROUP
    _group.register(app)


@app.callback()
def _options(
    debug: bool = typer.Option(  # noqa: ARG001 - looked for before Typer is called
        False, "--debug", help="Show the traceback of an error (anywhere on the line)."
    ),
    quiet: bool = typer.Option(
        False, "--quiet", help="Show no progress; verdict, results and errors stay (anywhere on the line)."
    ),
    version: bool = typer.Option(  # noqa: ARG001 - printed by its callback
        False, "--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
    log_format: Literal["text", "json"] = typer.Option(
        "text",
        "--log-format",
        envvar="HYBRID_LOG_FORMAT",
        help="json: errors, warnings and steps as lines for programs.",
    ),
) -> None:
    show_progress(not quiet)
    if log_format == "json":
        write_json_lines()
    else:
        show_warnings()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    sys.exit(_run_to_the_end(arguments))


def command() -> None:
    """Run the program.

    As :func:`main`, with the documented exit code also after Ctrl-C.

    CPython ends a process by the signal if an interrupt once passed through generated code (``exec``, as in
    ``namedtuple``), although it was handled; so a failed program ends itself after its exit functions.
    """
    code = _run_to_the_end(sys.argv[1:])
    if code != 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run_to_the_end(arguments: list[str]) -> int:
    """Exit code of the command line, which is also in the last of its JSON lines."""
    code = _run(arguments)
    if writes_json_lines():
        logger.info("ended", extra={"exit_code": code})
    return code


def _run(arguments: list[str]) -> int:
    first = [word for word in ANYWHERE if word in arguments]
    debug = "--debug" in first
    forbid_dumps()
    try:
        result = spoken(app)([*first, *(word for word in arguments if word not in first)], standalone_mode=False)
    except HybridError as error:
        if debug:
            traceback.print_exc()
        print_error(error)
        return int(error.exit_code)
    except ClickError as error:
        if "Did you mean" in error.message:
            error.possibilities = None  # Typer has named near commands; some versions of Click would name them again
        print_usage_error(error)
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except MemoryError as error:
        return _stray(
            "memory",
            "this machine has too little memory for the run ({place})",
            "a larger machine, fewer rows or columns, or a generator that needs less (hybrid check)",
            place=place_of(error),
        )
    except Exception as error:  # noqa: BLE001 - the last line of defence: the text of a stray error may hold a record
        if debug:
            traceback.print_exc()
            return 1
        return _stray(
            "bug",
            "{name} in {place}",
            "run again with --debug (its output may show data), and report what it prints",
            name=type(error).__name__,
            place=place_of(error),
        )
    if result == INTERRUPTED:
        return _interrupted()
    return result if isinstance(result, int) else 0


def _stray(title: str, message: str, hint: str, **facts: str) -> int:
    """Print an error that is not of the input."""
    err.print(styled((said(title), "bold red"), f"  {said(message, **facts)}"))
    err.print(f"   {said('hint:')} {said(hint)}")
    return 1


def _interrupted() -> int:
    err.print(said("Cancelled. No partial files were left. Run the command again to start over."))
    return 1
