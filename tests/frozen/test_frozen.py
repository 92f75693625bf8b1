"""Released tables, metrics, checks and levels of small configurations are those that are kept.

``make frozen`` runs these alone. A change that is meant to change results writes them anew with ``KEEP=1`` and names
each difference; one that only moves code changes nothing here.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hybrid.base.language import NOT_TRANSLATED
from hybrid.publication.facts import facts_schema
from tests.frozen.configurations import FROZEN
from tests.frozen.job import result_of
from tests.helpers.german import not_german, words_of

DATA = {"A Person", "Ada Lovelace", "the demo's authors", "classes are large", "other"}
"""What the configurations and policies of the tests say in words of their own."""
FOLDER = Path(__file__).parents[1] / "data" / "frozen"


@pytest.mark.parametrize("name", FROZEN)
def test_nothing_moved(name: str, tmp_path: Path) -> None:
    found, path = result_of(FROZEN[name], tmp_path), FOLDER / f"{name.replace(' ', '_')}.json"
    assert found
    check_facts(tmp_path)
    check_pages(tmp_path)
    if os.environ.get("KEEP"):
        path.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n")
    kept = json.loads(path.read_text())
    assert list(found) == list(kept)
    for part, content in found.items():
        assert content == kept[part], part


def check_facts(folder: Path) -> None:
    """The facts of a run fit their schema, and are those of its other files."""
    for file in folder.rglob("facts.json"):
        facts, manifest = json.loads(file.read_text()), json.loads((file.parent / "manifest.json").read_text())
        assert [error.message for error in Draft202012Validator(facts_schema()).iter_errors(facts)] == []
        assert facts["size"]["rows"] == manifest["table"]["rows"] and facts["name"] == manifest["name"]
        assert '"seed"' not in json.dumps(facts["config"])
        evaluation = json.loads((file.parent / "evaluation.json").read_text())
        private = manifest["config"].get("privacy") is not None
        assert facts["verdict"]["status"] == ("withheld" if private else evaluation["verdict"]["status"])
        assert len(facts["metrics"]) == (0 if private else len(evaluation["metrics"]))
        assert ("records" in facts["size"]) != private and (facts["differences"] == []) >= private


def check_pages(folder: Path) -> None:
    """Every page is German as a whole, and leads to German ones; English ones beside them say so in their names."""
    data = words_of(folder) | DATA
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        language = "en" if page.name.endswith(".en.html") else "de"
        assert f'<html lang="{language}">' in text and NOT_TRANSLATED not in text, page.name
        for link in re.findall(r'<a href="([^"#]+\.html)"', text):
            assert f'<html lang="{language}">' in (page.parent / link).read_text(encoding="utf-8"), (page.name, link)
        if language == "de":
            assert not_german(text, data) == [], page.name


def test_each_file_belongs_to_a_configuration() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {name.replace(" ", "_") for name in FROZEN}
