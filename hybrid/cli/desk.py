"""Commands to decide: desk on a page, edit in a terminal."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid.base.errors import ConfigError, MissingExtraError
from hybrid.cli import console
from hybrid.cli.group import Group
from hybrid.cli.options import ConfigPath, Releases, Runs, Work

if TYPE_CHECKING:
    from hybrid.linked.draft import LinkedDraft
    from hybrid.pipeline.draft import Draft
    from hybrid.pipeline.hierarchy_draft import HierarchyFile


def desk(
    place: Annotated[
        Path | None, typer.Argument(metavar="CONFIG|FOLDER", help="A configuration, or a folder with config.yaml.")
    ] = None,
    runs: Runs = Path("runs"),
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of 127.0.0.1; 0: a free one.")] = 0,
) -> None:
    """Open a page on this machine to decide roles, verdicts and releases.

    For one person and this machine alone. Every action is in work/desk.jsonl and shows its command line.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("hybrid desk needs a web server", hint="pip install 'hybrid-release[desk]'")
    from hybrid.desk.desk import Desk
    from hybrid.desk.serve import serve
    from hybrid.jobs.places import Places
    from hybrid.linked.config import load_any

    config = place / "config.yaml" if place is not None and place.is_dir() else place
    if config is not None:
        load_any(config)
    places = Places(work, runs, releases)
    places.check_writable()

    def ready(address: str) -> None:
        console.out.print(f"open once, in a browser on this machine:\n\n  {address}\n\nCtrl-C ends the desk.")

    serve(Desk(config, places), port, ready)


def edit(
    config: ConfigPath,
    changes: Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="Such as anonymize.k=10. Repeatable.")],
) -> None:
    """Set keys of a configuration file; comments and everything else stay.

    A column that becomes a quasi-identifier gets a hierarchy to start from. Nothing is written if the result is wrong.
    """
    from hybrid.cli.options import overrides
    from hybrid.linked.draft import read_draft

    draft = read_draft(config)
    hierarchies = [one for key, value in overrides(changes).items() if (one := _set(draft, key, value)) is not None]
    if not draft.difference:
        raise ConfigError(f"{config}: nothing would change", hint="hybrid check CONFIG --show prints the values")
    _ = draft.config
    for hierarchy in hierarchies:
        hierarchy.write()
    draft.write(config, force=True)
    console.out.print(draft.difference)
    for hierarchy in hierarchies:
        console.line("ok", f"{hierarchy.relative}: a hierarchy to start from; hybrid hierarchy show prints it")


def _set(draft: Draft | LinkedDraft, key: str, value: object) -> HierarchyFile | None:
    """Set a key; gives the hierarchy that a new quasi-identifier lacks."""
    from hybrid.linked.draft import all_columns, table_of
    from hybrid.pipeline.hierarchy_draft import starter_file
    from hybrid.table import Role

    of = {".".join((*column.path, "role")): column for column in draft.columns.values() if column.hierarchy is None}
    hierarchy = None
    if key in of and value == Role.QUASI_IDENTIFIER:
        hierarchy = starter_file(of[key], all_columns(draft.config, table_of(of[key])))
        of[key].hierarchy = hierarchy.relative
    draft[key] = value
    return hierarchy


GROUP = Group("Look", (desk, edit))
