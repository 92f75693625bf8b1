"""A mutation sample: change one expression at random, run the tests that reach it, report whether they notice.

`python -m tests.helpers.mutants --n 40 --seed 1` works on copies of the tree; the tree itself is only read. Sites are
drawn with equal probability from all rooms, so that a room weighs as much as it has expressions. One run of all tests
under coverage comes first, unless `--reached` names the record of an earlier one. A mutant that the first environment's
tests leave alive meets its room's tests of deep generators, where the environment with all extras is there.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.helpers.reached import MARKS, Reached, record

ROOT = Path(__file__).resolve().parents[2]
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
KEPT = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").glob("*/test_kept.py"))
"""Tests that compare options, prices and texts with what was kept."""
STATES = ("killed", "survived", "out of time")


@dataclass(frozen=True)
class Mutant:
    """One changed expression; positions are bytes of the file."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def room(self) -> str:
        return self.file.split("/")[1]

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.before}  ->  {self.after}"


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Every mutant of one file: operators, comparisons, numbers, truth values, extremes and conditions."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _expressions(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        changed = _changed(node)
        if changed is not None:
            before, after = " ".join(source[start:end].decode().split()), f"({ast.unparse(changed)})"
            found.append(Mutant(file, node.lineno, start, end, before, after))
    return found


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Expressions that run: no annotations, decorators, patterns, parts of f-strings or checks of equal lengths."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "pattern"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr) or not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _expressions(child)


