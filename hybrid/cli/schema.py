"""Command that writes the JSON schema of the configuration, or of the facts of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hybrid.cli import console
from hybrid.cli.arguments import CommandGroup


def schema(
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it here; default: print.")] = None,
    facts: Annotated[bool, typer.Option("--facts", help="Of facts.json, which every run writes.")] = False,
) -> None:
    """Write the JSON schema of the configuration, or of the facts of a run.

    Editors then complete the configuration's keys, explain them, and mark mistakes.
    """
    from hybrid.base.atomic import write_json
    from hybrid.pipeline.json_schema import configuration_schema, first_line
    from hybrid.publication.facts import facts_schema

    made = facts_schema() if facts else configuration_schema()
    if out is None:
        typer.echo(json.dumps(made, indent=1, ensure_ascii=False))
        return
    write_json(out, made)
    console.line("ok", "{path}: written", path=out)
    if facts:
        return
    console.show("\nfirst line of a configuration beside it, for editors with the YAML language server:")
    console.out.print(first_line(out.name))


GROUP = CommandGroup("Look", (schema,))
