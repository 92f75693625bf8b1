"""Comparisons and laboratories on the desk, and attacks through what others wrote into their folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from hybrid.base.ownership import seal
from tests.desk.made_results import HOSTILE, SCRIPT, a_comparison, a_laboratory
from tests.desk.open_desk import Visitor, opened


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    a_comparison(folder / "runs", HOSTILE)
    a_comparison(folder / "runs", "changed")
    a_laboratory(folder / "runs", "bench")
    (folder / "secret").mkdir()
    (folder / "secret" / "comparison.json").write_text('{"name": "secret"}')
    (folder / "runs" / "link").symlink_to(folder / "secret")
    with (folder / "runs" / "changed" / "comparison.html").open("a") as file:
        file.write("<b>later</b>")
    return folder


@pytest.fixture(scope="module")
def reader(place: Path) -> Iterator[Visitor]:
    with opened(None, place) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        yield visitor


def test_a_comparison_is_shown_with_its_recommendation(reader: Visitor) -> None:
    assert reader.get("/comparisons").text.count('<li><a href="/comparisons/') == 2
    page = reader.get(f"/comparisons/{quote(HOSTILE)}").text
    assert "recommended" in page and "safest" in page and "<svg" in page and "hybrid compare PLAN --out" in page
    assert "Strongest attack" in page and "c3" in page
    assert "<script" not in page and "style=" not in page and "&lt;script" in page


def test_a_laboratory_is_shown_with_what_can_be_trusted(reader: Visitor) -> None:
    page = reader.get("/laboratories/bench").text
    assert "<b>trusted</b>" in page and "<b>misleading</b>" in page and "40 / 40" in page and "<svg" in page
    assert page.index("<b>trusted</b>") < page.index("<b>misleading</b>")
    german = reader.get("/laboratories/bench", Accept_Language="de").text
    assert "verlässlich" in german and "Fehlalarme" in german and "hybrid lab PLAN" in german


@pytest.mark.parametrize("path", [f"/comparisons/{quote(HOSTILE)}/report", "/laboratories/bench/report"])
def test_a_report_is_shown_without_its_script(path: str, reader: Visitor) -> None:
    answer = reader.get(path)
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200 and SCRIPT in answer.text, "it is the file as it lies there"
    assert "default-src 'none'" in policy and policy.endswith("sandbox allow-same-origin") and "script" not in policy


@pytest.mark.parametrize(
    "path",
    [
        "changed",
        "link",
        "bench",
        "..",
        "%2e%2e",
        "..%2fsecret",
        "bench%2f..%2fchanged",
        "%00",
        "secret",
        "changed/report",
    ],
)
def test_nothing_else_is_shown(path: str, reader: Visitor) -> None:
    answer = reader.get(f"/comparisons/{path}")
    assert answer.status in (404, 409) and "secret" not in answer.text and "later" not in answer.text


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"name": "x", "configurations": 3}',
        '{"schema": "hybrid-league/1", "metrics": [{}]}',
        "[" * 99_999,
        '{"name": "x", "configurations": [], "metrics": [], "recommendation": null, "seeds": 1e999}',
        '{"schema": "hybrid-league/1", "name": "x", "metrics": [], "seeds": 1e999, "risk_models": [], "tables": []}',
    ],
)
def test_a_file_of_something_else_is_refused_and_harms_nothing(content: str, tmp_path: Path) -> None:
    for kind, file, page in (("comparison", "comparison", "comparison"), ("laboratory", "league", "lab")):
        folder = tmp_path / "runs" / kind
        folder.mkdir(parents=True)
        for name in (f"{file}.json", f"{page}.html", "comparison.csv"):
            (folder / name).write_text(content)
        seal(folder, kind, kind)
    with opened(None, tmp_path) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        assert visitor.get("/comparisons/comparison").status == 409
        assert visitor.get("/laboratories/laboratory").status == 409


def test_results_are_no_runs(reader: Visitor) -> None:
    page = reader.get("/runs").text
    assert "There is no run yet." in page and "bench" not in page
