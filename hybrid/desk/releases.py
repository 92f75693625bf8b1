"""Screens of releases: the ledger, verification, download, withdrawal."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from hybrid.base.errors import VerificationError
from hybrid.base.ownership import CERTIFICATE
from hybrid.desk.desk import Desk, command, form, one_of
from hybrid.publication.folder import Release, releases_in
from hybrid.publication.ledger import Ledger
from hybrid.publication.signing.envelope import ENVELOPE
from hybrid.publication.status import releases_state
from hybrid.publication.verify import verify
from hybrid.publication.withdraw import withdraw


def routes(desk: Desk) -> list[Route]:
    """Pages and actions of the screens."""
    releases, work = desk.places.releases, desk.places.work

    def names() -> list[str]:
        return [one.path.name for one in releases_in(releases)] if releases.is_dir() else []

    def listed(request: Request) -> Response:
        state = releases_state(releases, work, None, datetime.now(UTC))
        gone = {one.release: one for one in state.withdrawn}
        return desk.page(
            request,
            "releases.html",
            state=state,
            gone=gone,
            present=set(names()),
            command=command("status", "--releases", releases, "--work", work),
        )

    def release(request: Request) -> Release:
        name = one_of(names(), request.path_params["name"], "release")
        return next(one for one in releases_in(releases) if one.path.name == name)

    def shown(request: Request) -> Response:
        found = release(request)
        name = found.path.name
        return desk.page(
            request,
            "release.html",
            name=name,
            problems=verify(found.path),
            withdrawn=found.withdrawn,
            entry=next((one for one in Ledger(work).entries() if one.release == name), None),
            files=_files(found),
            verify=command("verify", found.path),
            command=command(
                "withdraw", name, "--by", "NAME", "--reason", "TEXT", "--releases", releases, "--work", work
            ),
        )

    def download(request: Request) -> Response:
        found = release(request)
        name = one_of(_files(found), request.path_params["file"], "file")
        problems = verify(found.path)
        if problems:
            raise VerificationError(problems)
        return FileResponse(found.path / name, media_type="application/octet-stream", filename=name)

    def take_back(request: Request) -> Response:
        name = one_of(names(), request.path_params["name"], "release")
        by, reason, typed = form(request, "by", "reason", "typed")
        one_of([name], typed, "release: type its name to withdraw it")
        withdraw(name, releases, work, by, reason)
        words = ["withdraw", name, "--by", by, "--reason", reason, "--releases", releases, "--work", work]
        return desk.done(request, f"/releases/{name}", command(*words))

    return [
        Route("/releases", listed),
        Route("/releases/{name}/withdraw", take_back, methods=["POST"]),
        Route("/releases/{name}/files/{file}", download),
        Route("/releases/{name}", shown),
    ]


def _files(release: Release) -> list[str]:
    """Names of all files of a release, as its certificate lists them."""
    listed = sorted(release.certificate.get("files", {}))
    return [*listed, CERTIFICATE, *([ENVELOPE] if (release.path / ENVELOPE).is_file() else [])]
