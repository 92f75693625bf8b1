"""The map of the tree names every room, and nothing that is not there."""

from __future__ import annotations

import re

import pytest

from tests.developing.recipe import PAGES, ROOT

PATH = re.compile(r"`((?:hybrid|flows|tests|docs|configs|hierarchies|benchmarks)/[^`*]*)`")


@pytest.mark.parametrize("page", sorted(page.name for page in PAGES.glob("*.md")))
def test_every_path_on_a_page_is_there(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    made = set(re.findall(r'title="([^"]+)"', text))
    named = set(PATH.findall(text)) - made
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_room_is_on_the_map() -> None:
    text = (PAGES / "map.md").read_text(encoding="utf-8")
    rooms = {path.name for path in (ROOT / "hybrid").iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if f"`hybrid/{room}/`" not in text} == set()


def test_layers_are_those_of_the_contract() -> None:
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^layers = \[(.*?)^\]", contract, re.S | re.M)
    assert listed
    layers = [set(re.findall(r"[\w.]+", line)) for line in re.findall(r'"(.*?)"', listed[1])]
    rows = re.findall(r"^\| (\d+) \| `([^`]+)/` \|", (PAGES / "map.md").read_text(encoding="utf-8"), re.M)
    drawn: dict[int, set[str]] = {}
    for layer, room in rows:
        drawn.setdefault(int(layer), set()).add(room.replace("/", "."))
    assert list(drawn) == sorted(drawn)
    assert list(drawn.values()) == layers
