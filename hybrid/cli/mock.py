"""Command that makes a mock table, for code that is written outside of the house."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid.cli import console
from hybrid.cli.arguments import AsJson, CommandGroup, ConfigPath, Out, Seed, Settings, Work, overrides


def mock(
    config: ConfigPath,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Rows; of linked tables, persons.")] = 100,
    out: Out = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", metavar="E", help="Read the records, for noisy counts of each column: 0.1."),
    ] = None,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="Of these counts.")] = 1e-6,
    draft: Annotated[
        bool, typer.Option("--draft", help="Propose the section mock in CONFIG, for you to decide.")
    ] = False,
    seed: Seed = None,
    set_: Settings = None,
    work: Work = Path("work"),
    as_json: AsJson = False,
) -> None:
    """Make a table for writing and testing code, without the records.

    Names, kinds and formats of the columns are right, values are made up. Nothing in it can be analysed.
    """
    from hybrid.jobs.mock import mock as make
    from hybrid.jobs.mock import write_mock
    from hybrid.jobs.places import new_folder
    from hybrid.pipeline.config import load_config

    if draft:
        _draft(config)
        return
    loaded = load_config(config, overrides(set_))
    folder = out or new_folder(f"{loaded.name}-mock")
    found = make(loaded, rows=rows, seed=seed, epsilon=epsilon, delta=delta, work=work)
    paths = write_mock(found, folder)
    if as_json:
        console.print_json(found.to_json() | {"folder": str(folder), "files": [str(path) for path in paths.values()]})
        return
    for name, path in paths.items():
        table = found.made.tables[name].table if name in found.made.tables else found.made.public[name]
        console.show("mock table  {path}  ({n:number} rows)", path=path, n=f"{len(table):,}")
    console.line("note", found.mark)
    console.show("\nit discloses:")
    for sentence in found.discloses:
        console.out.print(f"  - {console.said(sentence)}")
    console.line("note" if found.reasons else "ok", found.decision)


def _draft(config: Path) -> None:
    from hybrid.jobs.mock_draft import draft_mock

    written = draft_mock(config)
    for name in written:
        said = "{key}: proposed from the records; read it, and change what is not public"
        console.line("ok", said, key=f"mock.columns.{name}")
    console.line(
        "note", "{path}: the section mock is your decision", "hybrid mock makes the table from it", path=config
    )


GROUP = CommandGroup("Data", (mock,))
