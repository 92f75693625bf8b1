"""Every mutant is valid Python that differs in one expression, and a test that notices it kills it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.helpers.mutants import Mutant, Round, all_mutants, failed_tests, judged, mutants_of, order_of_tests, rounds
from tests.helpers.reached import asked

SOURCE = """\
def f(x: int = 2, *, ready: bool = True) -> "list[3]":
    "Text 4."
    size = f"{x + 5}" if x < 6 else "é" + "b"
    match x:
        case 7:
            return not ready
    return max(size, 8.0) if ready and x in (x,) else x // x
""".encode()


def test_sites_are_the_expressions_that_run() -> None:
    found = {(mutant.before, mutant.after) for mutant in mutants_of("hybrid/room/f.py", SOURCE)}
    assert {after for before, after in found if len(before) < 12} == {
        *("(3)", "(False)", "(x <= 6)", "(7)", "(ready)", "(8.5)", "(x not in (x,))", "(x * x)"),
    }
    assert ("max(size, 8.0)", "(min(size, 8.0))") in found
    assert ("ready and x in (x,)", "(ready or x in (x,))") in found


def test_mutants_are_python_and_differ() -> None:
    for mutant in mutants_of("hybrid/room/f.py", SOURCE):
        changed = mutant.apply(SOURCE)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE)), mutant
        assert SOURCE.split(b"\n")[mutant.line - 1] not in changed.split(b"\n"), mutant


@pytest.mark.parametrize("room", ["table", "store"])
def test_a_room_has_sites_and_tests(room: str) -> None:
    found = all_mutants(frozenset({room}))
    assert len(found) > 50 and {mutant.room for mutant in found} == {room}
    split = next(mutant for mutant in all_mutants(frozenset({"table"})) if mutant.file.endswith("/split.py"))
    assert order_of_tests(split)[0] == "tests/table/test_split.py"


def test_tests_that_reach_a_line_are_asked() -> None:
    contexts = [
        "",
        "tests/a/test_b.py::test_c|run",
        "tests/a/test_b.py::test_c|setup",
        "tests/a/test_d.py::test_e[x|y]|run",
    ]
    assert asked(contexts) == ["tests/a/test_b.py::test_c", "tests/a/test_d.py::test_e[x|y]", "tests/a/test_b.py"]


def test_failed_tests_are_read_from_the_summary() -> None:
    output = (
        "FAILED tests/a/test_b.py::test_c[1 - 2] - assert 1 == 2\nERROR tests/a/test_d.py\n1 failed, 1 error in 1 s\n"
    )
    assert failed_tests(output) == ["tests/a/test_b.py::test_c[1 - 2]", "tests/a/test_d.py"]


def test_a_test_that_fails_anyway_kills_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mutant = mutants_of("hybrid/room/f.py", SOURCE)[0]

    def run(_: Path, changed: object, asked: Round, seconds: float) -> tuple[str, list[str]]:
        failing = [test for test in asked.tests if test == "broken" or (changed and test == "good")]
        return ("killed", failing[:1]) if failing else ("survived", [])

    monkeypatch.setattr("tests.helpers.mutants.run_tests", run)
    assert judged(tmp_path, mutant, [Round(("broken", "blind"))], 9) == ("survived", "")
    assert judged(tmp_path, mutant, [Round(("broken", "good"))], 9) == ("killed", "good")
    assert judged(tmp_path, mutant, [Round(("broken",)), Round(("blind",)), Round(("good",))], 9) == ("killed", "good")


def test_deep_generators_are_asked_last_where_they_can_run(tmp_path: Path) -> None:
    mutant = Mutant("hybrid/synthesize/codec.py", 79, 0, 1, "0", "(1)")
    reached = Mock(tests=Mock(return_value=["tests/jobs/test_a.py::test_b", "tests/synthesize/test_codec.py"]))
    without = rounds(mutant, reached, tmp_path / "python")
    assert without[0].tests[0] == without[1].tests[0] == "tests/synthesize/test_codec.py"
    assert without[-1] == Round(("tests/jobs/test_a.py::test_b",))
    with_them = rounds(mutant, reached, Path(sys.executable))
    assert with_them[:-1] == without and with_them[-1].marks == "generators"
    assert "tests/synthesize/test_tabddpm.py" in with_them[-1].tests
