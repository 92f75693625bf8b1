"""First lines of docstrings name the thing in the field's terms: a noun phrase or one whole sentence, on one line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUESTION = re.compile(r"(What|Who|Whose|How|Where|Whether|Which|When|Why)\b")
BANNED = re.compile(
    r"\b(mend(s|ed)?|tells?|told|nobody|somebody|whoever|anybody|stands?|stood|goes on|go on|went on|brings? home"
    r"|hangs? together|lets? out|let out|gives? away|hesitat\w*|forgers?|fears?|left behind|asked about|rungs?"
    r"|the first first)\b",
    re.IGNORECASE,
)
"""Idiom that stood for a term of the field in earlier texts."""
NAMED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def faults(line: str) -> list[str]:
    """Violations of the rules by the first line of a docstring."""
    found = []
    if QUESTION.match(line):
        found.append("a question instead of a name")
    if not line.endswith((".", ":", "?", "!")):
        found.append("no sentence")
    found.extend(f"idiom: {match.group(0)}" for match in BANNED.finditer(line))
    return found


def first_lines(source: str) -> Iterator[tuple[int, str]]:
    """Line number and first line of every docstring of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, NAMED):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text.splitlines()[0]


def modules() -> list[str]:
    """Paths of all modules, relative to the tree's root."""
    paths = [path for room in ("hybrid", "flows") for path in (ROOT / room).rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def test_first_lines_of_docstrings_name_the_thing() -> None:
    names = modules()
    assert len(names) > 200
    found = [
        f"{name}:{number}: {', '.join(wrong)}: {line}"
        for name in names
        for number, line in first_lines((ROOT / name).read_text(encoding="utf-8"))
        if (wrong := faults(line))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("Share of records in classes below k.", []),
        ("Whether the table meets the model.", ["a question instead of a name"]),
        ("Nobody is told.", ["idiom: Nobody", "idiom: told"]),
        ("Standard deviation of the telling column", ["no sentence"]),
    ],
)
def test_faults_of_a_line(line: str, wrong: list[str]) -> None:
    assert faults(line) == wrong


def test_docstrings_of_all_kinds_are_read() -> None:
    source = '"""A."""\nclass C:\n    """B.\n\n    More.\n    """\n    async def f(self):\n        """D."""\n'
    assert [line for _, line in first_lines(source)] == ["A.", "B.", "D."]
