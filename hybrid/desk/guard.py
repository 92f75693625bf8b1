"""Guard in front of every page of the desk.

It checks who asks and from where, limits what the browser may do with the answer, and keeps the session and the log of
actions.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid.base.atomic import make_private
from hybrid.base.errors import place_of
from hybrid.base.os_account import account

_BYTES = 32


class Sessions:
    """The one session of a desk.

    A token opens it once; the cookie's value and the tokens of forms are kept as digests, compared in constant time. A
    later token opens another session, which ends the one before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.token = self.new_token()
        """One-time token of the newest address. After its use it opens nothing."""
        self._session = b""
        self._secret = secrets.token_bytes(_BYTES)

    def new_token(self) -> str:
        """Make a one-time token, which takes the place of an unused one."""
        with self._lock:
            self.token = secrets.token_urlsafe(_BYTES)
            return self.token

    def enter(self, token: str) -> str | None:
        """Value of the session's cookie; None for a wrong or used token."""
        with self._lock:
            if not self.token or not hmac.compare_digest(token.encode(), self.token.encode()):
                return None
            self.token = ""
            value = secrets.token_urlsafe(_BYTES)
            self._session = _digest(value)
            return value

    def knows(self, cookie: str) -> bool:
        return bool(self._session) and hmac.compare_digest(_digest(cookie), self._session)

    @property
    def form_token(self) -> str:
        """Token that every form of the session carries."""
        return hmac.new(self._secret, self._session, hashlib.sha256).hexdigest()

    def is_form_of(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.form_token.encode())


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()


LOG = "desk.jsonl"
"""Name of the log in the private zone."""
MOST_REFUSED = 1_000
"""Refused requests that one desk logs; a page that floods it does not fill the disk."""


class ActionLog:
    """Log in the private zone (mode 0600): times, account, paths and commands, no cell value and no token."""

    def __init__(self, private_dir: Path) -> None:
        self.path = private_dir / LOG
        self._lock = threading.Lock()
        self._refused = 0

    def note(self, method: str, path: str, command: str = "", refused: str = "") -> None:
        """Add a line about a request, whose path is without its query."""
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "account": account(),
            "method": method,
            "path": path[:200],
        }
        line |= {"command": command} if command else {}
        line |= {"refused": refused} if refused else {}
        with self._lock:
            self._refused += bool(refused)
            if refused and self._refused > MOST_REFUSED:
                return
            make_private(self.path.parent)
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=True) + "\n")


ENTRY = "/enter"
STYLE = "/style.css"
LARGEST_FORM = 65_536
"""Bytes of a form beyond which it is refused."""
MOST_FIELDS = 2_000
"""Fields of a form beyond which it is refused."""
_FORM = "application/x-www-form-urlencoded"
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": _PAGE_POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send no origin with a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""Headers of every answer, unless it has one of its own."""


class Guard:
    """ASGI middleware before the pages that admits the session of this desk alone.

    ``Host`` and ``Origin`` must name the desk's port on this machine. ``clicks`` logs every request that changes
    something, and every one that is refused.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, port: int, clicks: ActionLog) -> None:
        self.app, self.sessions, self.clicks = app, sessions, clicks
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.cookie = f"hybrid-desk-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        reason = self._refused(request)
        form: dict[str, str] = {}
        if not reason and request.method == "POST":
            form, reason = await self._form(request)
        if reason:
            self.clicks.note(request.method, request.url.path, refused=reason)
            await PlainTextResponse(f"refused: {reason}\n", 403)(scope, receive, _with_headers(send))
            return
        scope["state"] = {**scope.get("state", {}), "form": form}
        await self._answer(scope, receive, _with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer of the pages; an error in them is never shown, since its text may hold a cell value."""
        begun = False

        async def sender(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sender)
        except Exception as error:  # noqa: BLE001 - its text may hold a record, and the server would print it
            self.clicks.note(scope["method"], scope["path"], refused=f"{type(error).__name__} in {place_of(error)}")
            if not begun:
                await PlainTextResponse("the desk failed; the log names the place\n", 500)(scope, receive, send)

    def _refused(self, request: Request) -> str:
        """Reason to refuse a request by its headers, or empty."""
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return "the host is not this desk"
        if request.method not in ("GET", "HEAD", "POST"):
            return "the method is not allowed"
        site = request.headers.get("sec-fetch-site", "same-origin")
        own = ("same-origin", "none") if request.method != "POST" else ("same-origin",)
        entering = request.url.path == ENTRY and request.method == "GET"
        if site not in own and not entering:
            return "it comes from another page"
        if request.method == "POST" and request.headers.get("origin") != f"http://{host}":
            return "it comes from another origin"
        if entering:
            return ""
        if not self.sessions.knows(request.cookies.get(self.cookie, "")):
            return "there is no session: open the address that hybrid desk printed; it opens once"
        return ""

    async def _form(self, request: Request) -> tuple[dict[str, str], str]:
        if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM:
            return {}, "it is not a form"
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_FORM:
                return {}, "the form is too large"
        try:
            fields = parse_qs(
                body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=MOST_FIELDS
            )
        except (UnicodeDecodeError, ValueError):
            return {}, "the form cannot be read"
        if any(len(values) > 1 for values in fields.values()):
            return {}, "a field is given twice"
        form = {name: values[0] for name, values in fields.items()}
        if not self.sessions.is_form_of(form.pop("form_token", "")):
            return {}, "the form is not one of this session"
        return form, ""


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in own)]
        await send(message)

    return sender


def with_session_cookie(response: Response, cookie: str, value: str) -> Response:
    response.set_cookie(cookie, value, httponly=True, samesite="strict", path="/")
    return response
