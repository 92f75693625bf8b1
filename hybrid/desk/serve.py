"""Application of the desk, its pages behind the guard, and its server on this machine alone."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hybrid.base.errors import ConfigError, DataError, HybridError
from hybrid.base.sentence import sentence
from hybrid.desk import columns, constraints, hierarchies, releases, results, runs, start, trade_off, tune
from hybrid.desk.desk import LANGUAGE_COOKIE, LANGUAGES, Desk
from hybrid.desk.guard import ENTRY, STYLE, Guard, with_session_cookie


def desk_app(desk: Desk, port: int) -> ASGIApp:
    """Application whose pages need the session that :attr:`Sessions.token` opens, on this host and port alone."""
    cookie = f"hybrid-desk-{port}"

    def enter(request: Request) -> Response:
        value = desk.sessions.enter(request.query_params.get("token", ""))
        if value is None:
            desk.clicks.note("GET", ENTRY, refused="wrong or used token")
            return desk.page(request, "refused.html", 403)
        desk.clicks.note("GET", ENTRY)
        return with_session_cookie(desk.page(request, "entered.html"), cookie, value)

    def home(_: Request) -> Response:
        return RedirectResponse("/columns" if desk.config is not None else "/start", 303)

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

    async def unreadable(request: Request, error: Exception) -> Response:
        assert isinstance(error, OSError)
        said = sentence("file.unreadable", file=str(error.filename), error=str(error.strerror))
        return desk.problem(request, DataError(said, hint="look at the rights of its folder"))

    async def missing(request: Request, _: Exception) -> Response:
        return desk.page(request, "missing.html", 404)

    pages = Starlette(
        routes=[
            Route("/", home),
            Route(ENTRY, enter),
            Route(STYLE, style),
            Route("/favicon.ico", lambda _: Response(status_code=204)),
            Route("/language", language, methods=["POST"]),
            *start.routes(desk),
            *columns.routes(desk),
            *hierarchies.routes(desk),
            *constraints.routes(desk),
            *runs.routes(desk),
            *releases.routes(desk),
            *trade_off.routes(desk),
            *tune.routes(desk),
            *results.routes(desk),
        ],
        exception_handlers={HybridError: known, OSError: unreadable, 404: missing, 405: missing},
    )
    return Guard(pages, desk.sessions, port, desk.clicks)


ADDRESS = "127.0.0.1"


def serve(desk: Desk, port: int, ready: Callable[[str], None]) -> None:
    """Serve a desk on a port of 127.0.0.1 (0: a free one) until it is stopped by Ctrl-C; its runs continue.

    ``ready`` gets each address, which opens the desk once. Enter in the terminal makes a new one, for a browser that
    was closed.
    """
    listener, address = listening(desk, port)
    threading.Thread(target=read_ahead, args=(desk,), daemon=True).start()
    ready(address)
    port = int(listener.getsockname()[1])
    threading.Thread(target=_listen_to_enter, args=(desk, port, ready), daemon=True).start()
    try:
        server_of(desk, listener).run(sockets=[listener])
    finally:
        listener.close()


def _listen_to_enter(desk: Desk, port: int, ready: Callable[[str], None]) -> None:
    """Give a new address for every line of the terminal; without one, nothing is read."""
    with suppress(OSError, ValueError, AttributeError):
        if not sys.stdin.isatty() or not _is_in_foreground(sys.stdin.fileno()):
            return
        for _ in sys.stdin:
            ready(address_of(port, desk.sessions.new_token()))


def _is_in_foreground(terminal: int) -> bool:
    """False for a job in the background of a shell, which the kernel would stop as soon as it reads."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return True


def address_of(port: int, token: str) -> str:
    """Address that a token opens once."""
    return f"http://{ADDRESS}:{port}{ENTRY}?token={token}"


def read_ahead(desk: Desk) -> None:
    """Read the table and measure its columns while people open a browser; the first page shows any error."""
    with suppress(Exception):
        draft = desk.own_editor.read()
        for column in draft.columns.values():
            desk.overviews.of(draft, column)
        desk.effect()


def listening(desk: Desk, port: int) -> tuple[socket.socket, str]:
    """Socket of this machine, and the address for one entry."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ConfigError(f"--port {port}: {error.strerror}", hint="choose another, or leave it out") from None
    return listener, address_of(int(listener.getsockname()[1]), desk.sessions.token)


def server_of(desk: Desk, listener: socket.socket) -> uvicorn.Server:
    """Server of a desk, which writes nothing to the terminal."""
    app = desk_app(desk, int(listener.getsockname()[1]))
    options = {"log_level": "critical", "access_log": False, "server_header": False, "ws": "none"}
    return uvicorn.Server(uvicorn.Config(app, **options))  # type: ignore[arg-type]
