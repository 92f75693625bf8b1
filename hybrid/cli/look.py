"""Commands that describe, decide and prepare this installation, and print what readers, editors and shells need."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid.base.errors import ConfigError, MissingExtraError
from hybrid.cli import console
from hybrid.cli.arguments import AsJson, CommandGroup, ConfigPath, Releases, Runs, Settings, Work, overrides

if TYPE_CHECKING:
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.hierarchy_draft import HierarchyFile
    from hybrid.synthesize.isolation.environments import Environment


def explain(config: ConfigPath, set_: Settings = None) -> None:
    """Explain what a configuration guarantees and what it does not.

    The sampling theorem, its conditions, what remains open.
    """
    from hybrid.pipeline.config import load_config
    from hybrid.pipeline.pipeline import Pipeline

    loaded = load_config(config, overrides(set_))
    explanation = Pipeline(loaded).person.promises.explanation
    for condition in explanation.conditions:
        met = "met: {what:text}" if condition.met else "not met: {what:text}"
        console.line("ok" if condition.met else "note", met, what=condition.text)
    console.out.print(f"\n{console.said(explanation.text)}")
    register = loaded.evaluate.attacker_register
    if register is not None:
        looked_up = (
            "A run looks people up in a register that an attacker may hold, and measures whom rows point at: {path}"
        )
        console.line("note", looked_up, path=register.path)


def metrics(as_json: AsJson = False) -> None:
    """List the metrics.

    What each measures, which direction is good, what it needs.
    """
    from hybrid.evaluation import REGISTRY
    from hybrid.publication.asked import ways_to_ask

    if as_json:
        console.print_json([metric.to_json() for metric in REGISTRY.values()])
        return
    ways = ways_to_ask()
    for name, metric in REGISTRY.items():
        needed = [*metric.needs, *(f"{way} in evaluate.also" for way in (ways[name],) if way)]
        better = console.said("higher is better" if metric.direction == "higher" else "lower is better")
        needs = f"  ({console.said('needs {names}', names=', '.join(needed))})" if needed else ""
        shown = f"{console.said(metric.family):<13}{metric.name:<26}{better:<23}{console.said(metric.sentence)}"
        console.out.print(f"{shown}{needs}")


def warm() -> None:
    """Pre-compile the fast code, once per installation.

    Otherwise the first runs take about 40 seconds longer.
    """
    from hybrid.jobs.warm import warm

    with console.progress() as progress:
        folders = warm(progress)
    for folder in folders:
        console.line("ok", "machine code in {path}", path=folder)
    if not folders:
        console.line("note", "no folder for machine code may be written: every process compiles anew")


def desk(
    place: Annotated[
        Path | None, typer.Argument(metavar="PLACE", help="A table, a configuration, or a folder with one of them.")
    ] = None,
    url_env: Annotated[
        str | None,
        typer.Option("--url-env", metavar="NAME", help="Linked tables of a database: the variable with its URL."),
    ] = None,
    runs: Runs = Path("runs"),
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of 127.0.0.1; 0: a free one.")] = 0,
) -> None:
    """Open a page on this machine: from a table to its release.

    For one person and this machine alone. Every action is in work/desk.jsonl and shows its command line.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("hybrid desk needs a web server", hint="pip install 'hybrid-release[desk]'")
    from hybrid.desk.desk import Desk
    from hybrid.desk.serve import serve
    from hybrid.desk.start import opened_place
    from hybrid.jobs.places import Places
    from hybrid.pipeline.config import load_config

    places = Places(work, runs, releases)
    places.check_writable()
    console.err.print(console.said("reading ..."))
    config, notes = opened_place(place, url_env)
    if config is not None:
        load_config(config)
    opened = Desk(config, places, place if place is not None and place.is_dir() else Path())
    opened.notes = notes

    def ready(address: str) -> None:
        console.show("open once, in a browser on this machine:")
        console.out.print(f"\n  {address}\n")
        console.show("Enter prints a new link. Ctrl-C ends the desk; runs continue, and a new desk shows them.")
        sys.stdout.flush()

    serve(opened, port, ready)


