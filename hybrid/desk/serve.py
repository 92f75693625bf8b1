"""Server of the desk on this machine alone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from hybrid.base.errors import ConfigError
from hybrid.desk.app import desk_app
from hybrid.desk.desk import Desk
from hybrid.desk.guard import ENTRY

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
    """Read the table and measure its effect before the first page.

    People open a browser meanwhile. Errors are those of the first page, which shows them.
    """
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
