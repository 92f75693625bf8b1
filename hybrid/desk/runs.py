"""Screens of runs: start and cancel, the verdict."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from hybrid.desk.decisions import decision
from hybrid.desk.desk import REPORT_POLICY, Desk, command, names_in, one_of, run_folder
from hybrid.desk.judged import judged_runs
from hybrid.desk.runner import TRADE_OFF
from hybrid.publication.certificate import summary_of
from hybrid.publication.difference import difference_to_last, side_by_side, verdict_of
from hybrid.publication.finished_run import REPORT, read_run, read_whole_run
from hybrid.publication.verdict import folded


def routes(desk: Desk) -> list[Route]:
    """Pages and actions of the screens."""

    def listed(request: Request) -> Response:
        rows = judged_runs([desk.places.runs / name for name in reversed(names_in(desk.places.runs))])
        started = {name: run for name, run in desk.runner.started.items() if name != TRADE_OFF}
        out = desk.places.runs / "NAME-TIME"
        said = "" if desk.config is None else command("run", desk.config, "--out", out, "--work", desk.places.work)
        return desk.page(request, "runs.html", rows=rows, started=started, command=said, runs=str(desk.places.runs))

    def start(request: Request) -> Response:
        editor = desk.own_editor
        _, words = desk.runner.start(editor.path, editor.read().config.name)
        return desk.done(request, "/runs", command(*words))

    def cancel(request: Request) -> Response:
        desk.runner.cancel(request.path_params["name"])
        return desk.done(request, "/runs", "")

    def shown(request: Request) -> Response:
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
            policy=run.policy,
            difference=difference_to_last(run, *zones),
            difference_command=command("difference", run.folder, "--releases", zones[0], "--work", zones[1]),
            **decision(desk, run, verdict),
        )

    def together(request: Request) -> Response:
        known = names_in(desk.places.runs)
        chosen = [one_of(known, name, "run") for name in dict.fromkeys(request.query_params.getlist("run"))]
        folders = [desk.places.runs / name for name in chosen]
        both = side_by_side([read_run(folder) for folder in folders])
        return desk.page(request, "side_by_side.html", both=both, command=command("side-by-side", *folders))

    def report(request: Request) -> Response:
        run = read_whole_run(run_folder(desk, request))
        return FileResponse(
            run.folder / REPORT, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY}
        )

    return [
        Route("/runs", listed),
        Route("/side-by-side", together),
        Route("/runs/start", start, methods=["POST"]),
        Route("/runs/{name}/cancel", cancel, methods=["POST"]),
        Route("/runs/{name}/report", report),
        Route("/runs/{name}", shown),
    ]
