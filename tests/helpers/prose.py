"""Prose in the source of a module: what its strings say, without docstrings, errors, and what varies."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "hybrid"
WORDS = re.compile(r"[A-Za-z][a-z]+,? [a-z]{2,}")
"""Two words: what has none is a key, a name or a format."""
ERRORS = re.compile(r"(Problem|Error|Refused|needs_extra|warning|info|damaged)$")
"""Calls whose texts are for who configures, at a terminal, and stay English."""
HINTS = ("hint", "help", "log")
"""Names of what is said to who configures, too."""


def prose(path: str) -> Iterator[str]:
    """Pieces of text of a module of the package, as they stand between places that are filled in."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    skipped = {node for text in ast.walk(tree) if _is_left_out(text) for node in ast.walk(text)}
    for node in ast.walk(tree):
        if node not in skipped and isinstance(node, ast.Constant) and isinstance(node.value, str):
            for piece in re.split(r"\{[^{}]*\}|\n", node.value):
                if WORDS.search(piece) and not re.search(r"\b(SELECT|INSERT|UPDATE|CREATE|DELETE)\b|class=", piece):
                    yield piece.strip(" .;:,()")


def composed(path: str | Path) -> Iterator[str]:
    """Pieces of text of three words that a module of the package puts together with what varies."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    skipped = {node for text in ast.walk(tree) if _is_left_out(text) for node in ast.walk(text)}
    for text in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) and node not in skipped):
        for piece in text.values:
            if isinstance(piece, ast.Constant) and re.search(r"[A-Za-z]+,? [a-z]+,? [a-z]+", str(piece.value)):
                yield str(piece.value)


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword) and node.arg in HINTS:
        return True
    if isinstance(node, ast.FunctionDef) and node.name in HINTS:
        return True
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").lower() in HINTS:
        return True
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return True
    name = getattr(getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", ""))
    return isinstance(node, ast.Call) and bool(ERRORS.search(name))
