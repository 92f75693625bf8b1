"""Commands that print pages of the documentation and scripts for shells: help, completion."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hybrid.cli import console
from hybrid.cli.arguments import CommandGroup


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


GROUP = CommandGroup("Look", (help, completion))
