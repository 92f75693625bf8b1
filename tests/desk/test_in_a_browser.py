"""The desk in a real browser: by keyboard alone, on a phone's width, without a script or another host."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from hybrid.pipeline.config import load_config
from tests.desk.open_desk import opened
from tests.helpers.browser import Page, browser

WIDE = """[...document.querySelectorAll("body *")].filter(one => !one.parentElement.closest(".scroll, pre")
    && one.getBoundingClientRect().right > 361).map(one => one.outerHTML.slice(0, 80))"""
"""Elements that reach beyond a phone's width, but for tables and texts that scroll on their own."""
FIELDS = "input:not([type=hidden]), select"
ENTER, TAB, DOWN = ("Enter", 13, "\r"), ("Tab", 9), ("ArrowDown", 40)


def _until(page: Page, script: str) -> None:
    deadline = time.monotonic() + 60
    while not page.evaluate(script) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert page.evaluate(script), script


def test_a_role_is_decided_by_keyboard_alone(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "own"
    shutil.copytree(folder, copied)
    with opened(copied / "config.yaml", copied) as found, browser(tmp_path / "profile") as page:
        page.visit(found.address)
        page.press(*ENTER)
        _until(page, "location.pathname == '/columns' && document.readyState == 'complete'")
        page.visit(f"http://127.0.0.1:{found.port}/column/age")
        assert page.evaluate("document.activeElement.id") == "role-quasi_identifier"
        page.press(*DOWN)
        page.press(*TAB)
        page.press(*ENTER)
        _until(page, "location.pathname != '/column/age' && document.readyState == 'complete'")
        assert load_config(copied / "config.yaml").data.columns["age"].role == "sensitive"
        page.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=1, mobile=True)
        for screen in ("/columns", "/column/diagnosis", "/runs/first", "/releases"):
            page.visit(f"http://127.0.0.1:{found.port}{screen}")
            assert page.evaluate(WIDE) == [], screen
            assert page.evaluate(f"[...document.querySelectorAll({FIELDS!r})].every(one => one.labels.length == 1)")
            assert page.evaluate("document.querySelectorAll('h1').length") == 1
        assert page.problems == []
        assert all(one.startswith((f"http://127.0.0.1:{found.port}/", "about:")) for one in page.requests)
