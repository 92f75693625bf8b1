"""Commands about the packaged policies: policies, policies show."""

from __future__ import annotations

from typing import Annotated

import typer

from hybrid.cli import console
from hybrid.cli.group import Group

_APP = typer.Typer(help="Packaged policies: name, version, owner, what each is for.")


def policies(context: typer.Context) -> None:
    """List the packaged policies: name, version, owner, what each is for."""
    if context.invoked_subcommand is not None:
        return
    from hybrid.publication.policy import load_policy, packaged_policies

    for name, path in packaged_policies().items():
        policy = load_policy(path)
        console.line("ok", f"{name}  version {policy.version}, owner: {policy.owner}")
        console.out.print(f"        {policy.description}")
    console.out.print("\nuse one by its name (policy: hospital), or copy it: hybrid policies show NAME > policy.yaml")


def show(name: Annotated[str, typer.Argument(metavar="NAME", help="One of the listed policies.")]) -> None:
    """Print the file of a packaged policy, to copy and change."""
    from hybrid.base.errors import ConfigError
    from hybrid.publication.policy import packaged_policies

    found = packaged_policies()
    if name not in found:
        raise ConfigError(f"{name!r} is not a packaged policy", hint=f"use one of {', '.join(found)}")
    typer.echo(found[name].read_text(encoding="utf-8"), nl=False)


_APP.callback(invoke_without_command=True)(policies)
_APP.command()(show)
GROUP = Group("Releases", families={"policies": _APP})
