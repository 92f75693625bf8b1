"""Commands for what is out: approve a review, see how the releases stand, remove old ones."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column
from rich.table import Table as Grid

from hybrid.cli import console

Releases = Annotated[Path, typer.Option("--releases", metavar="DIR", help="Folder of all releases.")]
Work = Annotated[Path, typer.Option("--work", metavar="DIR", help="The private zone, with the ledger.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (approve, status, retain):
        app.command()(command)


def approve(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run that waits for a decision.")],
    by: Annotated[str, typer.Option("--by", help="Who decides.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; stands in the certificate.")],
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
) -> None:
    """Accept a run that the gate wants reviewed, and publish it once enough people have. Exit code 3: not yet."""
    from hybrid.publication.publish import publish

    published = publish(run, releases, work, accept_review=True, by=by, reason=reason)
    console.line("ok", f"accepted by {by}")
    console.out.print(f"release  {published}")


def status(
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
    name: Annotated[str | None, typer.Option("--name", help="Only the data set (name of its config).")] = None,
    max_age: Annotated[
        float | None, typer.Option("--max-age", metavar="HOURS", min=0, help="Fail if the last release is older.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What is out, what waits, what went wrong. Exit code 1: the last release is damaged, too old or missing."""
    from hybrid.publication.status import releases_state

    state = releases_state(releases, work, name, datetime.now(UTC), max_age)
    if as_json:
        console.out.print_json(json.dumps(asdict(state)))
    else:
        grid = Grid(Column("release", no_wrap=True), "data set", "verdict", "policy", "accepted by", "exposed")
        for entry in state.releases:
            exposed = "-" if entry.exposure is None else f"{entry.exposure.exposed_share:.2%}"
            names = ", ".join(acceptance.by for acceptance in entry.acceptances)
            grid.add_row(entry.release, entry.data_set, entry.status, entry.policy, names, exposed)
        console.out.print(grid)
        for event in state.events:
            console.out.print(f"{event.at[:19]}  {event.data_set}  {event.outcome:<9}{event.message}", markup=False)
        for problem in state.problems:
            console.line("error", problem.message, problem.hint)
        if not state.problems:
            console.line("ok", f"the last release is {state.latest}")
    if state.problems:
        raise typer.Exit(1)


def retain(
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=1, help="How many of the newest stay.")],
    releases: Releases = Path("releases"),
) -> None:
    """Remove all but the newest releases; never the latest, never the last undamaged one."""
    from hybrid.publication.publish import retain as remove

    removed = remove(releases, keep)
    console.line("ok", f"{len(removed)} releases removed{': ' + ', '.join(removed) if removed else ''}")