def edit(
    config: ConfigPath,
    changes: Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="Such as anonymize.k=10. Repeatable.")],
) -> None:
    """Set keys of a configuration file; comments and everything else stay.

    A column that becomes a quasi-identifier gets a hierarchy to start from. Nothing is written if the result is wrong.
    """
    from hybrid.pipeline.draft import Draft

    draft = Draft.read(config)
    hierarchies = [one for key, value in overrides(changes).items() if (one := _set(draft, key, value)) is not None]
    if not draft.difference:
        raise ConfigError(f"{config}: nothing would change", hint="hybrid check CONFIG --show prints the values")
    _ = draft.config
    for hierarchy in hierarchies:
        hierarchy.write()
    draft.write(config, force=True)
    console.out.print(draft.difference)
    for hierarchy in hierarchies:
        said = "{path}: a hierarchy to start from; hybrid hierarchy show prints it"
        console.line("ok", said, path=hierarchy.relative)


def _set(draft: Draft, key: str, value: object) -> HierarchyFile | None:
    """Set a key; gives the hierarchy that a new quasi-identifier lacks."""
    from hybrid.pipeline.hierarchy_draft import starter_file
    from hybrid.pipeline.sources import all_columns
    from hybrid.table import Role

    of = {".".join((*column.path, "role")): column for column in draft.columns.values() if column.hierarchy is None}
    hierarchy = None
    if key in of and value == Role.QUASI_IDENTIFIER:
        hierarchy = starter_file(of[key], all_columns(draft.config, of[key].table))
        of[key].hierarchy = hierarchy.relative
    draft[key] = value
    return hierarchy


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


EnvironmentName = Annotated[str, typer.Argument(metavar="NAME", help="An environment, or a generator that has one.")]
generators_app = typer.Typer(
    help="Generators: what each is, whether it can be used here, its options; their environments."
)


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
        console.print_json({"generators": entries, "environments": [asdict(one) for one in built]})
        return
    for entry in found:
        about = {"name": entry.name, "title": console.said(entry.title), "licence": console.said(entry.licence)}
        console.line("ok" if entry.available else "note", "{name}: {title}  (licence: {licence})", **about)
        if entry.install:
            console.show("        to use it: {how}", how=console.said(entry.install))
        console.show(f"        {entry.capabilities.words}")
        console.show("        presets: {names}", names=", ".join(entry.presets))
        for option in entry.options:
            console.out.print(f"        {option.name} = {option.default}   {option.description}")
    console.show("\nmanaged environments (hybrid generators install NAME, remove NAME)")
    for one in built:
        _show_environment(one)


def install(name: EnvironmentName) -> None:
    """Build the managed environment of a generator from its pinned requirements.

    Needs a package index.
    """
    from hybrid.synthesize.isolation import environments
    from hybrid.synthesize.registry import environment_of

    with console.progress() as progress:
        _show_environment(environments.install(environment_of(name), progress))


def remove(name: EnvironmentName) -> None:
    """Remove a managed environment."""
    from hybrid.synthesize.isolation import environments
    from hybrid.synthesize.registry import environment_of

    environment = environment_of(name)
    if environments.remove(environment):
        console.line("ok", "{name}: removed", name=environment)
    else:
        console.line("note", "{name}: there was none", name=environment)


def _show_environment(environment: Environment) -> None:
    from hybrid.synthesize.registry import ENGINES, REGISTRY, distributions

    status = "ok" if environment.state == "ready" else "note"
    versions = environment.versions
    generators = [*REGISTRY.values(), *ENGINES.values()]
    needed = sorted({name for generator in generators for name in distributions(generator)})
    shown = ["Python", *(name for name in (*needed, "numpy", "pandas") if name in versions)] if versions else []
    hints = {
        "incomplete": "an installation was interrupted: hybrid generators install {name}",
        "outdated": "built from other requirements: hybrid generators install {name}",
    }
    built = ", {size:form} GB, built in {seconds:number} s  {versions}" if versions else ""
    console.line(
        status,
        f"{{name}}: {{state}}{built}",
        hints.get(environment.state, ""),
        name=environment.name,
        state=console.said(environment.state),
        size=f"{environment.n_bytes / 1e9:.1f}",
        seconds=f"{environment.seconds:.0f}",
        versions="  ".join(f"{name} {versions[name]}" for name in shown),
    )


generators_app.callback(invoke_without_command=True)(generators)
for _command in (install, remove):
    generators_app.command()(_command)
GROUP = CommandGroup(
    "Look", (explain, metrics, warm, desk, edit, schema, help, completion), {"generators": generators_app}
)
