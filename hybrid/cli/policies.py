"""Commands about policies: policies, policies show."""

from __future__ import annotations

from pathlib import Path
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
    console.out.print(
        "\nuse one by its name (policy: hospital), or write a file of your own that extends it (extends: hospital)"
    )


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="One of the listed policies, or the path of a policy file.")
    ],
) -> None:
    """Print a policy with all of its rules, those of the policies that it extends included."""
    import yaml

    from hybrid.publication.policy import load_policy, packaged_policy, read_policy

    path = packaged_policy(name) or Path(name)
    load_policy(path)
    text = yaml.safe_dump(dict(read_policy(path)), sort_keys=False, allow_unicode=True, width=120)
    typer.echo(text, nl=False)


_APP.callback(invoke_without_command=True)(policies)
_APP.command()(show)
GROUP = Group("Releases", families={"policies": _APP})
