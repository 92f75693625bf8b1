"""What the code imports is what ``pyproject.toml`` declares: the core by itself, the rest by extras."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MANAGED = {"synthcity", "cloudpickle"}
"""Packages of the managed environments, which hybrid/synthesize/isolation/requirements pins."""
ENCODER = Path("hybrid/lab/encoder/train.py")
"""Imported where an encoder is trained, and nowhere else."""
DISTRIBUTIONS = packages_distributions()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _names(requirements: list[str]) -> set[str]:
    return {_normal(re.split(r"[\s<>=!~;\[(]", requirement, maxsplit=1)[0]) for requirement in requirements}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def _runs(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported."""
    for statement in body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from _runs(statement.orelse)
        elif isinstance(statement, ast.If | ast.Try):
            yield from _runs(statement.body)
        else:
            yield statement


def _imported(statements: Iterator[ast.AST]) -> set[str]:
    found = set()
    for node in statements:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"hybrid", "flows"}


def _distributions(package: str) -> set[str]:
    return {_normal(name) for name in DISTRIBUTIONS.get(package, [package])}


@cache
def _modules() -> dict[Path, ast.Module]:
    return {path.relative_to(ROOT): ast.parse(path.read_text()) for path in (ROOT / "hybrid").rglob("*.py")}


def test_the_core_imports_at_once_only_what_it_depends_on(project: dict[str, Any]) -> None:
    core, extras = _names(project["dependencies"]), project["optional-dependencies"]
    for path, module in _modules().items():
        if "generators" in path.parts or path == ENCODER:
            continue
        at_hand = core | _names(extras["desk"]) if path.parts[1] == "desk" else core
        for package in _imported(_runs(module.body)):
            assert _distributions(package) & at_hand, f"{path} imports {package}"
        asked = {node.module for node in _runs(module.body) if isinstance(node, ast.ImportFrom)}
        assert path.parts[1] == "desk" or not any((name or "").startswith("hybrid.desk") for name in asked), path


def test_every_other_import_comes_with_an_extra(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    declared = _names(project["dependencies"]).union(
        *(_names(extras[name]) for name in extras if name not in ("test", "docs"))
    )
    for path, module in _modules().items():
        for package in _imported(ast.walk(module)) - MANAGED:
            assert _distributions(package) & declared, f"{path} imports {package}"


def test_every_core_dependency_is_imported(project: dict[str, Any]) -> None:
    imported = {
        name
        for module in _modules().values()
        for package in _imported(ast.walk(module))
        for name in _distributions(package)
    }
    assert _names(project["dependencies"]) <= imported


def test_prefect_and_databases_are_extras(project: dict[str, Any]) -> None:
    core, extras = _names(project["dependencies"]), project["optional-dependencies"]
    assert core.isdisjoint({"prefect", "fastapi", "sqlalchemy", "cronsim", "psycopg"})
    assert {"prefect", "fastapi", "sqlalchemy", "cronsim"} <= _names(extras["flows"])
    assert {"sqlalchemy", "psycopg"} <= _names(extras["sql"])
    (everything,) = extras["all"]
    named = set(everything.partition("[")[2].rstrip("]").split(","))
    assert named == set(extras) - {"all", "test", "docs", "supply"}


def test_the_package_is_typed_and_says_so(project: dict[str, Any]) -> None:
    assert (ROOT / "hybrid" / "py.typed").is_file()
    assert "Typing :: Typed" in project["classifiers"]


def test_entry_points_are_those_that_are_installed(project: dict[str, Any]) -> None:
    """An editable installation that is older than ``pyproject.toml`` lacks some: install it again."""
    for group, stated in project["entry-points"].items():
        installed = {entry.name: entry.value for entry in entry_points(group=group)}
        assert installed == stated
        assert all(entry.load() is not None for entry in entry_points(group=group))
