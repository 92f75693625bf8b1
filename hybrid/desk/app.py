"""Application of the desk: its pages behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hybrid.base.errors import HybridError
from hybrid.desk import columns, constraints, decisions, hierarchies, releases, results, runs, trade_off, tune
from hybrid.desk.desk import LANGUAGE_COOKIE, Desk
from hybrid.desk.guard import ENTRY, STYLE, Guard, entered
from hybrid.desk.texts import LANGUAGES


def desk_app(desk: Desk, port: int) -> ASGIApp:
    """Make the application.

    Parameters
    ----------
    desk : Desk
        What it shows.
    port : int
        Where it listens; requests for another host or port are refused.

    Returns
    -------
    ASGI application
        Every page of it needs the session that :attr:`Sessions.token` opens.
    """
    cookie = f"hybrid-desk-{port}"

    def enter(request: Request) -> Response:
        value = desk.sessions.enter(request.query_params.get("token", ""))
        if value is None:
            desk.clicks.note("GET", ENTRY, refused="wrong or used token")
            return desk.page(request, "refused.html", 403)
        desk.clicks.note("GET", ENTRY)
        return entered(desk.page(request, "entered.html"), cookie, value)

    def home(_: Request) -> Response:
        return RedirectResponse("/columns" if desk.config is not None else "/runs", 303)

    def style(_: Request) -> Response:
        content = files("hybrid.desk").joinpath("templates/desk.css").read_text(encoding="utf-8")
        return Response(content, media_type="text/css")

    def language(request: Request) -> Response:
        chosen = request.state.form.get("language", "")
        answer = RedirectResponse("/", 303)
        if chosen in LANGUAGES:
            answer.set_cookie(LANGUAGE_COOKIE, chosen, httponly=True, samesite="strict", path="/")
        return answer

    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, HybridError)
        return desk.problem(request, error)

    async def missing(request: Request, _: Exception) -> Response:
        return desk.page(request, "missing.html", 404)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        desk.runner.close()

    pages = Starlette(
        routes=[
            Route("/", home),
            Route(ENTRY, enter),
            Route(STYLE, style),
            Route("/favicon.ico", lambda _: Response(status_code=204)),
            Route("/language", language, methods=["POST"]),
            *columns.routes(desk),
            *hierarchies.routes(desk),
            *constraints.routes(desk),
            *decisions.routes(desk),
            *runs.routes(desk),
            *releases.routes(desk),
            *trade_off.routes(desk),
            *tune.routes(desk),
            *results.routes(desk),
        ],
        exception_handlers={HybridError: known, 404: missing, 405: missing},
        lifespan=lifespan,
    )
    return Guard(pages, desk.sessions, port, desk.clicks)
