"""Walk from a file to its release on the desk, in Chromium, with every click counted.

    python benchmarks/desk_walk.py TABLE [SECONDS]

The guesses are taken as they are. Text is typed after a click into its field, or after Tab. Writes into a new folder,
prints the clicks and the seconds of each step, and ends with 1 if there were more than 12 clicks or no release.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.helpers.browser import Page, browser

MOST_CLICKS = 12
TAB = ("Tab", 9)


class Walk:
    """A person with a mouse, whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks, self._since = page, 0, time.monotonic()

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
        raise TimeoutError(script)

    def said(self, step: str) -> None:
        now = time.monotonic()
        print(f"{step:<32} {self.clicks:>3} clicks  {now - self._since:7.1f} s", flush=True)
        self._since = now


def address_of(terminal: int) -> str:
    """Link that a desk prints."""
    text, deadline = "", time.monotonic() + 600
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            text += os.read(terminal, 4096).decode()
        if found := re.search(r"http://\S+token=\S+", text):
            return found[0]
    raise TimeoutError(text)


def walk(page: Page, address: str, seconds: float) -> Walk:
    person = Walk(page)
    page.visit(address)
    person.wait("document.querySelector('#name')")
    person.said("the table is shown")
    person.click("#name")
    person.type("A. Meier")
    person.click(".bar button")
    person.wait("document.querySelector('button[form=start]')")
    person.said("roles are saved and signed")
    person.click("button[form=start]")
    done = "form[action$='/decide'], .verdict.block, [name=continued]"
    person.wait(f"document.querySelector({done!r})", seconds)
    person.said("the verdict is there")
    ticks = int(page.evaluate("document.querySelectorAll('[name^=tick-]').length"))
    for at in range(ticks):
        person.click(f"#tick-{at}")
        page.press(*TAB)
        person.type("looked at, and small")
    if ticks:
        page.press(*TAB)
        person.type("B. Kaya")
    person.click("form[action$='/decide'] button")
    person.wait("location.pathname.startsWith('/releases/')")
    person.said(f"released, {ticks} checks accepted")
    assert "Verified." in page.evaluate("document.body.innerText")
    return person


def main(table: Path, seconds: float = 7_200) -> int:
    folder = Path(tempfile.mkdtemp(prefix="desk-walk-"))
    shutil.copy(table, folder)
    own, its = pty.openpty()
    command = [sys.executable, "-m", "hybrid", "desk", table.name]
    desk = subprocess.Popen(command, cwd=folder, stdin=its, stdout=its, stderr=its)
    try:
        address = address_of(own)
        with browser(Path(tempfile.mkdtemp())) as page:
            person = walk(page, address, seconds)
    finally:
        desk.terminate()
        desk.wait(30)
    return int(person.clicks > MOST_CLICKS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(float, sys.argv[2:])))
