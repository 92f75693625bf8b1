"""Every command is in a group, has a help text, and costs no heavy import to list."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
import typer.main
import yaml

import hybrid.cli
from hybrid.cli import MODULES, app
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from tests.cli.cli_jobs import Run

GROUPS = ("Start here", "Data", "Run", "Releases", "Nights", "Compare", "Look")
SUPPORT = {"console", "arguments", "spoken"}
HEAVY = ("numpy", "pandas", "pyarrow", "scipy", "sklearn", "pydantic", "ruamel", "numba", "jinja2", "prefect")
SLOW = ("scipy", "sklearn", "numba", "sqlalchemy", "prefect", "distributed", "torch")


def _commands() -> Iterator[tuple[str, Any]]:
    pending = list(typer.main.get_command(app).commands.items())  # type: ignore[attr-defined]
    while pending:
        name, command = pending.pop(0)
        yield name, command
        pending += [(f"{name} {sub}", below) for sub, below in getattr(command, "commands", {}).items()]


COMMANDS = dict(_commands())


def test_every_module_of_commands_is_registered() -> None:
    found = {module.name for module in iter_modules(hybrid.cli.__path__)}
    assert found - SUPPORT == set(MODULES)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_a_help_text(name: str) -> None:
    command = COMMANDS[name]
    assert (command.help or "").strip(), f"{name} has no help"
    for parameter in command.params:
        assert parameter.name == "help" or (parameter.help or "").strip(), f"{name}: {parameter.name} has no help"


def test_every_command_stands_in_a_panel_of_the_help(capsys: pytest.CaptureFixture[str], hybrid: Run) -> None:
    titles = {name: command.rich_help_panel for name, command in COMMANDS.items() if " " not in name}
    assert set(titles.values()) == set(GROUPS)
    modules = [import_module(f"hybrid.cli.{module}").GROUP for module in MODULES]
    assert sum(len(group.commands) + len(group.families) for group in modules) == len(titles)
    assert hybrid("--help") == 0
    shown = capsys.readouterr().out
    for word in (*GROUPS, *titles):
        assert word in shown


def test_help_begins_with_the_way_from_a_table_to_a_release(capsys: pytest.CaptureFixture[str], hybrid: Run) -> None:
    assert hybrid("--help") == 0
    first = capsys.readouterr().out.split("Start here", 1)[1].split("Data ─", 1)[0]
    names = [line.split()[1] for line in first.splitlines() if line[:1] == "│" and line[2:3].strip()]
    assert names == ["demo", "init", "check", "tune", "run", "release"]


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_that_of_the_package(option: str, capsys: pytest.CaptureFixture[str], hybrid: Run) -> None:
    assert hybrid(option) == 0
    assert capsys.readouterr().out == f"hybrid {version('hybrid-release')}\n"


@pytest.mark.parametrize("words", [("rum", "run"), ("hierarchy", "shwo", "show"), ("run", "--sed", "--seed")])
def test_a_mistyped_word_is_mended_once(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], hybrid: Run
) -> None:
    *typed, meant = words
    assert hybrid(*typed) == 2
    said = capsys.readouterr().err
    assert said.count("Did you mean") == 1 and said.count(f"'{meant}'") == 1


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, contextlib, io\n"
        "from hybrid.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.split() == []


def test_a_run_imports_what_is_slow_only_where_it_is_used() -> None:
    """Every night and every process of a comparison begins with these imports."""
    script = (
        "import sys, hybrid.comparison.trial, hybrid.jobs.run, hybrid.jobs.release\n"
        f"print(*[name for name in {SLOW!r} if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.split() == []


def test_the_schema_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str], hybrid: Run) -> None:
    assert hybrid("schema") == 0
    printed = json.loads(capsys.readouterr().out)
    assert hybrid("schema", "--out", tmp_path / "schema.json") == 0
    assert json.loads((tmp_path / "schema.json").read_text("utf-8")) == printed
    assert "\n# yaml-language-server: $schema=schema.json\n" in capsys.readouterr().out
    assert hybrid("schema", "--facts", "--out", tmp_path / "facts.json") == 0
    assert "yaml" not in capsys.readouterr().out
    assert {"verdict", "metrics", "size"} < set(json.loads((tmp_path / "facts.json").read_text("utf-8"))["required"])


def test_policies_are_listed_and_printed(capsys: pytest.CaptureFixture[str], hybrid: Run) -> None:
    assert hybrid("policies") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in packaged_policies())
    assert hybrid("policies", "show", "hospital") == 0
    printed = Policy.model_validate(yaml.safe_load(capsys.readouterr().out))
    assert printed.sha256 == load_policy(packaged_policies()["hospital"]).sha256, "all rules, those of default included"
    assert hybrid("policies", "show", "none") == 2
    assert "bank, default, hospital, statistics_office" in capsys.readouterr().err
