"""The generated reference is complete: compared with the models and registries themselves."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import hybrid
from docs.hooks.reference import pages
from hybrid.cli import app
from hybrid.comparison.plan import ComparePlan
from hybrid.evaluation.registry import REGISTRY as METRICS
from hybrid.lab.plan import LabPlan
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.synthesize.registry import REGISTRY as GENERATORS
from tests.docs.documentation_pages import ROOT

PAGES = pages()


def _properties(model: Any) -> set[str]:
    """Names of all keys in a model's JSON schema."""
    schema = model.model_json_schema()
    return {name for part in (schema, *schema.get("$defs", {}).values()) for name in part.get("properties", {})}


@pytest.mark.parametrize(
    ("model", "page"),
    [
        (RunConfig, "reference/configuration.md"),
        (ComparePlan, "reference/plan.md"),
        (LabPlan, "reference/lab.md"),
    ],
)
def test_every_key_of_the_schema_is_on_its_page(model: Any, page: str) -> None:
    listed = {key.rsplit(".", 1)[-1] for key in re.findall(r"^\| `([^`]+)` \|", PAGES[page], re.MULTILINE)}
    assert _properties(model) <= listed


def _leaves(content: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in content.items():
        if isinstance(value, dict) and value and prefix + key != "data.columns":
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def test_every_key_of_a_real_configuration_is_listed_with_its_dots() -> None:
    config = load_config(ROOT / "configs" / "quickstart.yaml")
    # Keys below these are names of columns, or the generator's own options.
    free = ("protect.columns.", "synthesize.options.")
    keys = [key for key in _leaves(config.model_dump(mode="json")) if not key.startswith(free)]
    assert len(keys) > 40
    assert [key for key in keys if f"| `{key}` |" not in PAGES["reference/configuration.md"]] == []


def test_keys_without_a_meaning_do_not_occur() -> None:
    lines = [line for line in PAGES["reference/configuration.md"].splitlines() if line.startswith("| `")]
    without = [line for line in lines if line.endswith("|  |")]
    # `model` and `method` choose among alternatives; their heading says which.
    assert [line for line in without if not re.match(r"\| `[^`]*\.(model|method|order)` ", line)] == []


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    if not below:
        yield name, command
    for part, one in below.items():
        yield from _commands(f"{name} {part}", one)


COMMANDS = dict(_commands("hybrid", typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_listed_with_every_option_of_its_help(name: str) -> None:
    section = PAGES["reference/commands.md"].split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
    shown = CliRunner().invoke(app, [*name.split()[1:], "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown.output.split("Options", 1)[-1])) - {"--help"}
    assert [option for option in options if f"`{option}" not in section and f", {option}" not in section] == []


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_listed_with_its_direction(name: str) -> None:
    assert f"| `{name}` | {METRICS[name].direction} |" in PAGES["reference/metrics.md"]


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_is_listed_with_every_option_and_preset(name: str) -> None:
    section = PAGES["reference/generators.md"].split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
    generator = GENERATORS[name]
    for key in [*generator.Options.model_fields, *generator.presets]:
        assert f"| `{key}` |" in section


@pytest.mark.parametrize("name", packaged_policies())
def test_every_shipped_policy_is_a_table_of_its_rules(name: str) -> None:
    section = PAGES["reference/policies.md"].split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
    for rule in load_policy(packaged_policies()[name]).all_rules:
        row = next(line for line in section.splitlines() if line.startswith(f"| **{rule.name}**: "))
        assert all(f"{limit:g}" in row for limit in (rule.review, rule.block) if limit is not None)


@pytest.mark.parametrize("name", hybrid.__all__)
def test_every_public_name_of_python_is_rendered_from_its_docstring(name: str) -> None:
    section = PAGES["reference/python.md"].split(f"\n## hybrid.{name}\n", 1)[1].split("\n## ", 1)[0]
    assert section.strip().startswith("::: hybrid.")
    assert (getattr(hybrid, name).__doc__ or "").strip()


def _public_members(thing: Any) -> list[tuple[str, Any]]:
    """A class with its own public methods and properties, or a function."""
    if inspect.ismodule(thing):
        inside = [(f"{thing.__name__}.{name}", getattr(thing, name)) for name in dir(thing) if name[0].islower()]
        return [(thing.__name__, thing), *([] if callable(thing) else inside)]
    if not inspect.isclass(thing):
        return [(thing.__qualname__, thing)]
    own = [(name, member) for name, member in vars(thing).items() if not name.startswith("_")]
    methods = [(f"{thing.__qualname__}.{name}", member) for name, member in own if _is_method(member)]
    return [(thing.__qualname__, thing), *methods]


def _is_method(member: Any) -> bool:
    return inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod, cached_property))


def _bare_parts_of_protocols() -> Iterator[str]:
    """Protocols of the package, and their methods, without a docstring: read, since some modules need an extra."""
    for path in sorted((ROOT / "hybrid").rglob("*.py")):
        for found in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(found, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in found.bases):
                if found.name.startswith("_"):
                    continue
                methods = [part for part in found.body if isinstance(part, ast.FunctionDef)]
                yield from (
                    f"{path.name}: {found.name}, {part.name}"
                    for part in (found, *methods)
                    if not ast.get_docstring(part)
                )


def test_the_public_api_is_documented() -> None:
    members = [member for name in hybrid.__all__ for member in _public_members(getattr(hybrid, name))]
    assert len(members) > 100
    assert [name for name, member in members if not (getattr(member, "__doc__", None) or "").strip()] == []


def test_every_protocol_is_documented() -> None:
    assert list(_bare_parts_of_protocols()) == []
