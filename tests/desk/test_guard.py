"""Attacks on the desk: from other pages, other hosts, other people; none has an effect."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest

import hybrid
from hybrid.hierarchy.files import read_rows
from hybrid.pipeline.config import load_config
from hybrid.publication.ledger import Ledger
from tests.desk.conftest import HOSTILE
from tests.desk.open_desk import Answer, OpenDesk, Visitor, opened

SCREENS = (
    "/", "/columns", "/column/age", "/changes", "/check", "/runs", "/runs/first", "/releases", "/trade-off",
    "/tune", "/comparisons", "/laboratories",
)  # fmt: skip


def _role(visitor: Visitor, **how: str) -> Answer:
    """Make the age insensitive, as the form of the screen does."""
    return visitor.decide("age", "insensitive", **how)


def _other_method(method: str) -> Callable[[Visitor], Answer]:
    return lambda visitor: visitor.ask(method, "/columns", Origin=visitor.origin)


def _header(name: str, value: str) -> Callable[[Visitor], Answer]:
    return lambda visitor: visitor.get("/columns", **{name: value})


FORM = "application/x-www-form-urlencoded"


def _body(body: str | bytes, kind: str = FORM) -> Callable[[Visitor], Answer]:
    return lambda visitor: visitor.ask("POST", "/columns/save", body, Origin=visitor.origin, Content_Type=kind)


def _twice(visitor: Visitor) -> Answer:
    visitor.get("/columns")
    return _body(f"form_token={visitor.token}&state=x&name=a&name=b")(visitor)


REFUSED: dict[str, Callable[[Visitor], Answer]] = {
    "a form without a token": lambda visitor: _role(visitor, token=""),
    "a form with a wrong token": lambda visitor: _role(visitor, token="0" * 64),
    "a form from another origin": lambda visitor: _role(visitor, origin="https://evil.example"),
    "a form from another port": lambda visitor: _role(visitor, origin="http://127.0.0.1:1"),
    "a form from nowhere": lambda visitor: _role(visitor, origin=""),
    "a form from a sandboxed frame": lambda visitor: _role(visitor, origin="null"),
    "a host that resolves to this machine": lambda visitor: visitor.ask("GET", "/columns", host="evil.example"),
    "that host with the port of the desk": lambda visitor: visitor.ask(
        "GET", "/columns", host=f"evil.example:{visitor.port}"
    ),
    "a page that embeds a screen": _header("Sec_Fetch_Site", "cross-site"),
    "a page on another port of this machine": _header("Sec_Fetch_Site", "same-site"),
    "a form in JSON": _body('{"name": "a"}', "application/json"),
    "a form in plain text": _body("name=a", "text/plain"),
    "a form in parts": _body("--x\r\n\r\n--x--", "multipart/form-data; boundary=x"),
    "a form that is too large": _body("a=" + "x" * 70_000),
    "a form of bytes": _body(b"\xff\xfe=1"),
    "a form with a field twice": _twice,
    "a form of very many fields": _body("&".join(f"label-{at}=x" for at in range(2_100))),
    "a form with the token in its address": lambda visitor: visitor.ask(
        "POST", f"/columns/undo?form_token={visitor.token}", "state=x", Origin=visitor.origin, Content_Type=FORM
    ),
    "a form that another page of this host embeds": lambda visitor: visitor.ask(
        "POST",
        "/columns/undo",
        f"form_token={visitor.token}",
        Origin=visitor.origin,
        Content_Type=FORM,
        Sec_Fetch_Site="none",
    ),
    "a second host behind the first": lambda visitor: visitor.ask(
        "GET", "/columns", host=f"127.0.0.1:{visitor.port}, evil.example"
    ),
    "the method PUT": _other_method("PUT"),
    "the method DELETE": _other_method("DELETE"),
    "the method TRACE": _other_method("TRACE"),
}


@pytest.mark.parametrize("attack", REFUSED)
def test_a_request_of_somebody_else_has_no_effect(attack: str, visitor: Visitor, folder: Path) -> None:
    before = (folder / "config.yaml").read_text()
    answer = REFUSED[attack](visitor)
    assert answer.status == 403 and answer.text.startswith("refused"), answer.text
    assert (folder / "config.yaml").read_text() == before
    assert "access-control-allow-origin" not in answer.headers


def test_a_form_has_at_most_64_kib(visitor: Visitor) -> None:
    largest = "a=" + "x" * (64 * 1024 - 2)
    assert "too large" not in _body(largest)(visitor).text
    assert "too large" in _body(largest + "x")(visitor).text


@pytest.mark.parametrize("screen", (*SCREENS, "/style.css"))
def test_without_the_session_nothing_is_shown(screen: str, open_desk: OpenDesk, visitor: Visitor) -> None:
    for cookie in ("", f"hybrid-desk-{open_desk.port}=guess", visitor.cookie[:-1]):
        stranger = open_desk.visitor()
        stranger.cookie = cookie
        assert stranger.get(screen).status == 403


def test_a_token_opens_the_desk_once(open_desk: OpenDesk, visitor: Visitor) -> None:
    second = open_desk.visitor()
    assert second.enter(open_desk.address).status == 403 and not second.cookie
    for token in ("", "guess", "%00"):
        assert second.get(f"/enter?token={token}").status == 403
    assert visitor.get("/columns").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/runs/..",
        "/runs/%2e%2e",
        "/runs/..%2f..%2fconfig.yaml",
        "/runs/first%2f..%2f..%2fwork",
        "/runs/%2e%2e/report",
        "/runs/first%00/report",
        "/runs/first/report-nothing.html",
        "/runs/first/report-..%2f..%2fconfig.html",
        "/runs/%2e%2e/report-details.html",
        "/releases/..%2fwork",
        "/releases/%2e%2e",
        "/column/..%2f..%2fetc%2fpasswd",
        "/style.css/../../config.yaml",
        "/runs/first/synthetic.csv",
        "/hierarchy/..%2f..%2fconfig.yaml",
        "/hierarchy/patient_id",
        "/runs/first%0d%0aSet-Cookie:%20a=b",
        "/column/age%0d%0aX-Evil:%201",
    ],
)
def test_no_path_leads_out_of_the_lists(path: str, visitor: Visitor) -> None:
    answer = visitor.get(path)
    assert answer.status in (404, 409)
    assert "version: 1" not in answer.text and "root:" not in answer.text
    assert "set-cookie" not in answer.headers and "x-evil" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/columns/save",
        "/columns/undo",
        "/start",
        "/runs/start",
        "/runs/first/decide",
        "/runs/first/remedy",
        "/language",
    ],
)
def test_no_action_is_done_by_a_link(path: str, visitor: Visitor, open_desk: OpenDesk, folder: Path) -> None:
    before = (folder / "config.yaml").read_text()
    assert visitor.get(f"{path}?form_token={visitor.token}&name=a", X_HTTP_Method_Override="POST").status in (
        303,
        404,
        409,
    )
    assert (folder / "config.yaml").read_text() == before and not open_desk.desk.runner.started


@pytest.mark.parametrize("screen", [*SCREENS[1:], f"/column/{quote(HOSTILE, safe='')}"])
def test_names_are_text_on_every_screen(screen: str, visitor: Visitor) -> None:
    answer = visitor.get(screen)
    assert answer.status == 200
    assert "<script" not in answer.text and "onerror" not in answer.text and "javascript:" not in answer.text
    assert "style=" not in answer.text, "the policy of the page forbids inline styles"


def test_every_answer_forbids_scripts_and_frames(visitor: Visitor) -> None:
    for screen in (*SCREENS, "/style.css", "/nowhere", "/runs/first/report", "/runs/first/report-details.html"):
        headers = visitor.get(screen).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src" not in policy
        assert "sandbox" in policy or "frame-ancestors 'none'" in policy
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin" and headers["x-frame-options"] == "DENY"


def test_the_cookie_is_for_this_page_alone(open_desk: OpenDesk, folder: Path) -> None:
    from tests.desk.open_desk import opened

    with opened(None, folder) as other:
        found = other.visitor()
        said = found.enter(other.address).headers["set-cookie"]
        assert "HttpOnly" in said and "SameSite=strict" in said and str(other.port) in said
        assert found.get("/columns").status == 409 and found.get("/runs").status == 200


def test_the_log_names_what_was_refused_and_holds_no_secret(visitor: Visitor, open_desk: OpenDesk) -> None:
    _role(visitor, token="0" * 64)
    log = open_desk.desk.clicks.path
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[-1]["refused"] == "the form is not one of this session" and lines[-1]["path"] == "/column/age"
    assert log.stat().st_mode & 0o777 == 0o600
    value = visitor.cookie.partition("=")[2]
    assert value not in log.read_text() and visitor.token not in log.read_text()
    assert open_desk.address.rpartition("=")[2] not in log.read_text()


def test_a_visitor_cannot_fill_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hybrid.desk import guard

    monkeypatch.setattr(guard, "MOST_REFUSED", 3)
    log = guard.ActionLog(tmp_path)
    for _ in range(10):
        log.note("GET", "/", refused="no")
    log.note("POST", "/runs/start", "hybrid run c.yaml")
    assert len(log.path.read_text().splitlines()) == 4


NAMES = (
    "../runs/start",
    "a/../../trade-off/start",
    "?role=identifier",
    "#main",
    "100%",
    "a b+c",
    "..%2fruns",
    "é\u202ex",
)
"""Names of columns whose form must lead to the page of the column, whatever a browser makes of dots and slashes."""


def test_the_form_of_a_column_leads_to_that_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": range(30)} | {name: ["x", "y", "z"] * 10 for name in NAMES})
    frame.to_csv(tmp_path / "people.csv", index=False)
    hybrid.guess(tmp_path / "people.csv").write(tmp_path / "config.yaml")
    with opened(tmp_path / "config.yaml", tmp_path) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        listed = visitor.get("/columns").text
        links = set(re.findall(r'href="(/column/[^"]*)"', listed))
        for name in NAMES:
            at = visitor.get("/columns/at/" + str(list(frame).index(name))).headers["location"]
            assert at in links and at == f"/column/{quote(name, safe='')}" and not re.search(r"[?#]|/.*/.*/", at)
            page = visitor.get(at).text
            assert f'action="{at}"' in page, name
            assert visitor.post(at, state=visitor.field("state"), role="sensitive", kind="categorical").status == 303
        assert not found.desk.runner.started
    columns = load_config(tmp_path / "config.yaml").data.columns
    assert all(columns[name].role == "sensitive" for name in NAMES)


def _at_once(*actions: Callable[[], int]) -> list[int]:
    with ThreadPoolExecutor(len(actions)) as pool:
        return sorted(future.result() for future in [pool.submit(action) for action in actions])


def test_of_two_decisions_at_once_one_counts(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, found, folder = own
    visitor.get("/column/age")
    form = {"state": visitor.field("state"), "kind": visitor.chosen("kind")}
    roles = ("sensitive", "insensitive", "identifier", "weight")
    answers = _at_once(*(partial(_status, visitor, "/column/age", form | {"role": role}) for role in roles))
    assert answers == [303, 409, 409, 409]
    assert _at_once(*[partial(_status, visitor, "/runs/start", {})] * 3) == [303, 409, 409]
    for name in found.desk.runner.started:
        found.desk.runner.cancel(name)
    visitor.get("/runs/first")
    given = {"run": visitor.field("run"), **visitor.ticks("looked at")}
    assert _status(visitor, "/runs/first/decide", given | {"by": "C. Roth"}) == 303
    people = [given | {"by": name} for name in ("D. Okafor", "D. Okafor", "E. Lind")]
    assert 303 in _at_once(*(partial(_status, visitor, "/runs/first/decide", one) for one in people))
    (release,) = (folder / "releases").glob("20*")
    page = f"/releases/{release.name}"
    visitor.get(page)
    gone = {"by": "E. Lind", "reason": "wrong", "typed": release.name}
    assert 303 in _at_once(*[partial(_status, visitor, f"{page}/withdraw", gone)] * 2)
    assert visitor.get(page).text.count("wrong") >= 1 and len(Ledger(folder / "work").withdrawals()) == 1


def _status(visitor: Visitor, path: str, form: dict[str, str]) -> int:
    """Answer to a form, by a connection of its own."""
    return Visitor(visitor.port, visitor.cookie, visitor.token).post(path, **form).status


HOSTILE_FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/hierarchy/age", {"action": "text", "text": "levels: &a [*a, *a]\n"}),
    ("/hierarchy/age", {"action": "text", "text": "!!python/object/apply:os.system ['true']\n"}),
    ("/hierarchy/age", {"action": "text", "text": "[" * 1_200}),
    ("/hierarchy/age", {"action": "text", "text": "x: " + "{a: " * 2_000}),
    ("/hierarchy/age", {"action": "rule", "sort": "intervals", "widths": "1e999999", "level": "9" * 5_000}),
    ("/hierarchy/age", {"action": "rule", "sort": "intervals", "widths": "0"}),
    ("/hierarchy/age", {"action": "rule", "sort": "intervals", "widths": "nan, inf"}),
    ("/hierarchy/age", {"action": "rule", "sort": "../../x"}),
    ("/hierarchy/age", {"action": "restart", "sort": "../../x"}),
    ("/hierarchy/age", {"action": "regroup", "level": "-1"}),
    ("/hierarchy/sex", {"action": "regroup", "level": "1", "label-0": "\x00", "label-1": "\r\n"}),
    ("/hierarchy/sex", {"action": "remove_level", "level": "²"}),
    ("/hierarchy/sex", {"action": "add_level", "level": "9" * 5_000}),
    ("/changes/set", {"key": "data.columns.age.hierarchy", "value": "[../../../etc/passwd]"}),
    ("/changes/set", {"key": "anonymize.k", "value": "9" * 5_000}),
    ("/changes/set", {"key": "anonymize.models", "value": "[" * 1_200}),
    ("/changes/set", {"key": "." * 2_000, "value": "1"}),
    ("/columns/save", {"output.identifiers": "../x"}),
    ("/columns/save", {"role-0": "king"}),
    ("/columns/save", {"data.person": "../x"}),
    ("/columns/save", {"role-2": "weight", "name": "A\u202eB"}),
    ("/start", {"table": "../config.yaml"}),
    ("/start", {"table": "demo"}),
    ("/runs/start", {"continued": "../first"}),
    ("/runs/first/remedy", {"run": "x", "remedy": "anonymize.k=1"}),
    ("/trade-off/use", {"k": "5", "limit": "nan"}),
    ("/tune/use", {"reason": "none was given"}),
)


@pytest.mark.parametrize("at", range(len(HOSTILE_FORMS)))
def test_hostile_forms_are_refused_with_a_page(at: int, visitor: Visitor, folder: Path) -> None:
    path, form = HOSTILE_FORMS[at]
    kept = {file: file.read_bytes() for file in (folder / "config.yaml", *(folder / "hierarchies").iterdir())}
    page = path if path.startswith("/hierarchy") else "/changes"
    visitor.get(page)
    answer = visitor.post(path, state=visitor.field("state"), **form)
    assert answer.status == 409 and "<h1>" in answer.text and "root:" not in answer.text, answer.text
    assert "<script" not in answer.text
    assert {file: file.read_bytes() for file in kept} == kept


@pytest.mark.parametrize(
    "query",
    [
        "run=" + "x" * 9_000,
        "&".join(["run=first"] * 900),
        "run=first&run=%00",
        "run=first&run=..%2ffirst",
        "run[]=first",
    ],
)
def test_hostile_parameters_of_side_by_side_are_refused(query: str, visitor: Visitor) -> None:
    answer = visitor.get(f"/side-by-side?{query}")
    assert answer.status == 409 and "<script" not in answer.text


def test_labels_with_separators_stay_one_label(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    label = 'a;b,"c" =1+1'
    visitor.get("/hierarchy/sex")
    form = {"action": "regroup", "level": "1", "label-0": label, "label-1": "other"}
    assert visitor.post("/hierarchy/sex", state=visitor.field("state"), **form).status == 303
    assert [row[1] for row in read_rows(folder / "hierarchies" / "sex.csv")] == [label, "other"]
