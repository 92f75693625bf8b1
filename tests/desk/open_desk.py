"""A desk that really listens on a port of this machine, and a visitor of it."""

from __future__ import annotations

import http.client
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import uvicorn

from hybrid.desk.desk import Desk
from hybrid.desk.serve import listening, server_of
from hybrid.jobs.places import Places


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Visitor:
    """A browser of the simplest sort: a cookie, and the token of the last form."""

    port: int
    cookie: str = ""
    token: str = ""
    last: Answer | None = field(default=None, repr=False)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: str | bytes | None = None, host: str = "", **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = {"Host": host or f"127.0.0.1:{self.port}"} | ({"Cookie": self.cookie} if self.cookie else {})
        sent |= {name.replace("_", "-"): value for name, value in headers.items() if value}
        try:
            connection.request(method, path, body, sent)
            got = connection.getresponse()
            answer = Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read().decode())
        finally:
            connection.close()
        found = re.search(r'name="form_token" value="(\w+)"', answer.text)
        self.token = found[1] if found else self.token
        self.last = answer
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, origin: str | None = None, token: str | None = None, **fields: str) -> Answer:
        form = {"form_token": self.token if token is None else token, **fields}
        own = self.origin if origin is None else origin
        return self.ask("POST", path, urlencode(form), Origin=own, Content_Type="application/x-www-form-urlencoded")

    def field(self, name: str) -> str:
        """Value of a hidden field of the last page."""
        assert self.last is not None
        found = re.search(rf'name="{name}" value="([^"]*)"', self.last.text)
        assert found, name
        return found[1]

    def chosen(self, name: str) -> str:
        """Chosen value of a list of the last page."""
        assert self.last is not None
        found = re.search(rf'<select[^>]* name="{name}">.*?value="([^"]*)" selected', self.last.text, re.DOTALL)
        assert found, name
        return found[1]

    def decide(self, column: str, role: str, **other: str) -> Answer:
        """Send the form of a column, as its page shows it, with another role."""
        path = f"/column/{quote(column, safe='')}"
        self.get(path)
        form = {"state": self.field("state"), "kind": self.chosen("kind"), "role": role}
        return self.post(path, **(form | other))

    def ticks(self, reason: str) -> dict[str, str]:
        """Fields that accept every unmet check of the last page for one reason."""
        assert self.last is not None
        found = re.findall(r'name="tick-(\d+)"', self.last.text)
        each = {f"tick-{at}": "yes" for at in found} | {f"reason-{at}": reason for at in found}
        return each or {"reason": reason}

    def enter(self, address: str) -> Answer:
        parts = urlsplit(address)
        answer = self.get(f"{parts.path}?{parts.query}")
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer


@dataclass
class OpenDesk:
    desk: Desk
    port: int
    address: str

    def visitor(self) -> Visitor:
        return Visitor(self.port)


@contextmanager
def opened(config: Path | None, folder: Path) -> Iterator[OpenDesk]:
    """Serve a desk with its zones in a folder, until the block ends."""
    desk = Desk(config, Places(folder / "work", folder / "runs", folder / "releases"))
    listener, address = listening(desk, 0)
    server: uvicorn.Server = server_of(desk, listener)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield OpenDesk(desk, int(listener.getsockname()[1]), address)
    finally:
        for name in desk.runner.started:
            desk.runner.cancel(name)
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


@contextmanager
def opened_copy(folder: Path, into: Path) -> Iterator[tuple[Visitor, OpenDesk, Path]]:
    """A desk on a copy of a folder, and the person who has opened it."""
    copied = into / "own"
    shutil.copytree(folder, copied)
    with opened(copied / "config.yaml", copied) as found:
        visitor = found.visitor()
        visitor.enter(found.address)
        yield visitor, found, copied
