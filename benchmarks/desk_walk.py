"""Walk from files to their release on the desk, in Chromium, with every click counted.

    python benchmarks/desk_walk.py TABLE [TABLE ...] [--language de] [--width 390] [--seconds 7200]
        [--pictures FOLDER] [--kill]

The guesses are taken as they are; several tables are linked tables, from a folder that holds them alone. Text is typed
after a click into its field, or after Tab. Writes into a new folder, prints the clicks and the seconds of each step,
and looks at each page with axe and for what reaches beyond the window. Ends with 1 if there were more than 12 clicks,
no release, or a finding. With --kill, browser and desk end by SIGKILL while the run is under way, and a later desk
finds it again.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.helpers.browser import Page, browser

MOST_CLICKS = 12
TAB = ("Tab", 9)
DONE = "form[action$='/decide'], .verdict.block, [name=continued]"
"""What only the page of an ended run has."""


class Walk:
    """A person with a mouse, whose clicks are counted."""

    def __init__(self, page: Page, width: int, pictures: Path | None, problems: list[str]) -> None:
        self.page, self.width, self.pictures = page, width, pictures
        self.clicks, self.problems = 0, problems
        self._since = time.monotonic()

    def click(self, selector: str) -> None:
        self.clicks += 1
        self.page.click(f"document.querySelector({selector!r})")

    def type(self, *texts: str) -> None:
        """Type into the field that has the focus, and by Tab into the fields after it."""
        for at, text in enumerate(texts):
            if at:
                self.page.press(*TAB)
            self.page.type(text)

    def wait(self, script: str, seconds: float = 300) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.page.evaluate(f"document.readyState == 'complete' && !!({script})"):
                    return
            except AssertionError:
                pass  # the page is being replaced
            time.sleep(0.5)
        raise TimeoutError(f"{script}: {self.page.evaluate('document.body.innerText')}")

    def said(self, step: str) -> None:
        """Print a step, look at the page it ends on, and begin the next."""
        now = time.monotonic()
        found = self.page.findings()
        self.problems += [f"{step}: {one}" for one in found]
        print(f"{step:<32} {self.clicks:>3} clicks  {now - self._since:7.1f} s  {len(found)} findings", flush=True)
        if self.pictures is not None:
            name = f"{step.partition(',')[0].replace(' ', '-')}.png"
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.page.picture(self.pictures / name, self.width)
        self._since = time.monotonic()


def address_of(terminal: int) -> str:
    """Link that a desk prints."""
    text, deadline = "", time.monotonic() + 600
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            text += os.read(terminal, 4096).decode()
        if found := re.search(r"http://\S+token=\S+", text):
            return found[0]
    raise TimeoutError(text)


@contextmanager
def desk_in(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Link of a desk of a folder and its process, which ends with the block."""
    own, its = pty.openpty()
    command = [sys.executable, "-m", "hybrid", "desk", *arguments]
    desk = subprocess.Popen(command, cwd=folder, stdin=its, stdout=its, stderr=its)
    try:
        yield address_of(own), desk
    finally:
        desk.terminate()
        desk.wait(30)


def begin(person: Walk) -> None:
    """From the first screen to a run under way."""
    person.wait("document.querySelector('#name, button[name=table]')")
    if person.page.evaluate("!!document.querySelector('button[name=table]')"):
        person.said("the tables are offered")
        person.click("button[name=table][value='.']")
        person.wait("document.querySelector('#name')")
    person.said("the table is shown")
    person.click("#name")
    person.type("A. Meier")
    person.click(".bar button")
    person.wait("document.querySelector('button[form=start]')")
    person.said("roles are saved and signed")
    person.click("button[form=start]")
    person.wait("document.querySelector('progress')")
    person.said("the run is under way")


def decide(person: Walk, seconds: float) -> None:
    """From a run under way to its release."""
    person.wait(f"document.querySelector({DONE!r})", seconds)
    person.said("the verdict is there")
    if person.page.evaluate("!document.querySelector('form[action$=\"/decide\"]')"):
        raise SystemExit("nothing can be released: a rule forbids it, or the run ended without a result")
    ticks = int(person.page.evaluate("document.querySelectorAll('[name^=tick-]').length"))
    for at in range(ticks):
        person.click(f"#tick-{at}")
        person.page.press(*TAB)
        person.type("looked at, and small")
    if ticks:
        person.page.press(*TAB)
        person.type("B. Kaya")
    person.click("form[action$='/decide'] button")
    person.wait("location.pathname.startsWith('/releases/')")
    person.said(f"released, {ticks} checks accepted")
    assert person.page.evaluate("!!document.querySelector('.verdict.pass')"), "the release is not verified"


def main(options: argparse.Namespace) -> int:
    folder = Path(tempfile.mkdtemp(prefix="desk-walk-")) / "study"
    folder.mkdir()
    for table in options.tables:
        shutil.copy(table, folder)
    named = [options.tables[0].name] if len(options.tables) == 1 else []
    problems: list[str] = []
    with opened(folder, options, problems, *named) as (person, desk):
        begin(person)
        if options.kill:
            desk.kill()
        else:
            decide(person, options.seconds)
    clicks = person.clicks
    if options.kill:
        print("browser and desk were killed", flush=True)
        with opened(folder, options, problems) as (person, _):
            person.wait("document.querySelector('nav a[href=\"/runs\"]')")
            person.click("nav a[href='/runs']")
            person.wait('document.querySelector(\'h2 a[href^="/runs/"], tbody a[href^="/runs/"]\')')
            person.said("a later desk finds the run")
            person.click("h2 a[href^='/runs/'], tbody a[href^='/runs/']")
            decide(person, options.seconds)
        clicks += person.clicks
    print(*problems, sep="\n")
    return int(clicks > MOST_CLICKS or bool(problems))


@contextmanager
def opened(
    folder: Path, options: argparse.Namespace, problems: list[str], *arguments: str
) -> Iterator[tuple[Walk, subprocess.Popen[bytes]]]:
    """A person in front of a desk that was just opened, and its process."""
    with desk_in(folder, *arguments) as (address, desk), browser(Path(tempfile.mkdtemp())) as page:
        page.look_as(options.language, options.width, origin=address.partition("/enter")[0])
        page.visit(address)
        yield Walk(page, options.width, options.pictures, problems), desk


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--language", choices=("en", "de"), default="en")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--seconds", type=float, default=7_200)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--kill", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options()))
