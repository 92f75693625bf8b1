"""Terminal output: errors, progress, verdicts; every text is printed literally.

The one place where output is escaped. Names of columns, files, people and releases come from others: no markup in them
is interpreted, and no control character reaches the terminal. Colours are given beside a text, never within it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hybrid.base.bars import bars
from hybrid.base.bars import plain as plain
from hybrid.base.errors import HybridError
from hybrid.base.language import ENGLISH, Language, NoTranslation, in_language, language_of
from hybrid.base.logs import writes_json_lines
from hybrid.base.pages import command_of
from hybrid.base.progress import LogProgress, Progress, silent

if TYPE_CHECKING:
    from hybrid.publication.verdict import Verdict


def styled(*parts: str | tuple[str, str]) -> Text:
    """Text of parts, each alone or with its style."""
    return Text.assemble(*((plain(part), "") if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts))


class Terminal(Console):
    """Console without markup and emoji codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, soft_wrap=True, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(plain(text), **options | {"markup": False, "emoji": False})


logger = logging.getLogger(__name__)
JSON_SECONDS = 5.0
"""Least time between two JSON lines of one step."""
out = Terminal()

err = Terminal(stderr=True)

COLORS = {
    "pass": "green",
    "review": "yellow",
    "block": "red",
    "not judged": "magenta",
    "not ruled out": "white",
    "ok": "green",
    "note": "cyan",
    "error": "red",
    "waiting": "yellow",
    "refused": "red",
}


def said(text: str, **facts: object) -> str:
    """A line in the language of ``HYBRID_LANGUAGE``; in English as a whole where its catalogue does not know it.

    With ``facts`` a text with places is a message that they fill, as for :meth:`hybrid.base.language.Language.say`.
    """
    language = language_of(None)
    if (alone := language.alone(text)) is not None:
        return alone
    filling = facts if "{" in text else {}
    try:
        return language.say(text, **filling)
    except NoTranslation:
        return ENGLISH.say(text, **filling)


def figure(text: str) -> str:
    """A number, with its sign, in the form of the language of ``HYBRID_LANGUAGE``."""
    return language_of(None).number(text)


def grid(*heads: str) -> Table:
    """Table of the terminal, whose heads :func:`said` says."""
    return Table(*map(said, heads))


def show(text: str, **facts: object) -> None:
    """Print a line, which :func:`said` says."""
    begin = text[: len(text) - len(text.lstrip("\n "))]
    out.print(f"{begin}{said(text[len(begin) :], **facts)}")


