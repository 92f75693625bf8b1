"""Every recipe of the chapter Developing, executed on a copy of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.developing.recipe import PAGES, Workshop, blocks_of, patched

RECIPES = sorted(page.name for page in PAGES.glob("add-*.md"))


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.follow("recipes.md")
    made.command("python people.py")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("page", RECIPES)
def test_recipe(workshop: Workshop, page: str) -> None:
    workshop.follow(page)
    assert len(workshop.new) == 1, "a recipe is one new file"
    assert len(workshop.changed) == 1, "and one file that registers it"


def test_every_recipe_is_listed_and_every_listed_one_is_there() -> None:
    listed = re.findall(r"\]\((add-[a-z-]+\.md)\)", (PAGES / "recipes.md").read_text(encoding="utf-8"))
    assert sorted(listed) == RECIPES
    assert len(RECIPES) == 11


@pytest.mark.parametrize("page", RECIPES)
def test_a_recipe_shows_what_its_commands_print(page: str) -> None:
    sessions = [block.text for block in blocks_of(page) if block.language == "console"]
    assert any(line and not line.startswith("$") for session in sessions for line in session.splitlines())


def test_a_diff_without_its_place_is_refused() -> None:
    assert patched("a\nb\n", " a\n+x\n b\n") == "a\nx\nb\n"
    assert patched("a\nb\nc\nd\n", " a\n+x\n@@\n-c\n+y\n") == "a\nx\nb\ny\nd\n"
    for text in ("b\n", "a\na\n"):
        with pytest.raises(AssertionError, match="context"):
            patched(text, " a\n+x\n")
