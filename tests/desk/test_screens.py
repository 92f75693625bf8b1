"""Walks over the screens: decide the columns, look at a verdict, publish with two people, withdraw."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from hybrid.base.hashing import file_sha256
from hybrid.desk.desk import LANGUAGES, language_of, text, texts
from hybrid.pipeline.config import load_config
from hybrid.pipeline.draft import Draft
from tests.desk.conftest import HOSTILE
from tests.desk.open_desk import OpenDesk, Visitor


def _decide(visitor: Visitor, name: str, role: str) -> str:
    answer = visitor.decide(name, role)
    assert answer.status == 303, answer.text
    return answer.headers["location"]


def test_columns_are_decided_one_by_one_and_signed(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, found, folder = own
    before = (folder / "config.yaml").read_text()
    visitor.get("/columns")
    early = visitor.post("/columns/save", state=visitor.field("state"), name="B. Kaya")
    assert early.status == 409 and "still to decide" in early.text
    for name, column in Draft.read(folder / "config.yaml").columns.items():
        wanted = "quasi_identifier" if name == HOSTILE else column.role
        location = _decide(visitor, name, "insensitive" if wanted == "undecided" else wanted)
    assert location == "/columns" and "Every column is decided" in visitor.get("/columns").text
    visitor.post("/columns/save", state=visitor.field("state"), name="B. Kaya")
    config = load_config(folder / "config.yaml")
    assert config.roles is not None and config.roles.decided_by == "B. Kaya"
    assert (folder / str(config.data.columns[HOSTILE].hierarchy)).is_file()
    assert "Decided by B. Kaya" in visitor.get("/columns").text
    changed = visitor.get("/changes").text
    assert "+roles: {decided_by: B. Kaya" in changed and "hierarchy: hierarchies/" in changed
    after = (folder / "config.yaml").read_text()
    assert len(after.splitlines()) == len(before.splitlines()) + 1, "the file stays as a person would edit it"
    lines = [json.loads(line) for line in found.desk.clicks.path.read_text().splitlines()]
    commands = [line["command"] for line in lines if "command" in line]
    assert any("roles.decided_by=B. Kaya" in command for command in commands)


def test_a_change_is_undone_and_a_stale_page_changes_nothing(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    config = folder / "config.yaml"
    before = config.read_text()
    visitor.get("/column/age")
    stale = visitor.field("state")
    _decide(visitor, "age", "sensitive")
    assert load_config(config).data.columns["age"].role == "sensitive"
    refused = visitor.decide("age", "identifier", state=stale)
    assert refused.status == 409 and "changed since this page was shown" in refused.text
    visitor.get("/changes")
    assert visitor.post("/columns/undo", state=visitor.field("state")).status == 303
    assert config.read_text() == before
    visitor.get("/column/age")
    assert visitor.post("/columns/undo", state=visitor.field("state")).status == 409


def test_a_desk_without_a_release_says_so(own: tuple[Visitor, OpenDesk, Path]) -> None:
    text = own[0].get("/releases").text
    assert text.count("Nothing was released yet") == 1 and "there is no release" not in text


@pytest.mark.parametrize("role", ["", "king", "quasi_identifier\nroles: x"])
def test_a_wrong_role_writes_nothing(role: str, own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    before = (folder / "config.yaml").read_text()
    assert visitor.decide("age", role).status == 409
    assert (folder / "config.yaml").read_text() == before


def test_a_value_of_few_people_is_on_the_screen_of_its_column_alone(
    visitor: Visitor, table: pd.DataFrame, folder: Path
) -> None:
    assert str(table["diagnosis"].iloc[0]) in visitor.get("/column/diagnosis").text
    counts = table["diagnosis"].astype(str).value_counts()
    rare, values = {*counts[counts < 5].index}, {*table["patient_id"].astype(str), *counts.index}
    assert rare and str(counts.index[0]) in visitor.get("/columns").text
    for screen in ("/columns", "/changes", "/check", "/runs", "/runs/first", "/releases"):
        words = set(re.findall(r"[\w.]+", visitor.get(screen).text))
        shown_when_shared = screen in ("/columns", "/runs/first")
        assert not words & ({*table["patient_id"].astype(str)} | rare if shown_when_shared else values), screen
    assert not set(re.findall(r"[\w.]+", (folder / "work" / "desk.jsonl").read_text())) & values


def test_two_people_publish_what_they_saw_and_one_withdraws_it(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, found, folder = own
    page = visitor.get("/runs/first").text
    assert "Approvals that the policy wants: 2. Given: 0." in page and "synthetic.csv" in page
    assert "hybrid approve" in page
    other = visitor.post("/runs/first/decide", by="C. Roth", run="another")
    assert other.status == 409
    visitor.get("/runs/first")
    given = {"run": visitor.field("run"), **visitor.ticks("the table is small")}
    for name in ("C. Roth", "c. roth"):
        visitor.get("/runs/first")
        waits = visitor.post("/runs/first/decide", by=name, **given)
        assert waits.status == (303 if name == "C. Roth" else 409)
    assert not list((folder / "releases").glob("20*"))
    visitor.get("/runs/first")
    done = visitor.post("/runs/first/decide", by="D. Okafor", **given)
    assert done.status == 303, done.text
    where = done.headers["location"]
    assert f'<a href="{where}">' in visitor.get("/runs/first").text, "the run says that it is out"
    shown = visitor.get(where).text
    assert "Verified." in shown and "C. Roth" in shown and "D. Okafor" in shown
    name = where.rpartition("/")[2]
    assert name in visitor.get("/releases").text
    visitor.get(where)
    assert visitor.post(f"{where}/withdraw", by="E. Lind", reason="wrong file", typed="other").status == 409
    assert visitor.post(f"{where}/withdraw", by="E. Lind", reason="wrong file", typed=name).status == 303
    assert "wrong file" in visitor.get(where).text and "withdrawn" in visitor.get("/releases").text
    log = found.desk.clicks.path.read_text()
    assert "hybrid withdraw" in log and "--by 'E. Lind'" in log


def test_a_changed_run_is_not_shown_as_a_verdict(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, folder = own
    with (folder / "runs" / "first" / "synthetic.csv").open("a") as file:
        file.write("x\n")
    answer = visitor.get("/runs/first")
    assert answer.status == 409 and "was changed after the run wrote it" in answer.text


def test_a_run_is_started_and_cancelled(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, found, folder = own
    visitor.get("/runs")
    assert visitor.post("/runs/start").status == 303
    (name,) = found.desk.runner.started
    page = visitor.get(f"/runs/{name}")
    assert "so far" in page.text and page.headers["refresh"] == "5"
    assert "refresh" not in visitor.get(f"/runs/{name}?held").headers and name in visitor.get("/runs").text
    assert visitor.post("/runs/start").status == 409, "one at a time"
    visitor.get("/runs")
    assert visitor.post(f"/runs/{name}/cancel").status == 303
    assert not found.desk.runner.started[name].is_running and not (folder / "runs" / name).exists()
    assert "Continue the run" in visitor.get(f"/runs/{name}").text
    assert "It was cancelled after" in visitor.get("/runs").text


def test_every_text_is_in_every_language() -> None:
    keys = re.findall(r"^(\w+):", Path("hybrid/desk/texts.yaml").read_text(), re.MULTILINE)
    assert len(keys) == len(set(keys)), "a later text would replace an earlier one"
    for key, each in texts().items():
        assert set(each) == set(LANGUAGES), key
        fields = [sorted(re.findall(r"{(\w+)}", one)) for one in each.values()]
        assert fields[0] == fields[1], key
    used = set()
    for page in Path("hybrid/desk/templates").glob("*.html"):
        used |= set(re.findall(r"""\bt\(["'](\w+)["'][,)]""", page.read_text()))
    assert used <= set(texts())
    assert language_of("fr, de;q=0.8") == "de" and language_of("fr") == "en" and language_of("fr", "de") == "de"
    assert text("columns_open", "de", count=3) == "3 offen."


def test_the_language_is_chosen_on_the_page(own: tuple[Visitor, OpenDesk, Path]) -> None:
    visitor, _, _ = own
    assert '<html lang="de">' in visitor.get("/runs", Accept_Language="de-DE").text
    chosen = visitor.post("/language", language="de").headers["set-cookie"].partition(";")[0]
    visitor.cookie = f"{visitor.cookie}; {chosen}"
    assert "Läufe" in visitor.get("/runs").text


@pytest.mark.parametrize("file", ["manifest.json", "evaluation.json", "policy.json", "anonymization.json"])
@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"a":' * 100_000, "[]", "{}", '{"metrics": [{"state": "ok"}]}', "pipe"]
)
def test_a_forged_run_is_a_problem_of_its_line_alone(
    own: tuple[Visitor, OpenDesk, Path], file: str, content: str
) -> None:
    visitor, _, folder = own
    forged = folder / "runs" / "forged"
    shutil.copytree(folder / "runs" / "first", forged)
    (forged / file).unlink()
    if content == "pipe":
        os.mkfifo(forged / file)
    else:
        (forged / file).write_text(content)
    if file != "manifest.json" and content != "pipe":
        manifest = json.loads((forged / "manifest.json").read_text())
        manifest["files"][file]["sha256"] = file_sha256(forged / file)
        (forged / "manifest.json").write_text(json.dumps(manifest))
    page = visitor.get("/runs")
    assert page.status == 200 and "/runs/first" in page.text
    assert visitor.get("/runs/forged").status in (200, 409)
