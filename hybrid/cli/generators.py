"""Commands about generators and their managed environments: generators, generators install, generators remove."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid.cli import console
from hybrid.cli.group import Group
from hybrid.cli.options import AsJson

if TYPE_CHECKING:
    from hybrid.synthesize.isolation.environments import Environment

Name = Annotated[str, typer.Argument(metavar="NAME", help="An environment, or a generator that has one.")]
_APP = typer.Typer(help="Generators: what each is, whether it can be used here, its options; their environments.")


def generators(context: typer.Context, as_json: AsJson = False) -> None:
    """List the generators.

    What each is, whether it can be used here, its options; their managed environments.
    """
    if context.invoked_subcommand is not None:
        return
    from hybrid.synthesize import availability
    from hybrid.synthesize.isolation.environments import NAMES, inspect

    found, built = availability(), [inspect(name) for name in NAMES]
    if as_json:
        entries = [asdict(entry) for entry in found]
        console.out.print_json(json.dumps({"generators": entries, "environments": [asdict(one) for one in built]}))
        return
    for entry in found:
        console.line("ok" if entry.available else "note", f"{entry.name}: {entry.title}  (licence: {entry.licence})")
        if entry.install:
            console.out.print(f"        to use it: {entry.install}")
        console.out.print(f"        {entry.capabilities.words}")
        console.out.print(f"        presets: {', '.join(entry.presets)}")
        for option in entry.options:
            console.out.print(f"        {option.name} = {option.default}   {option.description}")
    console.out.print("\nmanaged environments (hybrid generators install NAME, remove NAME)")
    for one in built:
        _show(one)


def install(name: Name) -> None:
    """Build the managed environment of a generator from its pinned requirements.

    Needs a package index.
    """
    from hybrid.synthesize.isolation import environments
    from hybrid.synthesize.registry import environment_of

    with console.progress() as progress:
        _show(environments.install(environment_of(name), progress))


def remove(name: Name) -> None:
    """Remove a managed environment."""
    from hybrid.synthesize.isolation import environments
    from hybrid.synthesize.registry import environment_of

    environment = environment_of(name)
    if environments.remove(environment):
        console.line("ok", f"{environment}: removed")
    else:
        console.line("note", f"{environment}: there was none")


def _show(environment: Environment) -> None:
    """Print state, size and main versions in one line."""
    from hybrid.synthesize.registry import ENGINES, REGISTRY, distributions

    status = "ok" if environment.state == "ready" else "note"
    versions = environment.versions
    generators = [*REGISTRY.values(), *ENGINES.values()]
    needed = sorted({name for generator in generators for name in distributions(generator)})
    shown = ["Python", *(name for name in (*needed, "numpy", "pandas") if name in versions)] if versions else []
    size = f", {environment.n_bytes / 1e9:.1f} GB, built in {environment.seconds:.0f} s" if versions else ""
    text = "  ".join(f"{name} {versions[name]}" for name in shown)
    hints = {
        "incomplete": f"an installation was interrupted: hybrid generators install {environment.name}",
        "outdated": f"built from other requirements: hybrid generators install {environment.name}",
    }
    console.line(
        status, f"{environment.name}: {environment.state}{size}  {text}".rstrip(), hints.get(environment.state, "")
    )


_APP.callback(invoke_without_command=True)(generators)
for _command in (install, remove):
    _APP.command()(_command)
GROUP = Group("Look", families={"generators": _APP})
