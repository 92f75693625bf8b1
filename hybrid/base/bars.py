"""Progress bars on terminals and in notebooks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hybrid.base.language import ENGLISH
from hybrid.base.progress import Progress, silent

if TYPE_CHECKING:
    from rich.console import Console

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories of characters that a terminal obeys, or that are invisible or turn the direction of writing."""


def plain(text: str) -> str:
    r"""Write hidden and control characters as their codes, such as ``\x1b`` and ``\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in _KEPT or unicodedata.category(character) not in _HIDDEN else _code(character)
        for character in text
    )


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()


@contextmanager
def bars(console: Console, say: Callable[[str], str] = ENGLISH.say) -> Iterator[Progress]:
    """Show one bar, that of the step reported last, until the block ends; ``say`` names a step to the reader."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Bars(*columns, console=console, transient=True) as shown_bars:
        tasks: dict[str, object] = {}

        def report(step: str, done: int, total: int | None = None, **values: float) -> None:
            note = "  ".join(f"{name} {value:.4g}" for name, value in values.items())
            if step not in tasks:
                for other in tasks.values():
                    shown_bars.update(other, visible=False)  # type: ignore[arg-type]
                tasks[step] = shown_bars.add_task(plain(say(step)), total=total, note=note)
            shown_bars.update(tasks[step], completed=done, total=total, note=note)  # type: ignore[arg-type]

        yield report


@contextmanager
def shown(progress: Progress | bool) -> Iterator[Progress]:
    """Yield a receiver of progress reports for the time of the block.

    It is ``progress``, if that is one; for True, bars on standard error, where that is a terminal or a notebook.
    """
    if callable(progress):
        yield progress
        return
    console = _console() if progress else None
    if console is None:
        yield silent
        return
    with bars(console) as report:
        report("start", 0)
        yield report


def _console() -> Console | None:
    """Console on which bars can be shown; None without one."""
    from rich.console import Console

    found = Console(stderr=True, markup=False, emoji=False, highlight=False)
    return found if found.is_terminal or found.is_jupyter else None
