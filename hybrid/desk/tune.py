"""Screen of the tune: settings chosen by use and by attack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hybrid.base.errors import ConfigError
from hybrid.base.language import Language
from hybrid.base.yaml_document import flow
from hybrid.desk.desk import Desk, command, form_fields
from hybrid.desk.editor import state_of
from hybrid.desk.runner import TUNE
from hybrid.desk.under_way import search_routes
from hybrid.pipeline.draft import Draft
from hybrid.report.charts.exploration import Dot, scatter_chart
from hybrid.tuning.page import applied, read_results


def routes(desk: Desk) -> list[Route]:
    def folder() -> Path:
        return desk.places.work / TUNE / desk.own_editor.read().config.name

    def kept() -> dict[str, Any] | None:
        return read_results(folder())

    def words() -> list[str]:
        return [TUNE, str(desk.own_editor.path), "--no-write", "--work", str(desk.places.work)]

    def shown(request: Request) -> Response:
        editor = desk.own_editor
        draft, found, run = editor.read(), kept(), desk.runner.started.get(TUNE)
        return desk.page(
            request,
            "tune.html",
            moves=run is not None and run.is_running,
            found=found,
            chart=Markup() if found is None else _chart(found, desk.language(request)),
            here=found is not None and all(draft[key] == value for key, value in found["values"].items()),
            run=run,
            state=state_of(draft),
            can_undo=editor.can_undo,
            command=command(*words()),
        )

    def use(request: Request) -> Response:
        editor, found = desk.own_editor, kept()
        state, reason = form_fields(request, "state", "reason")
        if found is None or found["reason"] != reason:
            raise ConfigError("there is no such choice", hint="tune again")

        def action(draft: Draft) -> None:
            draft.keep(applied(draft.document, found["values"], found["reason"]))

        editor.change(state, action)
        changes = [f"{key}={flow(value)}" for key, value in found["values"].items()]
        return desk.done(request, "/changes", command("edit", editor.path, *changes))

    return [
        Route("/tune", shown),
        *search_routes(desk, TUNE, words),
        Route("/tune/use", use, methods=["POST"]),
    ]


def _chart(found: dict[str, Any], language: Language) -> Markup:
    dots = [
        Dot(one["name"], one["value"], one["useful"], filled=one["chosen"], named=one["decided"])
        for one in found["points"]
    ]
    return scatter_chart(
        dots, language.say("AUC (.5: a guess)"), language.say("usefulness (1: as the source)"), language
    )
