"""The desk in a real browser: five walks by keyboard alone, and an audit of every screen, dark, narrow, printed."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import yaml

from hybrid.pipeline.config import load_config
from hybrid.publication.policy import Policy
from tests.desk.conftest import HOSTILE
from tests.desk.made_results import a_comparison, a_laboratory
from tests.desk.open_desk import OpenDesk, opened
from tests.helpers.browser import Page, browser
from tests.publication.conftest import a_policy, an_evaluation

ENTER, TAB, DOWN, SPACE = ("Enter", 13, "\r"), ("Tab", 9), ("ArrowDown", 40), (" ", 32, " ")
MOST_TABS = 120


def _until(page: Page, script: str) -> None:
    deadline = time.monotonic() + 60
    while not page.evaluate(script) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert page.evaluate(script), script


class Walker:
    """A person with a keyboard and no mouse."""

    def __init__(self, page: Page, found: OpenDesk) -> None:
        self.page, self.origin = page, f"http://127.0.0.1:{found.port}"

    def visit(self, path: str) -> None:
        self.page.visit(self.origin + path)

    def reach(self, selector: str) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(MOST_TABS):
            if self.page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            self.page.press(*TAB)
        raise AssertionError(f"{selector} cannot be reached by Tab")

    def use(self, selector: str) -> None:
        """Reach a link or a button, press Enter, and wait for the next page."""
        self.reach(selector)
        self.page.evaluate("window.before = true")
        self.page.press(*ENTER)
        _until(self.page, "!window.before && document.readyState == 'complete'")

    def fill(self, selector: str, text: str) -> None:
        self.reach(selector)
        self.page.type(text)

    @property
    def path(self) -> str:
        return str(self.page.evaluate("location.pathname"))

    @property
    def text(self) -> str:
        return str(self.page.evaluate("document.body.innerText"))


def _decide_columns(walker: Walker, folder: Path) -> None:
    walker.visit("/columns")
    walker.reach("select[aria-label='Role age']")
    walker.page.press(*DOWN)
    walker.use(".bar button")
    assert load_config(folder / "config.yaml").data.columns["age"].role == "sensitive"
    walker.visit("/changes")
    walker.use("form[action='/columns/undo'] button")
    walker.visit("/column/age")
    assert walker.page.evaluate("document.activeElement.id") == "role-quasi_identifier"
    walker.page.press(*DOWN)
    walker.use("button.main")
    assert load_config(folder / "config.yaml").data.columns["age"].role == "sensitive"
    walker.visit("/changes")
    walker.use("form[action='/columns/undo'] button")
    walker.visit("/column/age")
    walker.use("a.button[href='/hierarchy/age']")
    walker.fill("#start", "1")
    walker.use("form button.main")
    hierarchy = folder / str(load_config(folder / "config.yaml").data.columns["age"].hierarchy)
    assert yaml.safe_load(hierarchy.read_text())["origin"] == 1


def _start_and_cancel(walker: Walker, found: OpenDesk) -> str:
    walker.visit("/runs")
    walker.use("form[action='/runs/start'] button")
    assert walker.path.startswith("/runs/")
    walker.use("form[action$='/cancel'] button")
    (run,) = found.desk.runner.started.values()
    assert not run.is_running
    return f"/runs/{run.folder.name}"


def _read_and_decide(walker: Walker) -> str:
    walker.visit("/runs")
    walker.use("tbody a[href='/runs/first']")
    assert "review" in walker.text
    walker.visit("/runs/first/report")
    walker.use("a[href='report-details.html']")
    assert walker.path == "/runs/first/report-details.html" and "Configuration as resolved" in walker.text
    walker.use("a[href='report.html']")
    assert "Ten rows" in walker.text
    for name in ("C. Roth", "D. Okafor"):
        walker.visit("/runs/first")
        for at in range(int(walker.page.evaluate("document.querySelectorAll('[name^=tick-]').length"))):
            walker.reach(f"#tick-{at}")
            walker.page.press(*SPACE)
            walker.fill(f"#reason-{at}", "the table is small")
        walker.fill("#accept-by", name)
        walker.use("form[action$='/decide'] button")
    assert walker.path.startswith("/releases/"), walker.text
    return walker.path


def _withdraw(walker: Walker) -> None:
    walker.visit("/releases")
    walker.use("tbody a")
    name = walker.path.rpartition("/")[2]
    for field, text in (("#by", "E. Lind"), ("#reason", "wrong file"), ("#typed", name)):
        walker.fill(field, text)
    walker.use("form[action$='/withdraw'] button")
    assert "wrong file" in walker.text


def _needs_a_signature(make_run: Callable[..., Path], copied: Path) -> None:
    """A run under a policy with a roster, beside the others."""
    key = copied / "ada"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    approvers = [{"name": "Ada Byron", "key": key.with_suffix(".pub").read_text().strip()}]
    judged_by = Policy.model_validate(a_policy().model_dump() | {"approvers": approvers})
    made = make_run("signed", measured=an_evaluation(copies=0.0017), judged_by=judged_by, work=copied / "work")
    shutil.move(made, copied / "runs" / "signed")


def test_five_walks_by_keyboard_and_every_screen_for_everybody(
    folder: Path, tmp_path: Path, make_run: Callable[..., Path]
) -> None:
    copied = tmp_path / "own"
    shutil.copytree(folder, copied)
    with opened(copied / "config.yaml", copied) as found, browser(tmp_path / "profile") as page:
        walker = Walker(page, found)
        page.visit(found.address)
        _until(page, "location.pathname == '/columns' && document.readyState == 'complete'")
        _decide_columns(walker, copied)
        cancelled = _start_and_cancel(walker, found)
        shutil.copytree(copied / "runs" / "first", copied / "runs" / "second")
        _needs_a_signature(make_run, copied)
        a_comparison(copied / "runs", "plan")
        a_laboratory(copied / "runs", "bench")
        release = _read_and_decide(walker)
        walker.visit("/runs/second")
        assert "Compared with" in walker.text
        walker.visit("/runs/signed")
        walker.reach("#tick-0")
        page.press(*SPACE)
        walker.fill("#reason-0", "looked at")
        walker.fill("#accept-by", "Ada Byron")
        walker.use("form[action$='/statement'] button")
        _withdraw(walker)
        expected = ("Autofocus processing was blocked",)  # the focus is elsewhere
        assert [problem for problem in page.problems if not any(one in problem for one in expected)] == []
        screens = ["/columns", "/column/age", f"/column/{quote(HOSTILE, safe='')}", "/hierarchy/age", "/hierarchy/sex"]
        screens += ["/columns/constraints", "/changes", "/check", "/runs", "/runs/first", "/releases", release]
        screens += [
            "/trade-off",
            "/tune",
            "/comparisons",
            "/laboratories",
            "/side-by-side",
            "/side-by-side?run=first&run=second",
        ]
        screens += [
            cancelled,
            "/comparisons/plan",
            "/laboratories/bench",
            "/runs/second",
            "/runs/signed",
            "/runs/signed/statement",
        ]
        _look_at(walker, [*screens, "/nowhere", "/runs/absent", "/enter?token=used"])
        walker.visit("/runs/first")
        _print(page)
        assert all(one.startswith((f"{walker.origin}/", "about:")) for one in page.requests)
        (tmp_path / "empty").mkdir()
        with opened(None, tmp_path / "empty") as other:
            page.visit(other.address)
            _until(page, "location.pathname == '/start' && document.readyState == 'complete'")
            _look_at(Walker(page, other), ["/start"])


def _look_at(walker: Walker, screens: list[str]) -> None:
    """Every screen in English on a wide light screen, and in German on a phone in the dark."""
    page = walker.page
    found: dict[str, object] = {}
    for language, scheme, width in (("en", "light", 1300), ("de", "dark", 360)):
        page.look_as(language, width, scheme, origin=walker.origin)
        for screen in screens:
            walker.visit(screen)
            assert page.evaluate("document.documentElement.lang") == language
            assert page.evaluate("document.querySelectorAll('h1').length") == 1
            found |= {f"{screen} {language} {at}": one for at, one in enumerate(page.findings())}
    assert found == {}


def _print(page: Page) -> None:
    page.call("Emulation.setEmulatedMedia", media="print")
    hidden = "[...document.querySelectorAll('header, form')].every(one => getComputedStyle(one).display == 'none')"
    assert page.evaluate(hidden) and page.pdf().startswith(b"%PDF")