def _changed(node: ast.expr) -> ast.expr | None:
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[operator]) if type(operator) in SWAPS:
            changed.ops = [SWAPS[type(operator)]()]  # type: ignore[list-item]
        case ast.BinOp(op=operator) if type(operator) in SWAPS and not _is_text(changed):
            changed.op = SWAPS[type(operator)]()  # type: ignore[assignment]
        case ast.BoolOp(op=operator):
            changed.op = SWAPS[type(operator)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            changed.value = not value
        case ast.Constant(value=int(value)):
            changed.value = value + 1
        case ast.Constant(value=float(value)):
            changed.value = value + 0.5
        case ast.Call(func=ast.Name(id=name) as called) if name in NAMES:
            called.id = NAMES[name]
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in NAMES:
            called.attr = NAMES[name]
        case ast.IfExp(test=test):
            changed.test = ast.UnaryOp(ast.Not(), test)
        case _:
            return None
    return changed


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def all_mutants(rooms: frozenset[str]) -> list[Mutant]:
    """The mutants of the named rooms, or of all rooms that have tests."""
    rooms = rooms or frozenset(path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py")))
    named = [(path.relative_to(ROOT).as_posix(), path) for path in sorted((ROOT / "hybrid").rglob("*.py"))]
    return [
        mutant
        for file, path in named
        if file.count("/") > 1 and file.split("/")[1] in rooms
        for mutant in mutants_of(file, path.read_bytes())
    ]


def order_of_tests(mutant: Mutant) -> list[str]:
    """The room's test files, those first that name the mutated module."""
    module = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    stem = module.rpartition(".")[2]
    files = sorted((ROOT / "tests" / mutant.room).rglob("test_*.py"))
    near = sorted(files, key=lambda path: (stem not in path.stem, module not in path.read_text(encoding="utf-8")))
    return [path.relative_to(ROOT).as_posix() for path in near]


@dataclass(frozen=True)
class Round:
    """Tests that are asked at the same time."""

    tests: tuple[str, ...]
    python: str = sys.executable
    marks: str = MARKS


def rounds(mutant: Mutant, reached: Reached, second: Path) -> list[Round]:
    """Tests that may notice a mutant: nearest, own room, other rooms, deep generators."""
    near, room = order_of_tests(mutant), f"tests/{mutant.room}/"
    reaching = reached.tests(mutant.file, mutant.line)
    first = list(dict.fromkeys([*near[:1], *KEPT]))
    own = dict.fromkeys([*(test for test in reaching if test.startswith(room)), *near])
    others = [test for test in reaching if not test.startswith(room)]
    asked = [Round(tuple(first)), Round(tuple(own)), Round(tuple(others))]
    if second.exists():
        asked.append(Round(tuple(deep_tests(mutant.room)), str(second), "generators"))
    return [each for each in asked if each.tests]


def deep_tests(room: str) -> list[str]:
    """Test files of a room that train deep generators, which the first environment cannot."""
    files = sorted((ROOT / "tests" / room).rglob("test_*.py"))
    return [path.relative_to(ROOT).as_posix() for path in files if "mark.generators" in path.read_text("utf-8")]


def run_tests(tree: Path, mutant: Mutant | None, asked: Round, seconds: float) -> tuple[str, list[str]]:
    """Run tests on a copy of the tree, with one mutant in it or none; gives the outcome and the tests that failed."""
    with tempfile.TemporaryDirectory(prefix="hybrid-mutant-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shutil.copytree(tree, folder, dirs_exist_ok=True)
        if mutant is not None:
            path = folder / mutant.file
            path.write_bytes(mutant.apply(path.read_bytes()))
        (folder / "asked.txt").write_text("\n".join(asked.tests), encoding="utf-8")
        options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider"]
        command = [asked.python, "-m", "pytest", *options, "-m", asked.marks, "@asked.txt"]
        environment = {**os.environ, "PYTHONPATH": name}
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=seconds, env=environment, text=True)
        except subprocess.TimeoutExpired:
            return "out of time", []
    if done.returncode == pytest.ExitCode.USAGE_ERROR:
        raise ValueError(f"the record of reached lines is of another tree: {done.stderr.strip()[-200:]}")
    return "survived" if done.returncode in (0, 5) else "killed", failed_tests(done.stdout)


def failed_tests(output: str) -> list[str]:
    """Names of tests, or of files of tests, that pytest's summary says have failed."""
    found = re.findall(r"^(?:FAILED|ERROR) (tests/[^\s\[]+(?:\[.*?\](?= - |$))?)", output, flags=re.MULTILINE)
    return list(dict.fromkeys(found))


def judged(tree: Path, mutant: Mutant, asked: list[Round], seconds: float) -> tuple[str, str]:
    """Outcome of a mutant and the test that killed it, asked round by round within a limit for all.

    A test that fails without the mutant, too, has killed nothing: the others are asked.
    """
    end = time.monotonic() + seconds
    waiting = list(asked)
    while waiting:
        state, failed = run_tests(tree, mutant, waiting[0], max(1, end - time.monotonic()))
        if state == "out of time":
            return state, ""
        if state == "survived":
            waiting.pop(0)
        elif not failed or run_tests(tree, None, replace(waiting[0], tests=tuple(failed)), seconds)[0] == "survived":
            return state, failed[0] if failed else "no test could run"
        else:
            left = tuple(test for test in waiting[0].tests if test not in failed)
            waiting[:1] = [replace(waiting[0], tests=left)] if left else []
    return "survived", ""


def copy_tree(folder: Path) -> None:
    """Copy every file that git knows or would add, so that what is edited meanwhile does not count."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def main() -> int:
    """Draw, run and report; exit status 1 if the tests do not run without a mutant or too few were killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=40, help="mutants to draw (40)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (1)")
    parser.add_argument("--rooms", default="", help="only these, separated by commas (all)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time (1)")
    parser.add_argument("--least", type=float, default=0.9, help="share that must be killed (0.9)")
    parser.add_argument("--seconds", type=float, default=900, help="limit of each mutant (900)")
    parser.add_argument("--reached", type=Path, help="record of the lines that tests reach, made if it is not there")
    second = ROOT / ".venv-all/bin/python"
    parser.add_argument("--second", type=Path, default=second, help="python of the environment with all extras")
    given = parser.parse_args()
    sites = all_mutants(frozenset(filter(None, given.rooms.split(","))))
    drawn = random.Random(given.seed).sample(sites, min(given.n, len(sites)))
    print(f"{len(drawn)} of {len(sites)} sites, seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="hybrid-tree-") as name:
        tree, data = Path(name) / "tree", given.reached or Path(name) / "reached"
        copy_tree(tree)
        if not data.exists() and not record(tree, data, os.cpu_count() or 1):
            print("the tests do not run without a mutant")
            return 1
        return sample(tree, drawn, Reached(data), given)


def sample(tree: Path, drawn: list[Mutant], reached: Reached, given: argparse.Namespace) -> int:
    """Judge the drawn mutants; gives the exit status."""

    def judge(mutant: Mutant) -> str:
        began = time.monotonic()
        state, test = judged(tree, mutant, rounds(mutant, reached, given.second), given.seconds)
        print(f"{state:12}{time.monotonic() - began:5.0f} s  {mutant}  {test}", flush=True)
        return state

    with ThreadPoolExecutor(given.jobs) as pool:
        counts = Counter(pool.map(judge, drawn))
    print(", ".join(f"{state} {counts[state]}" for state in STATES))
    return int(counts["killed"] < given.least * len(drawn))


if __name__ == "__main__":
    sys.exit(main())
