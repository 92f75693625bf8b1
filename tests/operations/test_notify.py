"""Notices to a webhook: what is sent, and that no failure stops a night or shows the address."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from hybrid.operations.notify import Notice, post

NOTICE = Notice("admissions", "refused", "the gate refused it", release="2024-05-01")
TOKEN = "token-7431"


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[tuple[str, str, bytes]]]]:
    """Address of a server, and the path, content type and body of each request; ``/broken`` answers 500."""
    received: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers["Content-Type"], body))
            self.send_response(500 if self.path == "/broken" else 204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_notice_is_posted_as_json(
    webhook: tuple[str, list[tuple[str, str, bytes]]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    address, received = webhook
    monkeypatch.setenv("HOOK", f"{address}/{TOKEN}")
    post(NOTICE, "HOOK")
    [(path, kind, body)] = received
    assert (path, kind) == (f"/{TOKEN}", "application/json")
    assert json.loads(body) == {
        "data_set": "admissions",
        "outcome": "refused",
        "message": "the gate refused it",
        "release": "2024-05-01",
        "run": None,
        "found": [],
    }
    assert caplog.text == ""


def test_a_webhook_that_fails_is_logged_without_its_address(
    webhook: tuple[str, list[tuple[str, str, bytes]]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    address, received = webhook
    monkeypatch.setenv("HOOK", f"{address}/broken")
    post(NOTICE, "HOOK")
    assert len(received) == 1
    assert "the webhook of HOOK was not reached (HTTPError)" in caplog.text
    assert address not in caplog.text


@pytest.mark.parametrize("url", ["", f"file:///etc/{TOKEN}", f"ftp://{TOKEN}@host/x"])
def test_only_http_is_asked(url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("HOOK", url)
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: pytest.fail("a request was made"))
    post(NOTICE, "HOOK")
    assert "the webhook of HOOK was not reached (ValueError)" in caplog.text
    assert TOKEN not in caplog.text


def test_a_silent_webhook_is_given_up_after_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def silent(request: urllib.request.Request, timeout: float) -> None:
        assert timeout == 10
        raise TimeoutError(TOKEN)

    monkeypatch.setenv("HOOK", f"https://host/{TOKEN}")
    monkeypatch.setattr(urllib.request, "urlopen", silent)
    post(NOTICE, "HOOK")
    assert "the webhook of HOOK was not reached (TimeoutError)" in caplog.text
    assert TOKEN not in caplog.text


def test_a_notice_in_words() -> None:
    assert str(NOTICE) == "admissions: refused. the gate refused it"
