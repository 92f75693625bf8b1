"""Guard in front of every page of the desk.

It checks who asks and from where, and limits what the browser may do with the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid.base.errors import place_of
from hybrid.desk.clicks import Clicks
from hybrid.desk.sessions import Sessions

ENTRY = "/enter"
STYLE = "/style.css"
LARGEST_FORM = 65_536
"""Bytes of a form beyond which it is refused."""
MOST_FIELDS = 250
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
    """ASGI middleware that admits the session of this desk alone.

    Parameters
    ----------
    app : ASGI application
        The pages.
    sessions : Sessions
        Who may see them.
    port : int
        Of the desk; ``Host`` and ``Origin`` must name it on this machine.
    clicks : Clicks
        Log of every request that changes something, and of every one that is refused.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, port: int, clicks: Clicks) -> None:
        self.app, self.sessions, self.clicks = app, sessions, clicks
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.cookie = f"hybrid-desk-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to the pages."""
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
        """Send the answer of the pages.

        An error inside of them is never shown, since its text may hold a cell value.
        """
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
        """Fields of a form, and the reason to refuse it."""
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
    """Sender that adds the headers of :data:`HEADERS`."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in own)]
        await send(message)

    return sender


def entered(response: Response, cookie: str, value: str) -> Response:
    """The response with the session's cookie."""
    response.set_cookie(cookie, value, httponly=True, samesite="strict", path="/")
    return response
