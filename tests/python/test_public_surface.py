"""The public names with their parameters are those of a kept list: they change on purpose only.

``python -m tests.python.public_surface`` writes the list anew.
"""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from typing import Any

import pytest

import hybrid
from tests.docs.documentation_pages import ROOT, blocks
from tests.python.public_surface import KEPT, names


def test_public_names_and_parameters_are_those_that_are_kept() -> None:
    assert names() == KEPT.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("module", ["metrics", "transitions", "techniques", "privacy_models", "hierarchies"])
def test_functions_made_from_registries_are_documented(module: str) -> None:
    found = getattr(hybrid, module)
    functions = [getattr(found, name) for name in dir(found) if name[0].islower()]
    assert len(functions) > 3
    for one in functions:
        doc = inspect.getdoc(one) or ""
        described = set(inspect.signature(one).parameters)
        assert doc.splitlines()[0].endswith("."), one.__name__
        assert {name for name in described if f"\n{name} : " not in f"\n{doc}"} == set(), one.__name__
        assert "Returns\n-------" in doc and "Raises\n------" in doc, one.__name__
    with pytest.raises(AttributeError, match="nonsense"):
        found.nonsense  # noqa: B018


def test_packages_that_can_be_called_have_the_signature_of_their_function() -> None:
    from hybrid.python.synthesis import synthesize

    assert inspect.signature(hybrid.synthesize) == inspect.signature(synthesize)
    assert inspect.getdoc(hybrid.synthesize) == inspect.getdoc(synthesize)
    assert hybrid.synthesize.registry.REGISTRY  # type: ignore[attr-defined]
    assert hybrid.__version__ == "0.1.0"
    assert not [name for name in dir(hybrid) if name in ("Any", "TYPE_CHECKING", "import_module", "annotations")]


TASKS = (ROOT / "docs/guides/python.md").read_text("utf-8").partition("## Five everyday tasks")[2].partition("\n## ")[0]


def _calls(code: str) -> list[tuple[str, list[Any], list[str]]]:
    """Dotted name, positional and named arguments of each call."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return [(ast.unparse(one.func), [*one.args], [str(named.arg) for named in one.keywords]) for one in found]


def _fits(function: Any, positional: list[Any], named: list[str]) -> None:
    inspect.signature(function).bind(*positional, **dict.fromkeys(named))


def test_everyday_tasks_take_at_most_three_lines_of_calls_that_exist() -> None:
    shown = blocks(TASKS, "python")
    assert len(shown) == TASKS.count("\n**") == 5
    for block in shown:
        assert len(block.strip().splitlines()) <= 3
        for name, positional, named in _calls(block):
            first, *rest = name.split(".")
            at: Any = {"hybrid": hybrid, "result": hybrid.Synthesis}.get(first)
            if at is None or "(" in name:
                continue
            for part in rest:
                at = getattr(at, part)
            _fits(at, [None, *positional] if first == "result" else positional, named)


@pytest.mark.anjana
def test_calls_of_the_tools_of_the_extra_exist() -> None:
    homes = {"anjana": "anjana.anonymity", "pycanon": "pycanon.anonymity"}
    for tool, home in homes.items():
        pytest.importorskip(tool, reason="needs the extra [anjana]")
        (row,) = [line for line in TASKS.splitlines() if line.startswith(f"| {tool} | `")]
        for code in re.findall(r"`([^`]+\))`", row):
            ((name, positional, named),) = _calls(code)
            _fits(getattr(import_module(home), name.rpartition(".")[2]), positional, named)
