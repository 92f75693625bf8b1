"""Commands about the decision on a run: difference, side-by-side, send-back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from hybrid.cli import console
from hybrid.cli.group import Group
from hybrid.cli.options import AsJson, Releases, Work

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")]


def difference(
    run: RunFolder, releases: Releases = Path("releases"), work: Work = Path("work"), as_json: AsJson = False
) -> None:
    """Show what changed since the last release of the data set.

    Policy, settings, columns, counts, and metrics that moved beyond their intervals.
    """
    from hybrid.publication.difference import difference_to_last
    from hybrid.publication.finished_run import read_whole_run

    found = difference_to_last(read_whole_run(run), releases, work)
    if as_json:
        console.out.print_json(json.dumps(None if found is None else found.to_json()))
        return
    if found is None:
        console.line("note", "there is no earlier release of this data set to compare with")
        return
    source = "the same records" if found.same_source else "other records"
    console.line("ok", f"compared with {found.release} of {found.created[:10]}, made from {source}")
    grid = Grid("changed", "", "before", "now")
    for title in ("policy", "settings", "roles", "counts"):
        for one in getattr(found, title):
            grid.add_row(title, one.what, one.before, one.now)
    for word, names in (("column added", found.added), ("column removed", found.removed)):
        for name in names:
            grid.add_row(word, name)
    for moved in found.moved:
        word = {True: "better", False: "worse", None: "moved"}[moved.better]
        grid.add_row(f"metric {word}", f"{moved.metric} {moved.about}".strip(), moved.before, moved.now)
    if grid.row_count:
        console.out.print(grid)
    else:
        console.line("ok", "nothing changed in policy, settings, columns and counts, and no metric moved")
    console.line("note", f"{found.compared} metrics have an interval in both")


def side_by_side(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of 2 to 8 finished runs.")],
    as_json: AsJson = False,
) -> None:
    """Show runs in columns: verdicts, settings that differ, metrics."""
    from hybrid.publication.difference import side_by_side as compared
    from hybrid.publication.finished_run import read_run

    found = compared([read_run(run) for run in runs])
    if as_json:
        console.out.print_json(json.dumps(found.to_json()))
        return
    grid = Grid("", *found.runs)
    grid.add_row("verdict", *found.verdicts)
    for row in (*found.risks, *found.settings, *found.metrics):
        grid.add_row(f"{row.what} (apart)" if row.apart else row.what, *row.values)
    console.out.print(grid)


def send_back(
    run: RunFolder,
    by: Annotated[str, typer.Option("--by", help="Who sends it back.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; the next person reads it, readers do not.")],
    releases: Releases = Path("releases"),
    work: Work = Path("work"),
) -> None:
    """Send a run back instead of approving it.

    Nothing of this data, method and policy is published then, until whoever sent it back approves.
    """
    from hybrid.publication.approvals import send_back as give_back

    given = give_back(run, releases, work, by, reason)
    console.line("ok", given.words, "change the method or the data, and run again")


GROUP = Group("Releases", (difference, side_by_side, send_back))
