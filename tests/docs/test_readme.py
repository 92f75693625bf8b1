"""The README stays one screen, and what it shows is what make runs."""

from __future__ import annotations

import re

import pytest

from tests.docs.documentation_pages import ROOT, blocks

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def _recipe(target: str) -> list[str]:
    """Command lines of a target, without the environment's folder."""
    after = re.split(rf"^{target}:.*\n", MAKEFILE, maxsplit=1, flags=re.MULTILINE)[1]
    lines = re.match(r"(?:\t.*\n?)+", after)
    assert lines is not None
    return [re.sub(r"^\t@?(\$\(VENV\)/bin/)?", "", line) for line in lines[0].splitlines()]


def test_it_has_at_most_ninety_lines() -> None:
    assert len(README.splitlines()) <= 90


def test_its_two_commands_are_what_make_demo_runs() -> None:
    commands = [block.splitlines() for block in blocks(README, "") if block.startswith("hybrid demo")]
    assert commands == [_recipe("demo")]


@pytest.mark.parametrize("target", ["demo", "test", "docs"])
def test_the_targets_it_names_exist(target: str) -> None:
    assert f"make {target}" in README
    assert _recipe(target)


@pytest.mark.parametrize("picture", ["docs/assets/pipeline.svg", "docs/assets/report.png"])
def test_its_pictures_are_small_and_load_nothing(picture: str) -> None:
    assert f"]({picture})" in README
    content = (ROOT / picture).read_bytes()
    assert len(content) < 300_000
    assert re.findall(rb"(?:href|src|url)\s*[=(]\s*[\"']?\s*https?:", content) == []
