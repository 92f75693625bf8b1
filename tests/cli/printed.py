"""Texts that the commands print, read in their source: each form that an argument of a printing call can take."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import hybrid.cli

PRINTING = {"line": (1, 2), "show": (0,), "said": (0,), "grid": range(20), "print": (0,), "_stray": (0, 1, 2)}
"""Calls whose arguments at these places reach a terminal, and what they say in the language."""
_WORDS = re.compile(r"[A-Za-z]{2}")


def printed() -> Iterator[tuple[str, str | None]]:
    """Where a text with words is printed, and the text; None where the source does not say which text it is."""
    for path in sorted(Path(hybrid.cli.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for call in (node for node in ast.walk(scope) if isinstance(node, ast.Call)):
                yield from ((f"{path.name}:{call.lineno}", text) for text in _texts(call, tree, scope))


def _texts(call: ast.Call, tree: ast.Module, scope: ast.FunctionDef) -> Iterator[str | None]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    for place in PRINTING.get(name, ()):
        if place >= len(call.args):
            continue
        node = call.args[place]
        forms = _forms(node, tree, scope)
        if forms is None:
            parts = node.values if isinstance(node, ast.JoinedStr) else []
            constants = [one.value for one in parts if isinstance(one, ast.Constant)]
            yield from (None for one in constants if re.search(r"[a-z]{2,} [a-z]{2,}", str(one)))
        else:
            yield from (text.strip("\n ") for text in forms if _WORDS.search(text))


def _forms(node: ast.AST, tree: ast.Module, scope: ast.FunctionDef) -> list[str] | None:
    """Texts that an expression of constants can be; None for every other expression."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else None
    if isinstance(node, ast.FormattedValue):
        return _forms(node.value, tree, scope)
    if isinstance(node, ast.JoinedStr):
        parts = [_forms(one, tree, scope) for one in node.values]
        return None if None in parts else ["".join(one) for one in product(*filter(None, parts))]
    if isinstance(node, ast.IfExp):
        both = _forms(node.body, tree, scope), _forms(node.orelse, tree, scope)
        return None if both[0] is None or both[1] is None else [*both[0], *both[1]]
    if isinstance(node, ast.Name):
        given = [
            _forms(one.value, tree, scope)
            for place in (scope, tree)
            for one in (ast.walk(place) if place is scope else tree.body)
            if isinstance(one, ast.Assign) and any(getattr(target, "id", "") == node.id for target in one.targets)
        ]
        known = [form for form in given if form is not None]
        return [text for form in known for text in form] if given and len(known) == len(given) else None
    return None
