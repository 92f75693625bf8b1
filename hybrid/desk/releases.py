"""Screens of releases: the ledger, verification, download, withdrawal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hybrid.base.errors import VerificationError
from hybrid.base.ownership import CERTIFICATE
from hybrid.base.regular_file import is_file, open_regular
from hybrid.desk.desk import Desk, command, form_fields, known_name, segment
from hybrid.publication.folder import read_release
from hybrid.publication.ledger import Ledger
from hybrid.publication.own_release import OwnReleases
from hybrid.publication.signing.envelope import ENVELOPE
from hybrid.publication.status import releases_state
from hybrid.publication.withdraw import withdraw

_PART = 1_000_000


def routes(desk: Desk) -> list[Route]:
    releases, work = desk.places.releases, desk.places.work

    def own() -> OwnReleases:
        return OwnReleases(releases, Ledger(work))

    def listed(request: Request) -> Response:
        state = releases_state(releases, work, None, datetime.now(UTC))
        gone = {one.release: one for one in state.withdrawn}
        return desk.page(
            request,
            "releases.html",
            state=state,
            gone=gone,
            present={*own().names()},
            command=command("status", "--releases", releases, "--work", work),
        )

    def shown(request: Request) -> Response:
        found = own()
        name = known_name([*found.names(), *found.foreign()], request.path_params["name"], "release")
        return desk.page(
            request,
            "release.html",
            name=name,
            problems=found.problems(name),
            withdrawn=found.withdrawals.get(name),
            entry=found.entries.get(name),
            files=_files(releases / name),
            verify=command("verify", releases / name),
            command=command(
                "withdraw", name, "--by", "NAME", "--reason", "TEXT", "--releases", releases, "--work", work
            ),
        )

    def download(request: Request) -> Response:
        found = own()
        release = known_name(found.names(), request.path_params["name"], "release")
        problems = found.problems(release)
        if problems:
            raise VerificationError(problems)
        name = known_name(_files(releases / release), request.path_params["file"], "file")
        headers = {"Content-Disposition": f"attachment; filename*=utf-8''{segment(name)}"}
        parts = _parts(open_regular(releases / release / name))
        return StreamingResponse(parts, media_type="application/octet-stream", headers=headers)

    def take_back(request: Request) -> Response:
        name = known_name(own().names(), request.path_params["name"], "release")
        by, reason, typed = form_fields(request, "by", "reason", "typed")
        known_name([name], typed, "release: type its name to withdraw it")
        withdraw(name, releases, work, by, reason)
        words = ["withdraw", name, "--by", by, "--reason", reason, "--releases", releases, "--work", work]
        return desk.done(request, f"/releases/{name}", command(*words))

    return [
        Route("/releases", listed),
        Route("/releases/{name}/withdraw", take_back, methods=["POST"]),
        Route("/releases/{name}/files/{file}", download),
        Route("/releases/{name}", shown),
    ]


def _files(folder: Path) -> list[str]:
    release = read_release(folder)
    listed = None if release is None else release.certificate.get("files")
    return [
        *(sorted(listed) if isinstance(listed, dict) else ()),
        CERTIFICATE,
        *([ENVELOPE] if is_file(folder / ENVELOPE) else []),
    ]


def _parts(stream: BinaryIO) -> Iterator[bytes]:
    with stream:
        while part := stream.read(_PART):
            yield part
