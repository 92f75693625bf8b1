"""First screen without a configuration, and the configuration that is guessed from a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hybrid.base.errors import ConfigError
from hybrid.demo import write_demo
from hybrid.desk.desk import Desk, command, known_name
from hybrid.pipeline.config import load_config
from hybrid.pipeline.config_file import is_data_file
from hybrid.pipeline.starter import (
    GuessedConfig,
    GuessedLinks,
    guess_config,
    guess_links,
    read_database,
    read_folder,
)

CONFIG = "config.yaml"
DEMO, DEMO_ROWS = "demo", 3_000
"""Folder of the simulated table, and its rows."""
TOGETHER = "."
"""Choice of all tables of a folder, as linked tables."""
Notes = tuple[str, ...]
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/")


def opened_place(place: Path | None, url_env: str | None = None) -> tuple[Path | None, Notes]:
    """Configuration of what a person names, guessed where there is none, and what to think about first.

    The place is a configuration, a table, or a folder, by default the present one; without a configuration in it (None)
    a person chooses. With ``url_env``, the variable with the address of a database whose tables are linked, it is the
    folder of their configuration.
    """
    folder = Path() if place is None else place
    if _ADDRESS.match(str(folder)):
        raise ConfigError(
            "this is the address of a database, which may hold a password",
            hint="put it into a variable: --url-env NAME",
        )
    if url_env is not None:
        return _guessed(folder / CONFIG, lambda: guess_links(read_database(url_env)))
    if folder.is_dir():
        return (folder / CONFIG if (folder / CONFIG).is_file() else None), ()
    return of_table(folder) if is_data_file(folder) else (folder, ())


def of_table(table: Path) -> tuple[Path, Notes]:
    """Configuration of a table: the one beside it that reads it, or a guessed one.

    A guessed one is ``config.yaml`` beside the table or, where another table has that, in a folder named as the table.
    """
    beside = table.parent / CONFIG
    if beside.is_file() and _reads(beside, table):
        return beside, ()
    own = table.parent / table.stem / CONFIG if beside.exists() else beside
    return _guessed(own, lambda: guess_config(table))


def _reads(config: Path, table: Path) -> bool:
    loaded = load_config(config)
    if loaded.is_linked or loaded.data.path is None:
        return False
    return (loaded.folder / loaded.data.path).resolve() == table.resolve()


def _guessed(config: Path, guess: Callable[[], GuessedConfig | GuessedLinks]) -> tuple[Path, Notes]:
    """A configuration that is there, or a guessed one that is written there."""
    if config.is_file():
        return config, ()
    guessed = guess()
    guessed.write(config)
    return config, guessed.notes


def _demo(folder: Path) -> tuple[Path, Notes]:
    if not (folder / CONFIG).is_file():
        write_demo(folder, DEMO_ROWS)
    return folder / CONFIG, ()


def routes(desk: Desk) -> list[Route]:
    def listed(request: Request) -> Response:
        if desk.config is not None:
            return RedirectResponse("/columns", 303)
        files = _tables(desk.folder)
        said = command("desk", desk.folder / (files[0] if files else "TABLE"))
        return desk.page(request, "start.html", folder=str(desk.folder.resolve()), files=files, command=said)

    def begin(request: Request) -> Response:
        wanted = request.state.form.get("table", "")
        chosen = known_name([*_tables(desk.folder), DEMO, TOGETHER], wanted, "table")
        if desk.config is not None:
            raise ConfigError(f"this desk has {desk.config}", hint="start another desk for another table")
        if chosen == DEMO:
            opened = _demo(desk.folder / DEMO)
        elif chosen == TOGETHER:
            opened = _guessed(desk.folder / CONFIG, lambda: guess_links(read_folder(desk.folder)))
        else:
            opened = of_table(desk.folder / chosen)
        desk.open(*opened)
        return desk.done(request, "/columns", command("desk", opened[0]))

    return [Route("/start", listed), Route("/start", begin, methods=["POST"])]


def _tables(folder: Path) -> list[str]:
    """Names of the data files of a folder."""
    return sorted(one.name for one in folder.iterdir() if is_data_file(one) and not one.name.startswith("."))
