"""Commands that print what readers, editors and shells need: schema, help, completion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

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


def help(
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Such as nights or verdict; default: list the topics.")
    ] = None,
) -> None:
    """Print a page of the documentation.

    Hints name topics. hybrid COMMAND --help explains a command.
    """
    from hybrid.base.pages import page, topics

    if topic is not None:
        text = page(topic)
        if console.out.is_terminal:
            from rich.markdown import Markdown

            console.out.print(Markdown(text), soft_wrap=False)
        else:
            console.out.print(text)
        return
    width = max(map(len, topics()))
    for name, title in topics().items():
        console.out.print(f"{name:<{width}}  {title}")
    console.show("\nhybrid help TOPIC prints a page, with or without its folder: hybrid help verdict")


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish", "powershell"],
        typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell."),
    ],
) -> None:
    """Print the script by which a shell completes commands and options.

    For bash: hybrid completion bash > ~/.local/share/bash-completion/completions/hybrid
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name="hybrid", complete_var="_HYBRID_COMPLETE", shell=shell))


GROUP = CommandGroup("Look", (schema, help, completion))
