"""What people see before they decide, and sending back, signing and lifting on the page."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest

from hybrid.publication.approvals import NAMESPACE
from hybrid.publication.finished_run import read_run
from hybrid.publication.policy import Policy
from tests.desk.conftest import HOSTILE
from tests.desk.open_desk import OpenDesk, Visitor, opened
from tests.publication.conftest import a_policy, an_evaluation

Own = tuple[Visitor, OpenDesk, Path]
BACK = "/runs/first/back"


def _post(visitor: Visitor, path: str, **fields: str) -> int:
    """Send a form of the run's page, as somebody who has just looked at it."""
    visitor.get("/runs/first")
    if path != BACK and "reason" in fields:
        fields |= visitor.ticks(fields.pop("reason"))
    return visitor.post(path, run=visitor.field("run"), **fields).status


def _commands(found: OpenDesk) -> list[str]:
    lines = [json.loads(line) for line in found.desk.clicks.path.read_text().splitlines()]
    return [line["command"] for line in lines if "command" in line]


def test_a_run_is_sent_back_and_the_next_person_reads_why(own: Own) -> None:
    visitor, found, folder = own
    reason = 'too fine: <img src=x onerror=alert(1)> & "ages"'
    assert _post(visitor, BACK, by="C. Roth", reason=reason) == 303
    page = visitor.get("/runs/first").text
    assert "was sent back by C. Roth" in page and "too fine: &lt;img" in page and "<img" not in page
    assert "comes out only if C. Roth approves" in page
    given = {"run": visitor.field("run"), "by": "D. Okafor", **visitor.ticks("fine")}
    refused = visitor.post("/runs/first/decide", **given)
    assert refused.status == 409 and "nothing was published" in refused.text and "<img" not in refused.text
    assert not list((folder / "releases").glob("20*"))
    assert any(one.startswith("hybrid send-back ") and "--by 'C. Roth'" in one for one in _commands(found))
    assert "sent back" in visitor.get("/releases").text and "<img" not in visitor.get("/releases").text


@pytest.mark.parametrize(("by", "reason"), [("", "why"), ("C. Roth", ""), ("C\u202e Roth", "why"), ("C. Roth", "\x07")])
def test_a_run_is_not_sent_back_by_nobody_or_without_a_reason(by: str, reason: str, own: Own) -> None:
    visitor, _, _ = own
    assert _post(visitor, BACK, by=by, reason=reason) == 409
    assert visitor.post(BACK, by="C. Roth", reason="why", run="another").status == 409
    assert visitor.post(BACK, by="C. Roth", reason="why", token="0" * 64).status == 403
    assert "was sent back" not in visitor.get("/runs/first").text


def test_every_file_of_the_release_was_announced_and_the_next_run_is_compared_with_it(
    own: Own, table: pd.DataFrame
) -> None:
    visitor, _, folder = own
    before = visitor.get("/runs/first").text
    assert "There is no earlier release of this data set" in before and "hybrid difference" in before
    for name in ("C. Roth", "D. Okafor"):
        _post(visitor, "/runs/first/decide", by=name, reason="looked at")
    (release,) = (folder / "releases").glob("20*")
    for path in release.iterdir():
        assert path.name in before, path.name
    run = read_run(folder / "runs" / "first")
    assert all(sha256 in before for sha256 in run.payload.values())
    after = visitor.get("/runs/first").text
    assert f"Compared with {release.name}" in after and "made from the same records" in after
    assert "no metric moved" in after and "<script" not in after and HOSTILE not in after
    assert "Ten rows" in after and "Columns that differ most" in after
    words = set(re.findall(r"[\w.]+", visitor.get(f"/releases/{release.name}").text + after))
    rare = table["diagnosis"].astype(str).value_counts().loc[lambda counts: counts < 5]
    assert not words & {*table["patient_id"].astype(str), *rare.index}
    for file in {path.name for path in release.iterdir()}:
        got = visitor.get(f"/releases/{release.name}/files/{file}")
        assert got.status == 200 and got.text == (release / file).read_text()
        assert got.headers["content-disposition"].startswith("attachment"), "no page of a release runs here"
    for file in ("..%2f..%2fconfig.yaml", "%2e%2e", "nothing.csv"):
        assert visitor.get(f"/releases/{release.name}/files/{file}").status in (404, 409)
    (release / "synthetic.csv").chmod(0o600)
    (release / "synthetic.csv").write_text("changed")
    assert visitor.get(f"/releases/{release.name}/files/synthetic.csv").status == 409
    assert "to compare with" in visitor.get("/runs/first").text, "a changed release is nothing to compare with"
    assert "is signed with key" in after and "that this first release makes" in before


