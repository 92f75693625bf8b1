"""Command that chooses settings: tune."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hybrid.cli import console
from hybrid.cli.group import Group
from hybrid.cli.options import ConfigPath, Out, Seed, Work

Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Trials at a time on this machine.")]
Write = Annotated[
    bool | None, typer.Option("--write/--no-write", help="Write the choice into CONFIG. Default: ask on a terminal.")
]


def tune(
    config: ConfigPath,
    write: Write = None,
    seed: Seed = None,
    out: Out = None,
    jobs: Jobs = 1,
    work: Work = Path("work"),
) -> None:
    """Choose settings by use and by attack, on the training people alone.

    The most useful setting that is expected to pass the policy goes into CONFIG, with the reason as a comment.
    """
    tune_file(config, write, seed=seed, out=out, jobs=jobs, work=work)
    console.out.print(f"\nnext: hybrid check {config}\n      hybrid run {config}")


def tune_file(config: Path, write: bool | None, *, seed: int | None, out: Path | None, jobs: int, work: Path) -> None:
    """Tune a file, print what was found, and write the choice into it where that is wanted."""
    from rich.table import Table as Grid

    from hybrid.base.atomic import write_text
    from hybrid.jobs.start import configuration
    from hybrid.pipeline.draft import Draft
    from hybrid.tuning import tune as tuned
    from hybrid.tuning.page import HEAD, PAGE, key, legend, row, sentences

    loaded = configuration(config)
    folder = out or work / "tune" / loaded.name
    with console.progress() as progress:
        found = tuned(loaded, out=folder, seed=seed, work=work, jobs=jobs, progress=progress)
    grid = Grid(*HEAD)
    for one in found.rounds[-1]:
        grid.add_row(*row(one))
    console.out.print(grid)
    for said in [*legend(found), key(found)]:
        console.out.print(said)
    for sentence in sentences(found):
        console.line("note", sentence)
    console.out.print(f"\n{found.cpu_seconds:,.0f} CPU seconds\npicture  {folder / PAGE}")
    draft = Draft.read(config)
    found.apply(draft)
    if not draft.difference:
        console.line("ok", f"{config}: nothing to change")
        return
    console.out.print(draft.difference)
    if write is None:
        asks = sys.stdin.isatty() and sys.stderr.isatty()
        write = asks and typer.confirm("write this?", default=True, err=True)
    if write:
        write_text(config, draft.text)
        console.line("ok", f"{config}: written")
    else:
        console.line("note", f"{config}: left as it is", "hybrid tune --write writes it; nothing is tried again")


GROUP = Group("Data", (tune,))
