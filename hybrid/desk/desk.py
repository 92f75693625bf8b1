"""State of one desk, the answers that its screens share, and its texts in every language."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.language import Language, catalogue
from hybrid.base.manifest import MANIFEST
from hybrid.base.regular_file import is_file
from hybrid.desk.editor import AT_ONCE, Editor, Effects, ShownEffect
from hybrid.desk.guard import ActionLog, Sessions
from hybrid.desk.overview import Overviews
from hybrid.desk.runner import Runner
from hybrid.jobs.places import Places

LANGUAGES = ("en", "de")
"""Languages of the catalogue; the first is the default."""


_FIGURE = re.compile(r"[-+±−]?\d[\d.,]*|\d{4}-\d\d-\d\d")


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    content: dict[str, dict[str, str]] = yaml.safe_load(
        files("hybrid.desk").joinpath("texts.yaml").read_text(encoding="utf-8")
    )
    return content


def text(key: str, language: str, **values: object) -> str:
    """One text in a language, with values in its places; numbers and days are written in the language's form.

    Raises
    ------
    KeyError
        There is no such text.
    """
    formed = {name: figure(value, language) for name, value in values.items()}
    return texts()[key][language].format(**formed)


def figure(value: object, language: str) -> str:
    """A number or a day in a language's form; anything else as it is."""
    written = str(value)
    return catalogue(language).number(written) if _FIGURE.fullmatch(written) else written


def said(words: str, language: str) -> Markup:
    """Sentences of findings in a language, or in English, marked as such, where the catalogue does not know them."""
    found = catalogue(language).own(words)
    return (
        escape(found)
        if found != words or language == LANGUAGES[0] or not words
        else Markup('<span lang="en">{}</span>').format(words)
    )


def language_of(accepted: str, chosen: str = "") -> str:
    """The chosen language, else the first of ``Accept-Language`` that the catalogue has."""
    if chosen in LANGUAGES:
        return chosen
    wanted = [part.partition(";")[0].strip()[:2].lower() for part in accepted.split(",")]
    return next((one for one in wanted if one in LANGUAGES), LANGUAGES[0])


LANGUAGE_COOKIE = "hybrid-desk-language"
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox allow-same-origin"
)
"""Policy of reports, which have their styles within. No script of theirs runs here.

As pages of another origin, their links to each other would come without the cookie, and be refused.
"""
RENEWED_SECONDS = 5
"""Seconds after which the browser loads a page again that shows something under way."""
_ROWS = "rows.jsonl"
"""File of comparisons and laboratories, which lie beside runs."""


