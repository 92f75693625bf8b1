"""Progress reports of long computations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from hybrid.base.language import ENGLISH


class Progress(Protocol):
    """Receiver of progress reports."""

    def __call__(self, step: str, done: int, total: int | None = None, **values: float) -> None:
        """Report that ``done`` of ``total`` units of ``step`` are finished.

        Parameters
        ----------
        step : str
            What is being done, such as ``"fit ctgan"``, and after a colon with which part of it, such as
            ``"evaluate synthetic: linkability"``. No cell values.
        done, total : int
            Units finished and in all; ``total`` None when unknown.
        values : float
            Numbers worth showing, such as ``loss=0.31``.
        """


def silent(step: str, done: int, total: int | None = None, **values: float) -> None:
    """Discard the report."""


def prefixed(prefix: str, progress: Progress) -> Progress:
    """Receiver that passes reports on with a prefix before the step, such as the name of a table."""

    def report(step: str, done: int, total: int | None = None, **values: float) -> None:
        progress(f"{prefix}{step}", done, total, **values)

    return report


class LogProgress:
    """Progress as log lines: at the start of a step, then at intervals with the remaining time.

    ``write`` gets one line, and ``with_fields`` step, done and total, too, as ``extra`` of a log record. ``say`` gives
    the words of a message and what fills its places in the reader's language.
    """

    def __init__(
        self,
        write: Callable[..., None],
        every_seconds: float = 30.0,
        *,
        with_fields: bool = False,
        say: Callable[..., str] = ENGLISH.say,
    ) -> None:
        self._write, self._every, self._with_fields, self._say = write, every_seconds, with_fields, say
        self._begun: dict[str, tuple[float, int]] = {}
        self._last = 0.0

    def __call__(self, step: str, done: int, total: int | None = None, **values: float) -> None:
        now, whole = time.monotonic(), step.partition(": ")[0]
        if whole not in self._begun:
            self._begun[whole] = (now, done)
            line = f"{self._say(whole)} ..."
        elif now - self._last >= self._every:
            shown = [f"{name.replace('_', ' ')} {value:.4g}" for name, value in values.items()]
            counts = {"done": f"{done:,}", "total": f"{total:,}"} if total else {"done": f"{done:,}"}
            words = "{step} {done:number} of {total:number}" if total else "{step} {done:number}"
            reached = self._say(words, step=self._say(step), **counts)
            line = ", ".join([reached, *shown, *self._left(whole, done, total)])
        else:
            return
        self._last = now
        fields = {"extra": {"step": step, "done": done, "total": total}} if self._with_fields else {}
        self._write(line, **fields)

    def _left(self, step: str, done: int, total: int | None) -> list[str]:
        begun, first = self._begun[step]
        if not total or done <= first:
            return []
        seconds = (time.monotonic() - begun) / (done - first) * (total - done)
        if seconds < 90:
            return [self._say("about {n:number} s left", n=f"{seconds:.0f}")]
        return [self._say("about {n:number} min left", n=f"{seconds / 60:.0f}")]
