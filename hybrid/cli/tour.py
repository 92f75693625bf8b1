"""Tour from a table to a release, on simulated data."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hybrid.base.errors import ConfigError
from hybrid.cli import console
from hybrid.cli.arguments import CommandGroup

_PERSON = "visitor of the tour"
_REASON = "the table is simulated: no real person is in it"
_REFUSED, _WAITING = 3, 4
"""Exit codes of ``hybrid release`` for a blocked run, and of it and ``hybrid status`` while one waits for a person."""


@dataclass(frozen=True)
class TourStep:
    """Step of the tour: purpose, command, and what to look at."""

    title: str
    before: str
    command: tuple[str, ...]
    after: str
    answers: tuple[int, ...] = (0,)
    """Exit codes after which the tour goes on: those of the gate are answers, which it explains."""
    after_answer: int | None = None
    """Exit code of the step before, without which this one is left out; None: it always comes."""


def tour_steps(rows: int) -> tuple[TourStep, ...]:
    """Steps of the tour, each a command that works in its folder."""
    config, run = "demo/config.yaml", "runs/tour"
    return (
        TourStep(
            "A table",
            "The tour needs a table about people. This one is simulated: hospital admissions, several per patient.",
            ("demo", "demo", "--rows", str(rows)),
            "demo/admissions.csv is the table. Your own would be a CSV, Parquet, Excel, Stata, SPSS or SAS file.",
        ),
        TourStep(
            "Guess",
            "Roles, kinds and hierarchies of the columns are guessed; every guess is marked for review.",
            ("init", "demo/admissions.csv", "--out", "mine/config.yaml"),
            "Open mine/config.yaml, and demo/config.yaml beside it: the second says what people decided about the same "
            "table, why, and who signed. hybrid desk mine/config.yaml shows the guesses on a page, with a choice for "
            "each.",
        ),
        TourStep(
            "Check",
            "The decided configuration: everything that can be checked without a run, all problems at once.",
            ("check", config),
            "The line k=5 says what less suppression costs in detail. It comes from the real search.",
        ),
        TourStep(
            "Run",
            "Anonymize, restore, synthesize, evaluate, judge. With 30,000 rows this takes some minutes.",
            ("run", config, "--out", run),
            "A PASS means that every rule of the policy is met, and that leaks of known size, planted into this very "
            "table, were noticed. It is no proof: the line Not tried names attacks that nobody made, and 'not ruled "
            "out' beside a question means: nothing was found, but among so few people a leak a little above the limit "
            "would look like chance. More people narrow that. With fewer rows the verdict can be a review. "
            "Open runs/tour/report.html: its first page says what was found, and why.",
        ),
        TourStep(
            "Release",
            "The gate judges the finished run again and publishes it, if the policy lets it out.",
            ("release", run),
            "A pass is published. A review waits for a person, who reads the lines after the run. A block is never "
            "published; the lines with try say what to change.",
            (0, _REFUSED, _WAITING),
        ),
        TourStep(
            "Look back",
            "The ledger of all releases, and what waits for a decision.",
            ("status",),
            "hybrid desk demo/config.yaml shows all of this on a page, and takes the decision there.",
            (0, 1, _WAITING),
        ),
        TourStep(
            "Decide on the review",
            "The lines with waiting above say what was found and what is allowed. Of a real table you would mend it, "
            "or send the run back (hybrid send-back); who accepts it answers for it. This table is simulated: no "
            "real person can come to harm. That is a reason, and the certificate will show it with your name.",
            ("approve", run, "--by", _PERSON, "--reason", _REASON),
            "releases/latest is the release: the table, its report, and a certificate with your reason.",
            after_answer=_WAITING,
        ),
        TourStep(
            "Verify",
            "What readers of a release do, offline: is every file as it was published?",
            ("verify", "releases/latest"),
            "Change one letter of a file in releases/latest and verify again: it is found.",
            after_answer=0,
        ),
    )


def tour(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the tour.")] = Path("tour"),
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=300, help="Number of simulated admissions.")] = 30_000,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before each step.")] = False,
) -> None:
    """Walk from a table to a release, on simulated data.

    Each step shows its command, and what to look at afterwards.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: there is something already", hint="choose another folder: hybrid tour DIR")
    folder.mkdir(parents=True, exist_ok=True)
    steps = tour_steps(rows)
    code, number = 0, 0
    without_review = sum(step.after_answer != _WAITING for step in steps)
    for step in steps:
        if step.after_answer not in (None, code):
            continue
        number += 1
        place = {"n": number, "all": max(number, without_review), "title": console.said(step.title)}
        console.show("\n{n:number} of {all:number}: {title}", **place)
        console.show(step.before)
        console.out.print(f"\n$ {shell_line(step)}")
        if not yes and not typer.confirm(console.said("run it?"), default=True):
            console.show("the tour ends here; what it made is in {path}", path=folder)
            return
        code = subprocess.run([sys.executable, "-m", "hybrid", *step.command], cwd=folder).returncode
        if code not in step.answers:
            raise typer.Exit(code)
        console.show(f"\n{step.after}")
    console.show(
        "\nThe tour is over; all of it is in {path}. Next: your own table, hybrid desk TABLE, or hybrid init TABLE.",
        path=folder,
    )


def shell_line(step: TourStep) -> str:
    return shlex.join(["hybrid", *step.command])


GROUP = CommandGroup("Data", (tour,))
