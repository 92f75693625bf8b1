"""Application of the desk, its pages behind the guard, and its server on this machine alone."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hybrid.base.errors import ConfigError, HybridError
from hybrid.desk import columns, constraints, hierarchies, releases, results, runs, trade_off, tune
from hybrid.desk.desk import LANGUAGE_COOKIE, LANGUAGES, Desk
from hybrid.desk.guard import ENTRY, STYLE, Guard, with_session_cookie


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
        return with_session_cookie(desk.page(request, "entered.html"), cookie, value)

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


ADDRESS = "127.0.0.1"


def serve(desk: Desk, port: int, ready: Callable[[str], None]) -> None:
    """Serve a desk until it is stopped by Ctrl-C.

    Parameters
    ----------
    desk : Desk
        What it shows.
    port : int
        Of 127.0.0.1; 0: a free one.
    ready : callable
        Called with the address that opens the desk once.

    Raises
    ------
    ConfigError
        The port is taken.
    """
    listener, address = listening(desk, port)
    threading.Thread(target=read_ahead, args=(desk,), daemon=True).start()
    ready(address)
    try:
        server_of(desk, listener).run(sockets=[listener])
    finally:
        desk.runner.close()
        listener.close()


def read_ahead(desk: Desk) -> None:
    """Read the table and measure its effect while people open a browser; the first page shows any error."""
    with suppress(Exception):
        desk.effect()


def listening(desk: Desk, port: int) -> tuple[socket.socket, str]:
    """Socket of this machine, and the address for one entry.

    Raises
    ------
    ConfigError
        The port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ConfigError(f"--port {port}: {error.strerror}", hint="choose another, or leave it out") from None
    return listener, f"http://{ADDRESS}:{listener.getsockname()[1]}{ENTRY}?token={desk.sessions.token}"


def server_of(desk: Desk, listener: socket.socket) -> uvicorn.Server:
    """Server of a desk, which writes nothing to the terminal."""
    app = desk_app(desk, int(listener.getsockname()[1]))
    options = {"log_level": "critical", "access_log": False, "server_header": False, "ws": "none"}
    return uvicorn.Server(uvicorn.Config(app, **options))  # type: ignore[arg-type]