def test_two_people_approve_and_the_same_one_twice_is_refused(own: Own) -> None:
    visitor, _, folder = own
    assert _post(visitor, "/runs/first/decide", by="C. Roth", reason="looked at") == 303
    page = visitor.get("/runs/first").text
    assert "Approved by C. Roth. Approvals still missing: 1." in page and not list((folder / "releases").glob("20*"))
    for name in ("C. Roth", " c. roth"):
        assert _post(visitor, "/runs/first/decide", by=name, reason="again") == 409
        assert visitor.last is not None and "the same person approved this run already" in visitor.last.text
    assert _post(visitor, BACK, by="E. Lind", reason="too fine") == 303
    assert "Sent back by E. Lind on " in visitor.get("/runs").text
    assert _post(visitor, "/runs/first/decide", by="D. Okafor", reason="fine") == 409
    assert not list((folder / "releases").glob("20*")), "two approvals do not lift what the third person said"


def test_an_approver_of_the_roster_signs_on_the_page(make_run: Callable[..., Path], tmp_path: Path) -> None:
    key = tmp_path / "ada"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    approvers = [{"name": "Ada Byron", "key": key.with_suffix(".pub").read_text().strip()}]
    judged_by = Policy.model_validate(a_policy().model_dump() | {"approvers": approvers})
    make_run("first", measured=an_evaluation(copies=0.0017), judged_by=judged_by)
    with opened(None, tmp_path) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        assert "signed approvals only" in visitor.get("/runs/first").text
        assert visitor.get("/runs/first/statement").status == 303, "nothing to sign yet"
        assert _post(visitor, "/runs/first/statement", by="Ada Byron", reason="rare rows looked at") == 303
        page = visitor.get("/runs/first/statement")
        assert "hybrid approve" in page.text and "ssh-keygen -Y sign" in page.text
        about = {"run": visitor.field("run")}
        assert visitor.post("/runs/first/signed", signature="no signature", **about).status == 409
        visitor.get("/runs/first/statement")
        file = tmp_path / "statement.json"
        file.write_text(visitor.get("/runs/first/statement.json").text)
        sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(file)]
        subprocess.run(sign, check=True, capture_output=True)
        signature = (tmp_path / "statement.json.sig").read_text().replace("\n", "\r\n")
        visitor.get("/runs/first/statement")
        done = visitor.post("/runs/first/signed", signature=signature, **about)
        assert done.status == 303, done.text
        assert "signed by key" in visitor.get(done.headers["location"]).text
        assert "PRIVATE" not in found.desk.clicks.path.read_text()


def test_runs_are_shown_side_by_side(make_run: Callable[..., Path], tmp_path: Path) -> None:
    hostile = '"><script>alert(1)<'
    make_run("one")
    make_run(hostile, anonymize={"engine": hostile, "k": 9})
    with opened(None, tmp_path) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        page = visitor.get("/runs").text
        assert page.count('type="checkbox"') == 2 and "<script" not in page
        shown = visitor.get(f"/side-by-side?run=one&run={quote(hostile)}").text
        assert "label-of-a-real-record" not in shown and "secret-place" not in shown
        assert "anonymize.k" in shown and "tstr income" in shown and "<script" not in shown
        assert "hybrid side-by-side" in shown
        for query in ("", "?run=one", "?run=one&run=..", "?run=one&run=%2e%2e%2fwork", "?run=one&run=one"):
            assert visitor.get(f"/side-by-side{query}").status == 409
