"""Names from others on the terminal: text, whatever they hold."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
from rich.table import Table as Grid

from hybrid.base.errors import DataError
from hybrid.cli import console
from hybrid.cli.console import Terminal, plain
from hybrid.publication.verdict import Check, Verdict

NASTY = "Bob [/x] [bold]b[/] \x1b[2J\x1b[31m \u202egnp.exe :smile:\x07\u200b"
SAFE = r"Bob [/x] [bold]b[/] \x1b[2J\x1b[31m \u202egnp.exe :smile:\x07\u200b"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    stream = io.StringIO()
    for name in ("out", "err"):
        monkeypatch.setattr(console, name, Terminal(file=stream, width=200))
    yield stream
    written = stream.getvalue()
    assert SAFE in written and not set("\x1b\x07\u202e\u200b") & set(written)


def test_lines_and_hints(shown: io.StringIO) -> None:
    console.line("ok", NASTY, NASTY)
    console.out.print(NASTY)


def test_cells_of_tables(shown: io.StringIO) -> None:
    grid = Grid("accepted by", NASTY)
    grid.add_row(NASTY, "x")
    console.out.print(grid)


def test_errors_with_their_values(shown: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRID_SHOW_VALUES", "1")
    console.print_error(DataError(NASTY, hint=NASTY, values=NASTY))


def test_verdicts(shown: io.StringIO) -> None:
    checks = (Check(NASTY, "review", NASTY, NASTY),)
    console.print_verdict(Verdict.of(NASTY, checks), NASTY)


def test_an_equal_verdict_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(verdict: Verdict, before: Verdict | None) -> str:
        stream = io.StringIO()
        monkeypatch.setattr(console, "out", Terminal(file=stream, width=200))
        console.print_verdict(verdict, "first draw", before=before)
        return stream.getvalue()

    one, other = (Verdict.of("mine 1", (Check("copies", status, "some", "k"),)) for status in ("review", "pass"))
    assert "every check ended as after the run" in printed(one, one) and "some" not in printed(one, one)
    for before in (None, other):
        assert "some" in printed(one, before) and "first draw" in printed(one, before)
        assert "as after the run" not in printed(one, before)


def test_steps_where_there_is_no_terminal(shown: io.StringIO) -> None:
    with console.progress() as report:
        report(NASTY, 1, 1)


def test_a_quiet_program_has_no_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(console, "err", Terminal(file=stream))
    console.show_progress(False)
    with console.progress() as report:
        report("fit", 1, 2)
    console.show_progress(True)
    with console.progress() as report:
        report("draw", 1, 2)
    assert stream.getvalue() == "draw ...\n"


def test_warnings_of_the_library(shown: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    package = logging.getLogger("hybrid")
    monkeypatch.setattr(package, "handlers", [])
    console.show_warnings()
    console.show_warnings()
    logging.getLogger("hybrid.publication").warning("release %s has changed", NASTY)
    logging.getLogger("hybrid.publication").info("not shown")
    assert shown.getvalue().count("has changed") == 1 and "not shown" not in shown.getvalue()


def test_colours_still_reach_a_terminal() -> None:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        patch.setattr(console, "out", Terminal(file=stream, force_terminal=True, color_system="standard"))
        console.line("error", "\x1b[2J")
    assert stream.getvalue().startswith("\x1b[31merror") and "\\x1b[2J" in stream.getvalue()


@pytest.mark.parametrize("text", ["", "plain", "Größe\n\tm²", "山田 太郎"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


def test_a_bar_is_there_before_anything_heavy_is_imported() -> None:
    """The first second of a run on a terminal is not silent, since imports alone take longer."""
    script = """
import sys
from hybrid.base import bars
from hybrid.cli import console, main

class Shown(Exception):
    pass

def bar(*_):
    print(sorted({"pandas", "sklearn", "scipy", "numba"} & set(sys.modules)), flush=True)
    raise KeyboardInterrupt

console.bars = bar
console.err._force_terminal = True
main(sys.argv[1:])
"""
    for words in (
        ["run", "c.yaml"],
        ["audit", "--train", "a", "--synthetic", "b"],
        ["compare", "p.yaml"],
        ["tune", "c"],
    ):
        done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
        assert done.stdout == "[]\n" and done.returncode == 1, done.stderr
