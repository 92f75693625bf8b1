"""Screens of runs: their list, start and cancel, how far one is, its verdict and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from hybrid.base.errors import HybridError
from hybrid.desk import decisions
from hybrid.desk.desk import REPORT_POLICY, Desk, command, known_name, names_in, run_folder, segment
from hybrid.desk.under_way import start_run, without_result
from hybrid.publication.approvals import since_last_release
from hybrid.publication.difference import difference_to_last, side_by_side, verdict_of
from hybrid.publication.facts import summary_of
from hybrid.publication.finished_run import REPORT, read_run, read_whole_run
from hybrid.publication.first_page import answer
from hybrid.publication.verdict import folded


def judged_run(folder: Path, work: Path) -> dict[str, Any]:
    """Line of a run in the list: its verdict and who sent it back, or why it cannot be read."""
    try:
        run = read_run(folder)
        status = verdict_of(run).status
    except HybridError as error:
        return {"name": folder.name, "created": "", "status": "", "problem": error.problems[0].message}
    created = str(run.manifest["created"])[:19].replace("T", " ")
    back = next((one for one in since_last_release(run.data_set, work) if one.run == run.id), None)
    return {"name": folder.name, "created": created, "status": status, "back": back, "problem": ""}


def routes(desk: Desk) -> list[Route]:
    def listed(request: Request) -> Response:
        runs, work = desk.places.runs, desk.places.work
        rows = [judged_run(runs / name, work) for name in reversed(names_in(runs))]
        started = without_result(desk)
        said = "" if desk.config is None else command(*desk.runner.words(desk.config, "NAME-TIME"))
        moves = any(run.is_running for run in started.values())
        return desk.page(request, "runs.html", moves=moves, rows=rows, started=started, command=said, runs=str(runs))

    def cancel(request: Request) -> Response:
        name = known_name(list(desk.runner.started), request.path_params["name"], "run")
        desk.runner.cancel(name)
        return desk.done(request, f"/runs/{segment(name)}", "")

    def shown(request: Request) -> Response:
        name = request.path_params["name"]
        under_way = without_result(desk).get(name)
        if under_way is not None:
            said = command(*under_way.command)
            moves = under_way.is_running
            return desk.page(request, "under_way.html", moves=moves, name=name, run=under_way, command=said)
        run = read_whole_run(run_folder(desk, request))
        verdict = verdict_of(run)
        zones = desk.places.releases, desk.places.work
        return desk.page(
            request,
            "run.html",
            name=run.folder.name,
            run_id=run.id,
            verdict=verdict,
            folded=folded(verdict),
            page=summary_of(run, verdict, str(run.manifest["created"])),
            answer=answer(verdict),
            policy=run.policy,
            difference=difference_to_last(run, *zones),
            difference_command=command("difference", run.folder, "--releases", zones[0], "--work", zones[1]),
            **decisions.decision(desk, run, verdict, desk.language(request).code),
        )

    def together(request: Request) -> Response:
        known = names_in(desk.places.runs)
        chosen = [known_name(known, name, "run") for name in dict.fromkeys(request.query_params.getlist("run"))]
        folders = [desk.places.runs / name for name in chosen]
        both = side_by_side([read_run(folder) for folder in folders])
        return desk.page(request, "side_by_side.html", both=both, command=command("side-by-side", *folders))

    def report(request: Request) -> Response:
        run, page = read_whole_run(run_folder(desk, request)), request.path_params.get("page")
        name = REPORT if page is None else known_name(run.pages, f"report{page}.html", "page")
        name = run.page(name, desk.language(request).code)
        return FileResponse(
            run.folder / name, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY}
        )

    return [
        *decisions.routes(desk),
        Route("/runs", listed),
        Route("/side-by-side", together),
        Route("/runs/start", lambda request: start_run(desk, request), methods=["POST"]),
        Route("/runs/{name}/cancel", cancel, methods=["POST"]),
        Route("/runs/{name}/report", report),
        Route("/runs/{name}/report.html", report),
        Route("/runs/{name}/report{page}.html", report),
        Route("/runs/{name}", shown),
    ]