@dataclass
class Desk:
    """One desk: a configuration, the three zones, one session."""

    config: Path | None
    """The configuration to decide on; None: a person chooses a table first."""
    places: Places
    """Private, operator and public zone."""
    folder: Path = Path()
    """Where a person chooses a table, if there is no configuration."""

    def __post_init__(self) -> None:
        self.sessions = Sessions()
        self.clicks = ActionLog(self.places.work)
        self.notes: tuple[str, ...] = ()
        """What to think about first in a configuration that was just guessed."""
        self.open(self.config)
        self.runner = Runner(self.places)
        self.statements: dict[str, str] = {}
        """Statements of approvals that wait for a signature, by the run they are about."""
        self.templates = Environment(
            loader=PackageLoader("hybrid.desk"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters["segment"] = segment

    def open(self, config: Path | None, notes: tuple[str, ...] = ()) -> None:
        """Take a configuration to decide on.

        Raises
        ------
        HybridError
            It is wrong; the desk stays as it was.
        """
        editor = None if config is None else Editor(config)
        self.config, self.editor, self.notes = config, editor, notes
        self._effects = None if editor is None else Effects(editor)
        self._overviews = None if editor is None else Overviews(editor)

    @property
    def overviews(self) -> Overviews:
        """Overviews of the columns; errors as :attr:`own_editor`."""
        _ = self.own_editor
        assert self._overviews is not None
        return self._overviews

    @property
    def own_editor(self) -> Editor:
        """The editor."""
        if self.editor is None:
            raise ConfigError("this desk has no configuration", hint="hybrid desk CONFIG")
        return self.editor

    def effect(self, most: int = AT_ONCE) -> ShownEffect | None:
        """Effect of the roles as they are (:meth:`Effects.of`); None without a configuration."""
        return None if self._effects is None else self._effects.of(most)

    @staticmethod
    def language(request: Request) -> Language:
        """Language in which a person reads the desk."""
        accepted, chosen = request.headers.get("accept-language", ""), request.cookies.get(LANGUAGE_COOKIE, "")
        return catalogue(language_of(accepted, chosen))

    def page(
        self, request: Request, template: str, status: int = 200, *, moves: bool = False, **values: Any
    ) -> Response:
        """A page; one that ``moves`` is loaded again by the browser every few seconds, unless the person holds it."""
        held = "held" in request.query_params
        spoken = self.language(request)
        language = spoken.code

        def translated(key: str, **named: object) -> str:
            return text(key, language, **named)

        content = self.templates.get_template(template).render(
            t=translated,
            say=lambda words: said(words, language),
            own=spoken.own,
            figure=lambda value: figure(value, language),
            language=language,
            spoken=spoken,
            languages=LANGUAGES,
            has_config=self.config is not None,
            path=request.url.path,
            form_token=self.sessions.form_token,
            moves=moves,
            held=held,
            **values,
        )
        # Names of folders that are no UTF-8 have surrogates.
        shown = content.encode(errors="backslashreplace")
        return HTMLResponse(shown, status, {"Refresh": str(RENEWED_SECONDS)} if moves and not held else None)

    def problem(self, request: Request, error: HybridError) -> Response:
        """Page of the problems of an error, without cell values."""
        if request.method == "POST":
            self.clicks.note("POST", request.url.path, refused=error.problems[0].message)
        return self.page(request, "problem.html", 409, done_by_form=request.method == "POST", problems=error.problems)

    def done(self, request: Request, to: str, command: str) -> Response:
        """Answer to an action: the log has it, the next page follows."""
        self.clicks.note("POST", request.url.path, command)
        return RedirectResponse(to, 303)


def command(*words: object) -> str:
    return shlex.join(["hybrid", *map(str, words)])


def segment(name: str) -> str:
    """Name as one segment of a path, slashes included."""
    return quote(name, safe="", errors="surrogateescape")


def form_fields(request: Request, *names: str) -> list[str]:
    """Fields of the form that was sent."""
    given: dict[str, str] = request.state.form
    missing = [name for name in names if name not in given]
    if missing:
        raise ConfigError(f"the form lacks {', '.join(missing)}", hint="open the page again")
    return [given[name] for name in names]


def known_name(names: Sequence[str], wanted: str, what: str) -> str:
    """The name, if it is one of the known ones: no path is ever made from a request."""
    if wanted not in names:
        raise ConfigError(f"there is no such {what}", hint="go back to the list")
    return wanted


def names_in(folder: Path) -> list[str]:
    """Names of the run folders, oldest first; also of those that cannot be looked into."""
    if not folder.is_dir():
        return []
    found = [one for one in folder.iterdir() if not one.is_symlink() and is_file(one / MANIFEST, unseen=True)]
    found = [one for one in found if not is_file(one / _ROWS)]
    return [one.name for one in sorted(found, key=lambda one: (_written(one), one.name))]


def _written(run: Path) -> float:
    """Time of a run: of its manifest, or of its folder where that may not be looked into."""
    try:
        return (run / MANIFEST).stat().st_mtime
    except OSError:
        return run.lstat().st_mtime


def run_folder(desk: Desk, request: Request) -> Path:
    """Folder of the run that the address names."""
    return desk.places.runs / known_name(names_in(desk.places.runs), request.path_params["name"], "run")
