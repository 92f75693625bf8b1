"""Commands for nights: nightly (one, now), deliver, serve (by a schedule)."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from hybrid.base.errors import ConfigError, MissingExtraError
from hybrid.cli import console
from hybrid.cli.arguments import CommandGroup, ConfigPath, Releases, Runs, Work


def nightly(
    config: ConfigPath,
    work: Work = Path("work"),
    runs: Runs = Path("runs"),
    releases: Releases = Path("releases"),
    accept_drift: Annotated[
        bool, typer.Option("--accept-drift", help="Continue although the data changed beyond the limits.")
    ] = False,
) -> None:
    """Run one night now.

    Check for drift, keep or refit, pass the gate, publish, deliver. Exit codes: 3 refused, 4 waits for an approval, 1 a
    release was changed, a folder is not ours, or latest was turned elsewhere.
    """
    from hybrid.jobs.nightly import EXIT_CODES, Night
    from hybrid.jobs.places import Places
    from hybrid.jobs.start import configuration
    from hybrid.pipeline.pipeline import Pipeline

    loaded = configuration(config)
    places = Places(work, runs, releases)
    with console.progress() as progress:
        night = Night(Pipeline(loaded, store=places.store, progress=progress, ledger_dir=work), places)
        notice = night.run(accept_drift)
    console.line(notice.outcome if notice.is_held_back else "ok", notice.words)
    for problem in () if night.refusal is None else night.refusal.problems:
        console.line("note", problem.message, problem.hint)
    if notice.release is not None:
        console.show("release  {path}", path=releases / notice.release)
    for message in notice.found:
        console.line("error", message, "hybrid status")
    code = EXIT_CODES[notice.outcome] or int(bool(notice.found))
    if code:
        raise typer.Exit(code)


def deliver(
    config: ConfigPath,
    work: Work = Path("work"),
    releases: Releases = Path("releases"),
) -> None:
    """Copy the newest release to the place set in nightly.deliver.

    Withdrawn releases are taken out of warehouses. A night does both by itself.
    """
    from hybrid.jobs.nightly import deliver_latest
    from hybrid.jobs.places import Places
    from hybrid.jobs.start import configuration

    release, targets = deliver_latest(configuration(config), Places(work, releases=releases))
    for target in targets:
        console.line("ok", "release {name} delivered to {place}", name=release, place=target)
    if release is None:
        console.line("note", "there is no release that could be delivered", "hybrid release CONFIG")
    elif not targets:
        console.line("ok", "every target has the release {name}", name=release)


def serve(
    config: ConfigPath,
    cron: Annotated[str, typer.Option("--cron", help='When: minute hour day month weekday, such as "0 2 * * *".')],
    timezone: Annotated[str, typer.Option("--timezone", help="Whose clock, such as Europe/Berlin.")] = "UTC",
    work: Work = Path("work"),
    runs: Runs = Path("runs"),
    releases: Releases = Path("releases"),
    notify: Annotated[
        str | None, typer.Option("--notify", metavar="TYPE/NAME", help="A notification block of Prefect.")
    ] = None,
    port: Annotated[int, typer.Option("--port", help="Of the Prefect server on this machine.")] = 4200,
) -> None:
    """Run nights by a schedule until stopped.

    With Prefect's server and its pages on this machine.
    """
    if find_spec("prefect") is None or find_spec("cronsim") is None:
        raise MissingExtraError("hybrid serve needs Prefect", hint="pip install 'hybrid-release[flows]'")
    from hybrid.pipeline.config import load_config

    load_config(config)
    _check_schedule(cron, timezone)
    schedule = ["--cron", cron, "--timezone", timezone, "--port", str(port)]
    places = ["--work", str(work), "--runs", str(runs), "--releases", str(releases)]
    block = [] if notify is None else ["--notify", notify]
    # Another program takes the place of this one: the library never imports Prefect.
    os.execv(sys.executable, [sys.executable, "-m", "flows.serve", str(config), *schedule, *places, *block])


def _check_schedule(cron: str, timezone: str) -> None:
    from cronsim import CronSim, CronSimError

    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigError(f"--timezone {timezone}: no such time zone", hint="for example Europe/Berlin") from None
    try:
        first = next(CronSim(cron, datetime.now(zone)))
    except (CronSimError, StopIteration):
        raise ConfigError(f"--cron {cron}: this is no schedule", hint='for example --cron "0 2 * * *"') from None
    begin = {"day": f"{first:%Y-%m-%d}", "time": f"{first:%H:%M}", "zone": timezone}
    console.line("ok", "the first night begins on {day:date} at {time} ({zone})", **begin)


GROUP = CommandGroup("Nights", (nightly, deliver, serve))
