"""A headless Chromium, driven through its DevTools protocol: what a reader sees, clicks and prints."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60
AUDIT = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(
    one => [one.id, one.help, ...one.nodes.map(node => node.html.slice(0, 100))]))"""
WIDE = """[...document.querySelectorAll("body *")].filter(one => one.getBoundingClientRect().right > %d
    && !one.parentElement.closest(".scroll, pre, details:not([open]), .page > nav ol")
).map(one => one.outerHTML.slice(0, 80))"""
"""Elements that reach beyond the window, but for tables, texts and contents that scroll on their own."""


class Page:
    """One page; ``problems`` collects everything that it wrote to its console or threw."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._loaded = self._has_axe = False
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self.socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv(timeout=SECONDS))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            self.problems.append(about["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif event["method"] == "Runtime.consoleAPICalled":
            self.problems.append(str([argument.get("value") for argument in about["args"]]))
        elif event["method"] == "Log.entryAdded":
            self.problems.append(about["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event["method"] == "Page.loadEventFired":
            self._loaded = True

    def open(self, path: Path) -> None:
        self.visit(path.resolve().as_uri())

    def visit(self, address: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=address)
        self.wait()

    def wait(self) -> None:
        """Wait for the page that was navigated to."""
        deadline = time.monotonic() + SECONDS
        while not self._loaded and time.monotonic() < deadline:
            self.evaluate("0")
        assert self._loaded

    def evaluate(self, script: str) -> Any:
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def hover(self, script: str) -> None:
        """Move the pointer onto the middle of an element."""
        self.evaluate(f"({script}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.evaluate(f"(({script}).getBoundingClientRect().toJSON())")
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **place)

    def click(self, script: str) -> None:
        self.hover(script)
        box = self.evaluate(f"(({script}).getBoundingClientRect().toJSON())")
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def press(self, key: str, code: int, text: str = "") -> None:
        typed = {"text": text} if text else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **typed)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def show_at(self, width: int, scheme: str = "light", height: int = 740) -> None:
        """Show pages on a window of a size, light or dark, with axe."""
        if not self._has_axe:
            axe = files("axe_core_python").joinpath("axe.min.js").read_text()
            self.call("Page.addScriptToEvaluateOnNewDocument", source=axe)
            self._has_axe = True
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self._width = width

    def look_as(self, language: str, width: int, scheme: str = "light", *, origin: str) -> None:
        """Show pages of the desk at an origin in a language."""
        self.call("Network.setCookie", name="hybrid-desk-language", value=language, url=origin)
        self.show_at(width, scheme)

    def findings(self) -> list[Any]:
        """What axe objects to on the page, and what reaches beyond the window."""
        return [*self.evaluate(AUDIT), *self.evaluate(WIDE % (self._width + 1))]

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def picture(self, path: Path, width: int = 1300, height: int | None = None, y: int = 0) -> None:
        whole = self.call("Page.getLayoutMetrics")["cssContentSize"]["height"]
        clip = {"x": 0, "y": y, "width": width, "height": height or whole, "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path, *options: str) -> Iterator[Page]:
    """A page of a browser of its own; the test is skipped where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium is installed on this machine")
    command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--remote-debugging-port=0", f"--user-data-dir={folder}", "--window-size=1300,1000", *options]
    process = subprocess.Popen([*command, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connect(_page_address(folder / "DevToolsActivePort"), max_size=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(timeout=SECONDS)


def _page_address(file: Path) -> str:
    """Where the first page listens, once the browser has written its port."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if file.exists() and file.read_text().strip():
            with urlopen(f"http://127.0.0.1:{file.read_text().split()[0]}/json/list") as answer:
                pages = [each for each in json.load(answer) if each["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise TimeoutError("Chromium did not start")
