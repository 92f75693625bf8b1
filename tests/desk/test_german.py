"""Screens of the desk in German: no English sentence, number or day beside data, code and keys."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.desk.conftest import HOSTILE
from tests.desk.made_results import a_comparison, a_laboratory
from tests.desk.open_desk import OpenDesk, Visitor, opened
from tests.helpers.german import not_german, words_of
from tests.pipeline.tables import hospital

SCREENS = (
    *("/columns", "/columns/constraints", "/check", "/changes", "/trade-off", "/tune", "/runs", "/releases"),
    *("/comparisons", "/laboratories", "/runs/none", "/comparisons/none", "/side-by-side?run=first"),
)
OWN = {"A. Meier", "classes are large", "nobody is copied", "people", "hybrid-release", "made", "alarmist", "copies"}
"""Names, and what the policies of the tests say in words of their own."""


def german(visitor: Visitor) -> Visitor:
    visitor.cookie += "; hybrid-desk-language=de"
    return visitor


def check_screens(visitor: Visitor, paths: list[str], data: set[str]) -> None:
    for path in paths:
        page = visitor.get(path).text
        english = set(re.findall(r'<span lang="en">(.*?)</span>', page))
        assert '<html lang="de">' in page and english <= OWN, path
        assert not_german(page, data) == [], path


def pages_of_columns(visitor: Visitor) -> list[str]:
    return sorted(set(re.findall(r'href="(/(?:column|hierarchy)/[^"]+)"', visitor.get("/columns").text)))


def test_guesses_checks_and_a_run_are_german(own: tuple[Visitor, OpenDesk, Path], table: pd.DataFrame) -> None:
    visitor, _, folder = own
    a_comparison(folder / "runs", "compared")
    a_laboratory(folder / "runs", "tried")
    german(visitor)
    data = words_of(folder) | OWN | {HOSTILE, str(folder), "and", *map(str, table.columns)}
    check_screens(visitor, [*SCREENS, "/runs/first", "/comparisons/compared", *pages_of_columns(visitor)], data)
    assert '<section lang="de">' in visitor.get("/runs/first").text, "rows and losses are in the language of the desk"
    report = visitor.get("/runs/first/report").text
    (link,) = re.findall(r'<a href="([^"#]+)"', report)
    for page in (report, visitor.get(f"/runs/first/{link}").text):
        assert '<html lang="de">' in page and not_german(page, data) == []
    assert link == "report-details.de.html" and visitor.get("/runs/first/report.fr.html").status == 409


@pytest.mark.parametrize("path", ["/columns", "/columns/constraints", "/check"])
def test_linked_tables_are_german(path: str, tmp_path: Path) -> None:
    with opened(hospital.write(tmp_path), tmp_path) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        data = words_of(tmp_path) | {str(tmp_path), *hospital.content()["tables"]}
        check_screens(german(visitor), [path], data)
