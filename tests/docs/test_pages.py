"""Pages written by hand: links, examples, paths, commands and words."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import typer
import yaml

from hybrid.base.config_files import ConfigSource
from hybrid.cli import app
from hybrid.comparison.plan import ComparePlan
from hybrid.lab.plan import LabPlan
from hybrid.pipeline.config import RunConfig, parse_config
from hybrid.pipeline.links import is_linked
from hybrid.publication.policy import load_policy
from tests.docs.documentation_pages import DOCS, ROOT, anchors, blocks, everything, prose, written

WRITTEN = written()
EVERYTHING = everything()
USED = [page for page in WRITTEN if not page.startswith("developing/")]
"""Pages about the package as it is; recipes add to it, and are executed by a test of their own."""
TOP = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md")}
BANNED = re.compile(
    r"\b(mend(s|ed)?|tells?|told|nobody|somebody|whoever|anybody|stands?|stood|goes on|went on|brings? home"
    r"|hangs? together|gives? away|by heart|at hand)\b",
    re.IGNORECASE,
)
"""Idiom that stood for a term of the field in earlier texts."""
LEAGUE = {"schema": "hybrid-league/1", "name": "shown", "tables": ["people"], "metrics": []}
"""A league for policies that name one."""
MADE = "<!-- made by benchmarks"
"""What follows it on a page is written by a script."""


def _links(text: str) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


@pytest.mark.parametrize("page", EVERYTHING)
def test_every_link_of_the_site_leads_to_a_page_and_a_heading(page: str) -> None:
    pictures = set(re.findall(r'"(evidence/[\w.]+\.svg)"', (DOCS / "hooks" / "build.py").read_text(encoding="utf-8")))
    for link in _links(EVERYTHING[page]):
        path, _, anchor = link.partition("#")
        parts: list[str] = list(PurePosixPath(page).parent.parts)
        for part in PurePosixPath(path).parts:
            if part == "..":
                parts.pop()
            else:
                parts.append(part)
        target = "/".join(parts) if path else page
        assert target in EVERYTHING or target in pictures or (DOCS / target).is_file(), link
        assert not anchor or anchor in anchors(EVERYTHING[target]), link


@pytest.mark.parametrize("name", TOP)
def test_links_of_the_files_at_the_top_lead_to_files(name: str) -> None:
    links = _links(TOP[name])
    assert links
    assert [link for link in links if not (ROOT / link.partition("#")[0]).exists()] == []


def test_pages_of_evidence_alone_are_not_in_the_search() -> None:
    excluded = {page for page, text in EVERYTHING.items() if text.startswith("---\nsearch:\n  exclude: true\n---\n")}
    assert excluded == {page for page in EVERYTHING if page.startswith("evidence/")}


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- ([\w/-]+\.md)$", text, re.MULTILINE))
    assert "Developing: developing/" in text
    assert {page for page in EVERYTHING if not page.startswith("developing/")} == listed


@pytest.mark.parametrize("page", USED)
def test_configurations_shown_are_accepted(page: str, tmp_path: Path) -> None:
    for block in blocks(WRITTEN[page], "yaml"):
        content = yaml.safe_load(block)
        if "base" in content:
            ComparePlan.model_validate(content)
        elif "null_seeds" in content:
            LabPlan.model_validate(content)
        elif "rules" in content or "anonymity" in content:
            if "league" in content:
                (tmp_path / content["league"]).parent.mkdir()
                (tmp_path / content["league"]).write_text(json.dumps(LEAGUE), encoding="utf-8")
            (tmp_path / "policy.yaml").write_text(block, encoding="utf-8")
            load_policy(tmp_path / "policy.yaml")
        elif is_linked(content) or "columns" in content.get("data", {}):
            parse_config(content, ConfigSource(page))
        elif set(content) & set(RunConfig.model_fields):
            RunConfig.model_validate({"data": {"path": "table.csv"}} | content)


def _known(command: Any, words: list[str]) -> tuple[Any, list[str]]:
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", [*USED, *TOP])
def test_commands_shown_exist_with_their_options(page: str) -> None:
    root = typer.main.get_command(app)
    anywhere = {option for parameter in root.params for option in parameter.opts}
    for block in blocks((WRITTEN | TOP)[page], ""):
        for line in block.splitlines():
            words = re.sub(r"^\$ ", "", line.split("  #")[0].strip()).replace("\\", "").split()
            if words[:1] != ["hybrid"]:
                continue
            command, rest = _known(root, [word for word in words[1:] if word not in anywhere])
            assert command is not root, line
            options = {option for part in command.params for option in (*part.opts, *part.secondary_opts)}
            assert [word for word in rest if word.startswith("--") and word not in options] == [], line


@pytest.mark.parametrize("page", [*WRITTEN, *TOP])
def test_paths_of_the_repository_named_on_a_page_exist(page: str) -> None:
    named = re.findall(
        r"`((?:hybrid|tests|benchmarks|configs|hierarchies|deploy|flows|docs)/[\w./-]+|python -m pytest [\w./-]+)`"
        r"|^(?:python -m pytest|python) ([\w./-]+)",
        (WRITTEN | TOP)[page],
        re.MULTILINE,
    )
    for inline, in_block in named:
        path = (inline or in_block).removeprefix("python -m pytest ")
        if "/" in path:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", [*WRITTEN, *TOP])
def test_words_are_those_of_the_field(page: str) -> None:
    text = prose((WRITTEN | TOP)[page].split(MADE)[0])
    found = [
        f"line {number}: {match[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in BANNED.finditer(line)
    ]
    assert found == []


def _terms() -> dict[str, str]:
    return dict(re.findall(r"^([^\n#:].*)\n:   (.+)$", WRITTEN["concepts/glossary.md"], re.MULTILINE))


def test_each_term_of_the_glossary_is_defined_once() -> None:
    terms = re.findall(r"^([^\n#:].*)\n:   ", WRITTEN["concepts/glossary.md"], re.MULTILINE)
    assert len(terms) > 60
    assert [term for term, count in Counter(map(str.lower, terms)).items() if count > 1] == []
    assert all(definition.endswith(".") for definition in _terms().values())


@pytest.mark.parametrize("term", _terms())
def test_each_term_of_the_glossary_is_used_on_another_page(term: str) -> None:
    words = re.escape(term).replace(r"\ ", r"\s+")
    used = re.compile(rf"\b{words}(s|es|d|ed)?\b", re.IGNORECASE)
    assert any(used.search(text) for page, text in EVERYTHING.items() if page != "concepts/glossary.md")


def test_the_installation_page_lists_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = [line for line in WRITTEN["start/install.md"].splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert set(project["optional-dependencies"]) <= listed
