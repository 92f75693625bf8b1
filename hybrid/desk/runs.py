"""Screens of runs: start and cancel, the verdict, the decision of people."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from hybrid.base.errors import HybridError
from hybrid.base.manifest import MANIFEST
from hybrid.desk.desk import Desk, command, form, one_of
from hybrid.jobs.release import read_candidate
from hybrid.publication.approvals import accepted
from hybrid.publication.certificate import summary_of
from hybrid.publication.finished_run import REPORT, FinishedRun, read_run, read_whole_run
from hybrid.publication.gate import judge
from hybrid.publication.ledger import Ledger
from hybrid.publication.publish import publish
from hybrid.publication.roles import DecidedRoles, with_roles
from hybrid.publication.verdict import Verdict, folded

_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; sandbox"
"""Policy of the report's page, which has its styles within and no script."""


def routes(desk: Desk) -> list[Route]:
    """Pages and actions of the screens."""

    def folder(request: Request) -> Path:
        name = one_of(names_in(desk.places.runs), request.path_params["name"], "run")
        return desk.places.runs / name

    def listed(request: Request) -> Response:
        rows = [_row(desk.places.runs / name) for name in reversed(names_in(desk.places.runs))]
        under_way = [
            {"name": name, "code": run.code, "lines": list(run.lines)} for name, run in desk.runner.started.items()
        ]
        out = desk.places.runs / "NAME-TIME"
        said = "" if desk.config is None else command("run", desk.config, "--out", out, "--work", desk.places.work)
        return desk.page(request, "runs.html", rows=rows, started=under_way, command=said, runs=str(desk.places.runs))

    def start(request: Request) -> Response:
        editor = desk.own_editor
        _, words = desk.runner.start(editor.path, editor.read().config.name)
        return desk.done(request, "/runs", command(*words))

    def cancel(request: Request) -> Response:
        desk.runner.cancel(request.path_params["name"])
        return desk.done(request, "/runs", "")

    def shown(request: Request) -> Response:
        run = read_whole_run(folder(request))
        verdict = _verdict(run)
        given = accepted(run, Ledger(desk.places.work), datetime.now(UTC))
        return desk.page(
            request,
            "run.html",
            name=run.folder.name,
            run_id=run.id,
            verdict=verdict,
            folded=folded(verdict),
            page=summary_of(run, verdict, str(run.manifest["created"])),
            policy=run.policy,
            given=given,
            files=sorted(run.payload),
            kept=sorted(set(run.manifest["files"]) - set(run.payload)),
            report=command("approve" if verdict.status == "review" else "release", *_words(desk, run, verdict)),
        )

    def decide(request: Request) -> Response:
        run = read_run(folder(request))
        by, reason, seen = form(request, "by", "reason", "run")
        one_of([run.id], seen, "run")
        if _verdict(run).status == "review":
            places = desk.places
            desk.clicks.note("POST", request.url.path, command("approve", *_words(desk, run, None, by, reason)))
            published = publish(run.folder, places.releases, places.work, accept_review=True, by=by, reason=reason)
            return desk.done(request, f"/releases/{published.name}", "")
        published = read_candidate(run.folder, desk.places).publish()
        return desk.done(request, f"/releases/{published.name}", command("release", *_words(desk, run, None)))

    def report(request: Request) -> Response:
        run = read_whole_run(folder(request))
        return FileResponse(
            run.folder / REPORT, media_type="text/html", headers={"Content-Security-Policy": _REPORT_POLICY}
        )

    return [
        Route("/runs", listed),
        Route("/runs/start", start, methods=["POST"]),
        Route("/runs/{name}/cancel", cancel, methods=["POST"]),
        Route("/runs/{name}/decide", decide, methods=["POST"]),
        Route("/runs/{name}/report", report),
        Route("/runs/{name}", shown),
    ]


def names_in(folder: Path) -> list[str]:
    """Names of the run folders, oldest first."""
    if not folder.is_dir():
        return []
    found = [one for one in folder.iterdir() if one.is_dir() and not one.is_symlink() and (one / MANIFEST).is_file()]
    return [one.name for one in sorted(found, key=lambda one: ((one / MANIFEST).stat().st_mtime, one.name))]


def _row(folder: Path) -> dict[str, Any]:
    """One line of the list; of an unfinished run the reason."""
    try:
        run = read_run(folder)
    except HybridError as error:
        return {"name": folder.name, "created": "", "status": "", "problem": error.problems[0].message}
    created = str(run.manifest["created"])[:19].replace("T", " ")
    return {"name": folder.name, "created": created, "status": _verdict(run).status, "problem": ""}


def _verdict(run: FinishedRun) -> Verdict:
    """Verdict on the run alone, from its checked files.

    Publishing judges again, with all earlier releases.
    """
    found = judge(run.policy, run.evaluation, run.anonymization, draws=run.draw or 1, power=run.power)
    return with_roles(found, DecidedRoles.from_json(run.manifest.get("roles")))


def _words(desk: Desk, run: FinishedRun, verdict: Verdict | None, by: str = "NAME", reason: str = "TEXT") -> list[Any]:
    """Arguments of the command with the same effect as the decision."""
    places = desk.places
    if verdict is not None and verdict.status == "pass":
        return [run.folder, "--out", places.releases, "--work", places.work]
    told = ["--by", by, "--reason", reason]
    return [run.folder, *told, "--releases", places.releases, "--work", places.work]
