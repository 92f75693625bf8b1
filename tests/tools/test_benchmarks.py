"""Benchmarks find the modules beside them that they import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("*.py"))
OTHER_TOOLS = {
    *("anonymeter", "mostlyai", "realtabformer", "rpy2", "sdmetrics", "sdv", "syndiffix", "synthcity", "syntheval"),
    *("torch", "transformers"),
}
"""Packages of tools that are measured beside ours, each in an environment of its own."""


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("name", SCRIPTS)
def test_imports_are_found(name: str) -> None:
    known = {path.removesuffix(".py") for path in SCRIPTS} | OTHER_TOOLS
    assert [one for one in _imported(BENCHMARKS / name) if one not in known and find_spec(one) is None] == []