class _Lines(logging.Handler):
    """Warnings of the library as lines on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(said(record.getMessage()))


def show_warnings() -> None:
    """Print warnings of the library through this module, once."""
    package = logging.getLogger("hybrid")
    if not any(isinstance(handler, _Lines) for handler in package.handlers):
        package.addHandler(_Lines(logging.WARNING))


def shows_values() -> bool:
    """True if cell values may be printed: only on a terminal, unless ``HYBRID_SHOW_VALUES`` says 1 or 0."""
    forced = os.environ.get("HYBRID_SHOW_VALUES")
    return sys.stderr.isatty() if forced is None else forced == "1"


def print_error(error: HybridError) -> None:
    """Print every problem with its hint and page, on a terminal with the values; or JSON lines."""
    if writes_json_lines():
        for problem in error.problems:
            logger.error("%s", problem)
        return
    hidden = False
    for problem in error.problems:
        err.print(styled((said(error.title), "bold red"), f"  {said(problem.message)}"))
        if problem.values and shows_values():
            err.print(f"   {said('values:')} {problem.values}")
        hidden |= bool(problem.values) and not shows_values()
        if problem.hint:
            err.print(f"   {said('hint:')} {said(problem.hint)}")
    if hidden:
        err.print(f"   ({said('values are shown on a terminal only, or with HYBRID_SHOW_VALUES=1')})")
    if error.page:
        err.print(f"   {said('read:')} {command_of(error.page)}")


def print_json(content: Any) -> None:
    """Print the one JSON object of a command with ``--json``, in which control characters are escaped."""
    print(json.dumps(content, indent=2, default=str), file=sys.stdout)  # noqa: T201 - rich would wrap and colour it


def line(status: str, text: str, hint: str = "", **facts: object) -> None:
    """Print a line with its status; ``facts`` fill the places of text and hint, which :func:`said` says."""
    tail = f"   {said('hint:')} {said(hint, **facts)}" if hint else ""
    out.print(styled((_padded(said(status), 8), COLORS.get(status, "white")), f"{said(text, **facts)}{tail}"))


def print_verdict(
    verdict: Verdict,
    draw: str = "",
    promise: Sequence[str] = (),
    language: Language = ENGLISH,
    before: Verdict | None = None,
) -> None:
    """Print the verdict, the draw's number, the open checks and the answers to the questions of readers.

    The other checks are counted. ``promise`` has the terms of differential privacy, of which the
    first is on the line of the verdict. All is in one language: English where the catalogue lacks a sentence.
    ``before`` is the verdict that was printed after the run: of an equal one, nothing is printed but that it is equal.
    """

    def drawn(chosen: Language, note: str) -> list[Text | str]:
        parts = _verdict(verdict, draw, promise, chosen) if verdict != before else _same_verdict(verdict, chosen)
        return [*parts, *filter(None, [note])]

    for text in in_language(language, drawn):
        out.print(text)


def _same_verdict(verdict: Verdict, language: Language) -> Iterator[Text | str]:
    status = language.say(verdict.status.upper()), f"bold {COLORS[verdict.status]}"
    yield styled("\n", status, f"   {language.say(f'policy {verdict.policy}')}")
    yield f"  {language.say(_JUDGED_AGAIN)}"


_JUDGED_AGAIN = "Judged again, together with all earlier releases: every check ended as after the run."


def _padded(text: str, width: int) -> str:
    return f"{text} ".ljust(width)


def _verdict(verdict: Verdict, draw: str, promise: Sequence[str], language: Language) -> Iterator[Text | str]:
    from hybrid.publication.lamps import lamps
    from hybrid.publication.power import accepted_sentences, not_tried
    from hybrid.publication.verdict import folded

    say, own = language.say, language.own
    status, colour = say(verdict.status.upper()), f"bold {COLORS[verdict.status]}"
    budget = f"   {say(promise[0])}" if promise else ""
    yield styled("\n", (status, colour), f"   {say(f'policy {verdict.policy}')}{budget}")
    yield from (f"  {say(said)}" for said in promise[1:])
    if draw:
        yield f"  {say(draw)}"
    for check in verdict.open_checks:
        words = f"{own(check.rule)}: {say(check.message)}"
        yield styled("  ", (_padded(say(check.status), 11), COLORS[check.status]), words)
        if to_try := check.to_try(language):
            yield f"             {language.say('try: {hint}', hint=to_try)}"
    yield f"  {say(folded(verdict))}"
    for said in filter(None, (*accepted_sentences(verdict.checks), not_tried(verdict.checks))):
        yield f"  {say(said)}"
    for lamp in lamps(verdict):
        shown = f"{say(lamp.question)} {say(lamp.answer)}"
        yield styled("  ", (_padded(say(lamp.status), 14), COLORS[lamp.status]), shown)
        if lamp.findings:
            yield f"{'':16}{say(lamp.unit)}"
        for found in lamp.findings:
            yield styled(f"{'':16}", (say(found.sentence), COLORS[found.status]))


_quiet = False


def show_progress(wanted: bool) -> None:
    """Say whether :func:`progress` shows anything."""
    global _quiet
    _quiet = not wanted


@contextmanager
def progress() -> Iterator[Progress]:
    """Progress bars on a terminal; elsewhere lines, one every half minute in long steps; or JSON lines, more often."""
    if _quiet:
        yield silent
        return
    if writes_json_lines():
        yield LogProgress(logger.info, JSON_SECONDS, with_fields=True)
        return
    if not err.is_terminal:
        yield LogProgress(lambda line: err.print(line), say=said)
        return
    with bars(err, said) as report:
        report("start", 0)
        yield report
