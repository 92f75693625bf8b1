"""One served desk among broken runs and forged releases, and what strangers and the careless send it."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

from hybrid.base.manifest import MANIFEST
from hybrid.desk.runner import JOB
from tests.desk.open_desk import Answer, OpenDesk, Visitor, opened_copy

FORM = "application/x-www-form-urlencoded"
Run = dict[str, Any]


@dataclass
class Besieged:
    """The desk, the person who opened it, its folder, and the name of the one true release."""

    visitor: Visitor
    desk: OpenDesk
    folder: Path
    release: str


def _manifest(**changes: object) -> Callable[[Path], None]:
    return lambda run: _rewritten(run, lambda found: found | changes)


def _rewritten(run: Path, change: Callable[[Run], Run]) -> None:
    file = run / MANIFEST
    file.chmod(0o600)
    file.write_text(json.dumps(change(json.loads(file.read_text()))))


def _content(name: str, text: str) -> Callable[[Path], None]:
    """A file of other content, whose hash in the manifest is renewed."""

    def broken(run: Path) -> None:
        (run / name).unlink()
        (run / name).write_text(text)
        about = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text)}
        _rewritten(run, lambda found: found | {"files": found["files"] | {name: about}})

    return broken


def _text(text: str) -> Callable[[Path], None]:
    return lambda run: _write(run / MANIFEST, text)


def _write(file: Path, text: str) -> None:
    file.unlink()
    file.write_text(text)


def _cut(run: Path) -> None:
    text = (run / MANIFEST).read_text()
    _write(run / MANIFEST, text[: len(text) // 2])


def _linked_away(name: str) -> Callable[[Path], None]:
    def broken(run: Path) -> None:
        (run / name).unlink()
        (run / name).symlink_to("/etc/passwd")

    return broken


def _piped(run: Path) -> None:
    (run / "evaluation.json").unlink()
    os.mkfifo(run / "evaluation.json")


BROKEN: dict[str, Callable[[Path], None]] = {
    "cut": _cut,
    "empty": _text(""),
    "null": _text("null"),
    "list": _text("[]"),
    "deep": _text("[" * 100_000),
    "number": _text("7"),
    "no files": _manifest(files={}),
    "files as a list": _manifest(files=[1]),
    "file without a hash": _manifest(files={"report.html": None}),
    "name as a number": _manifest(name=7),
    "name as a list": _manifest(name=["people"]),
    "created as null": _manifest(created=None),
    "created as a number": _manifest(created=1e400),
    "created as words": _manifest(created="yesterday"),
    "config as null": _manifest(config=None),
    "config as words": _manifest(config="version: 1"),
    "config of a later version": _manifest(config={"version": 99, "later": True}, packages={"hybrid-release": "99.0"}),
    "table as a list": _manifest(table=[]),
    "table without counts": _manifest(table={}),
    "roles as words": _manifest(roles="mine"),
    "columns as null": _manifest(columns=None),
    "stages as null": _manifest(stages=None),
    "draw as words": _manifest(draw="first"),
    "tables as words": _manifest(tables="x"),
    "seal as a number": _manifest(seal=7),
    "missing evaluation": lambda run: (run / "evaluation.json").unlink(),
    "missing report": lambda run: (run / "report.html").unlink(),
    "evaluation as a list": _content("evaluation.json", "[]"),
    "evaluation of a later version": _content("evaluation.json", '{"metrics": [{"name": "later", "state": "new"}]}'),
    "metrics as words": _content("evaluation.json", '{"metrics": "none"}'),
    "a value as words": _content(
        "evaluation.json",
        json.dumps(
            {
                "metrics": [
                    {"name": "identical_match", "family": "privacy", "stage": "synthetic", "direction": "lower"}
                    | {"state": "ok", "value": "a", "ci": ["b", "c"], "reference": {}, "n": None, "details": 7}
                    | {"excess": ["x", "y", "z"], "together": None, "column": None, "seconds": 0}
                ]
            }
        ),
    ),
    "policy as null": _content("policy.json", "null"),
    "policy of a later version": _content("policy.json", '{"name": "new", "version": 99, "rules": [{"later": 1}]}'),
    "anonymization as a list": _content("anonymization.json", "[]"),
    "anonymization with words": _content("anonymization.json", '{"engine": 7, "levels": "x"}'),
    "linked manifest": _linked_away(MANIFEST),
    "linked report": _linked_away("report.html"),
    "linked evaluation": _linked_away("evaluation.json"),
    "piped": _piped,
    '"><img src=x onerror=alert(1)>': _cut,
    "x" * 200: _cut,
    "-rf --work": _cut,
    "\u202egnp.exe": _cut,
}


def _break(folder: Path) -> None:
    """Broken runs of every sort beside a whole one, and jobs of which hardly anything is left."""
    runs = folder / "runs"
    for name, change in BROKEN.items():
        shutil.copytree(runs / "first", runs / name)
        change(runs / name)
    shutil.copytree(runs / "first", runs / os.fsdecode(b"\xff\xfename"))
    (runs / "elsewhere").symlink_to(folder / "work")
    (runs / "looped").symlink_to("looped")
    (runs / "file").write_text("no folder")
    for name, text in (("cut", '{"pid": 1'), ("listed", "[]"), ("\u202ejob", "null")):
        (folder / "work" / "jobs" / name).mkdir(parents=True)
        (folder / "work" / "jobs" / name / JOB).write_text(text)


def _released(visitor: Visitor, folder: Path) -> str:
    for name in ("C. Roth", "D. Okafor"):
        visitor.get("/runs/first")
        visitor.post("/runs/first/decide", run=visitor.field("run"), by=name, **visitor.ticks("looked at"))
    return next((folder / "releases").glob("20*")).name


FORGED = "forged", "renamed", "hollow", "linked", "edited", "<b>bold", "20261127T000000Z-people-0000"


def _forge(folder: Path, release: str) -> None:
    """Folders that look like releases, and are none of the ledger."""
    zone = folder / "releases"
    for name in FORGED:
        if name != "linked":
            shutil.copytree(zone / release, zone / name)
            (zone / name).chmod(0o700)
    (zone / "linked").symlink_to(folder / "work")
    for path in (zone / "hollow").iterdir():
        path.unlink()
    (zone / "edited" / "synthetic.csv").chmod(0o600)
    (zone / "edited" / "synthetic.csv").write_text("forged,table\n")
    certificate = zone / "forged" / "certificate.json"
    certificate.chmod(0o600)
    certificate.write_text(certificate.read_text().replace("people", "others"))


@pytest.fixture(scope="module")
def besieged(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Besieged]:
    with opened_copy(folder, tmp_path_factory.mktemp("besieged")) as (visitor, desk, own):
        release = _released(visitor, own)
        _break(own)
        _forge(own, release)
        yield Besieged(visitor, desk, own, release)


@pytest.fixture(scope="module")
def secrets(besieged: Besieged, table: pd.DataFrame) -> list[str]:
    """Words that no answer may hold."""
    key = (besieged.folder / "work" / "release.key").read_bytes()
    return [
        key.hex(),
        key.decode(errors="replace"),
        "PRIVATE KEY",
        "root:x:",
        "Traceback",
        *map(str, table["patient_id"]),
    ]


def _is_harmless(answer: Answer, secrets: list[str]) -> bool:
    assert answer.status < 500, answer.text
    assert "<img" not in answer.text and "<script" not in answer.text and "<b>bold" not in answer.text
    return not [one for one in secrets if one in answer.text]


def test_the_lists_name_broken_runs_and_show_the_whole_one(besieged: Besieged, secrets: list[str]) -> None:
    page = besieged.visitor.get("/runs")
    assert page.status == 200 and _is_harmless(page, secrets)
    assert 'href="/runs/first"' in page.text and "elsewhere" not in page.text
    for name in BROKEN:
        assert name in unescape(page.text), name
    for screen in ("/", "/columns", "/releases", "/comparisons", "/laboratories", "/check"):
        assert _is_harmless(besieged.visitor.get(screen), secrets), screen


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_has_a_page_that_says_so_and_is_never_published(
    name: str, besieged: Besieged, secrets: list[str]
) -> None:
    path, before = f"/runs/{quote(name, safe='')}", sorted((besieged.folder / "releases").iterdir())
    for part in ("", "/report", "/statement"):
        answer = besieged.visitor.get(path + part)
        assert _is_harmless(answer, secrets), part
    for action in ("decide", "back", "statement", "remedy"):
        answer = besieged.visitor.post(f"{path}/{action}", run="x", by="A", reason="b", signature="c", remedy="d")
        assert answer.status == 409 and _is_harmless(answer, secrets), action
    assert sorted((besieged.folder / "releases").iterdir()) == before


def test_a_folder_without_rights_hides_no_other_run(besieged: Besieged, monkeypatch: pytest.MonkeyPatch) -> None:
    (besieged.folder / "runs" / "locked").mkdir()
    plain = Path.stat

    def refusing(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.parent.name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refusing)
    page = besieged.visitor.get("/runs")
    assert page.status == 200 and 'href="/runs/first"' in page.text and ">locked<" in page.text
    for path in ("/runs/locked", "/comparisons", "/laboratories", "/runs/first", "/releases/locked"):
        assert besieged.visitor.get(path).status in (200, 409), path
    monkeypatch.setattr(Path, "iterdir", lambda path: refusing(path / "locked" / "x"))
    page = besieged.visitor.get("/runs")
    assert page.status == 409 and "this cannot be read or written (Permission denied)" in page.text


@pytest.mark.parametrize("name", FORGED)
def test_what_the_ledger_does_not_hold_is_neither_verified_nor_served(
    name: str, besieged: Besieged, secrets: list[str]
) -> None:
    path = f"/releases/{quote(name, safe='')}"
    page = besieged.visitor.get(path)
    assert page.status == 200 and _is_harmless(page, secrets)
    assert "Verified." not in page.text and "is not in the ledger" in page.text
    for file in ("synthetic.csv", "certificate.json", "report.html", "release.key"):
        assert besieged.visitor.get(f"{path}/files/{file}").status in (404, 409)
    besieged.visitor.get(path)
    assert besieged.visitor.post(f"{path}/withdraw", by="A", reason="b", typed=name).status == 409
    true = besieged.visitor.get(f"/releases/{besieged.release}").text
    assert "Verified." in true
    listed = besieged.visitor.get("/releases").text
    assert f"{quote(name, safe='')}" in listed and "not in the ledger" in listed


HEADS: dict[str, dict[str, str]] = {
    "an origin of null": {"Origin": "null"},
    "an origin with a path": {"Origin": "http://127.0.0.1/x"},
    "an origin in another scheme": {"Origin": "https://127.0.0.1"},
    "a host of IPv6": {"Host": "[::1]"},
    "a host with a user": {"Host": "user@127.0.0.1"},
    "an empty host": {"Host": ""},
    "a host in capitals with a dot": {"Host": "LOCALHOST."},
    "a host of another port": {"Host": "127.0.0.1:1"},
    "a forwarded host": {"X-Forwarded-Host": "evil.example", "Host": "evil.example"},
    "a cookie of bytes": {"Cookie": "hybrid-desk=\xff\xfe"},
    "a cookie without end": {"Cookie": "a=" + "b" * 30_000},
    "a cookie twice": {"Cookie": "hybrid-desk=a; hybrid-desk=b"},
}


@pytest.mark.parametrize("case", HEADS)
def test_strangers_get_nothing(case: str, besieged: Besieged, secrets: list[str]) -> None:
    stranger = besieged.desk.visitor()
    for method, path, body in (("GET", "/columns", None), ("POST", "/runs/start", "form_token=x")):
        given = {"Content-Type": FORM, "Origin": stranger.origin} | HEADS[case]
        host = given.pop("Host", None)
        connection = http.client.HTTPConnection("127.0.0.1", stranger.port, timeout=60)
        connection.putrequest(method, path, skip_host=host is not None)
        for name, value in (given | ({} if host is None else {"Host": host})).items():
            connection.putheader(name, value.encode("latin-1"))
        connection.putheader("Content-Length", str(len(body or "")))
        connection.endheaders((body or "").encode())
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status in (400, 403, 431) and not [one for one in secrets if one in text]
    assert not besieged.desk.desk.runner.started


RAW: dict[str, bytes] = {
    "no request": b"\x00\x01\x02\r\n\r\n",
    "a path of bytes": b"GET /\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a whole address of another host": b"GET http://evil.example/columns HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a path with dots": b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "two lengths": b"POST /runs/start HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\nabc",
    "a length and chunks": b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a negative length": b"POST /runs/start HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "headers without end": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % at for at in range(9_000)),
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "an upgrade": b"GET /columns HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "a version of its own": b"GET /columns HTTP/9.9\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("case", RAW)
def test_what_no_browser_sends_gets_nothing(case: str, besieged: Besieged, secrets: list[str]) -> None:
    with socket.create_connection(("127.0.0.1", besieged.desk.port), timeout=5) as line:
        try:
            line.sendall(RAW[case])
            line.shutdown(socket.SHUT_WR)
            text = b"".join(iter(lambda: line.recv(65_536), b"")).decode(errors="replace")
        except (ConnectionError, TimeoutError):
            text = ""
    assert not text or re.match(r"HTTP/1\.1 4\d\d ", text), text
    assert not [one for one in secrets if one in text]
    assert besieged.visitor.get("/changes").status == 200, "the desk goes on"


PATHS = (
    "/runs/first/../../work/release.key", "/runs/%252e%252e%252fwork", "/runs/first/report-%2e%2e%2fmanifest.html",
    "/runs/first%00.html", "/runs/..;/work", "/runs/first/report-details.html%00.csv", "/runs/%5c..%5c..%5cwork",
    "/runs/elsewhere", "/runs/looped", "/runs/file", "/runs/%ff%fename", "/runs/%C0%AE%C0%AE", "/runs/" + "a" * 20_000,
    "/releases/latest", "/releases/linked/files/release.key", "/releases/%2e/files/withdrawn.json", "/enter?token=%ff",
    "/enter?token=%F0%9F%94%91&token=x", "/enter?token=" + "t" * 30_000, "/runs?held=%3Cscript%3E",
    "/trade-off?k=1e999",
    "/trade-off?k=%00&limit=-inf", "/column/" + "%F0%9F%A7%A8" * 500, "/columns/at/99999999999999999999",
    "/columns/at/-1", "/columns/at/%C2%B2", "/comparisons/first", "/comparisons/..%2ffirst/report",
    "/laboratories/first",
    "/side-by-side?run=cut&run=first", "/side-by-side?run=%ff%fename&run=first", "/style.css?x=" + "y" * 9_000,
    "//evil.example/columns", "/\\evil.example", "/columns/", "/hierarchy/%00", "/tune?x=%0d%0aSet-Cookie:a=b",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_address_shows_what_it_should_not(path: str, besieged: Besieged, secrets: list[str]) -> None:
    answer = besieged.visitor.get(path)
    assert _is_harmless(answer, secrets)
    assert "evil.example" not in answer.headers.get("location", "") and "a=b" not in str(answer.headers)


BODIES: dict[str, str] = {
    "a name of a stranger": "by=%00&reason=x",
    "a name of bytes": "by=%ff%fe&reason=x",
    "half a surrogate": "by=%ed%a0%80&reason=x",
    "turned letters": "by=%e2%80%aeA&reason=x",
    "a name without end": "by=" + "A" * 60_000 + "&reason=x",
    "a reason of lines": "by=A&reason=a%0d%0aSet-Cookie:%20a=b",
    "markup": "by=%3Cscript%3Ealert(1)%3C/script%3E&reason=%3Cimg%20src=x%3E",
    "the run twice": "run=a&by=A&reason=x",
    "ticks that are none": "by=A&tick-0=no&reason-0=x&tick-999=yes",
    "a tick as a number": "by=A&tick-%C2%B2=yes&reason-%C2%B2=x",
    "a signature that is none": "signature=-----BEGIN%20SSH%20SIGNATURE-----%00",
    "nothing": "",
}


@pytest.mark.parametrize("case", BODIES)
def test_no_form_decides_what_its_fields_do_not_say(case: str, besieged: Besieged, secrets: list[str]) -> None:
    before = sorted(one.name for one in (besieged.folder / "releases").iterdir())
    visitor = besieged.visitor
    for action in ("decide", "back", "statement", "signed", "remedy", "cancel"):
        visitor.get("/runs/first")
        body = f"form_token={visitor.token}&run={'0' * 64}&{BODIES[case]}"
        answer = visitor.ask("POST", f"/runs/first/{action}", body, Origin=visitor.origin, Content_Type=FORM)
        assert answer.status in (403, 409) and _is_harmless(answer, secrets), action
        assert "set-cookie" not in answer.headers
    assert sorted(one.name for one in (besieged.folder / "releases").iterdir()) == before
    lines = besieged.desk.desk.clicks.path.read_text()
    assert "\x00" not in lines and "Set-Cookie" not in lines


def test_a_form_is_of_the_session_that_it_was_made_for(besieged: Besieged) -> None:
    """A second link ends the session before, with the forms that it has open; it runs last."""
    visitor, second = besieged.visitor, besieged.desk.visitor()
    visitor.get("/changes")
    old, link = visitor.token, besieged.desk.desk.sessions.new_token()
    page = besieged.desk.address.partition("?")[0]
    assert second.enter(f"{page}?token={link}").status == 200
    assert (
        visitor.post("/runs/start").status == 403 and besieged.desk.visitor().get(f"/enter?token={link}").status == 403
    )
    second.get("/changes")
    assert second.token != old and second.post("/runs/start", token=old).status == 403
    assert not besieged.desk.desk.runner.started
