"""Start of runs, and what the desk knows of those without a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hybrid.base.errors import HybridError
from hybrid.base.manifest import MANIFEST
from hybrid.base.regular_file import read_json
from hybrid.desk.desk import Desk, command, known_name, names_in, segment
from hybrid.desk.overview import MOST_CELLS
from hybrid.desk.runner import TRADE_OFF, TUNE, Plan, Started
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.evaluation_price import configured_stages, stage_seconds
from hybrid.pipeline.pipeline import steps_of


def without_result(desk: Desk) -> dict[str, Started]:
    """Runs that desks started and that run, or ended without a result."""
    names = {TRADE_OFF, TUNE}
    return {
        name: run
        for name, run in desk.runner.started.items()
        if name not in names and (run.is_running or not desk.runner.is_finished(name))
    }


def search_routes(desk: Desk, name: str, words: Callable[[], list[str]]) -> list[Route]:
    """Start and cancel of a search that has one name among all that the desk starts, and a screen of that name.

    ``words`` are the arguments of its command.
    """

    def start(request: Request) -> Response:
        said = words()
        desk.runner.begin(name, said)
        return desk.done(request, f"/{name}", command(*said))

    def cancel(request: Request) -> Response:
        desk.runner.cancel(name)
        return desk.done(request, f"/{name}", "")

    return [
        Route(f"/{name}/start", start, methods=["POST"]),
        Route(f"/{name}/cancel", cancel, methods=["POST"]),
    ]


def start_run(desk: Desk, request: Request) -> Response:
    """Start a run of the configuration, or continue the one that the form names, as it was started."""
    known, wanted = without_result(desk), request.state.form.get("continued", "")
    if wanted:
        run = known[known_name(list(known), wanted, "run")]
        desk.runner.begin(wanted, run.command, run.plan, run.place)
        return desk.done(request, f"/runs/{segment(wanted)}", command(*run.command))
    editor = desk.own_editor
    config = editor.read().config
    name = desk.runner.new_name(config.name)
    words = desk.runner.start(editor.path, name, plan_of(desk, config))
    return desk.done(request, f"/runs/{segment(name)}", command(*words))


def plan_of(desk: Desk, config: RunConfig) -> Plan:
    """Stages of a run, the seconds that they took the last time or are expected to take, and the levels shown."""
    effect = desk.effect()
    price = None if effect is None else effect.now.price
    levels = {} if price is None or price.levels is None else price.levels
    if config.is_linked:
        return Plan(steps_of(config), _last_seconds(desk, config.name), levels)
    seconds: Mapping[str, float] = _last_seconds(desk, config.name)
    with suppress(HybridError):
        table = desk.own_editor.table_named(desk.own_editor.read(), None)
        if not seconds and len(table) * len(table.schema) <= MOST_CELLS:
            seconds = stage_seconds(config, table)
        return Plan(configured_stages(config), seconds, levels)
    return Plan()


def _last_seconds(desk: Desk, data_set: str) -> dict[str, float]:
    """Seconds of the stages of the newest run of a data set; empty without one."""
    for name in reversed(names_in(desk.places.runs)):
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            manifest = read_json(desk.places.runs / name / MANIFEST)
            if manifest["name"] == data_set:
                return {str(one["name"]): float(one["seconds"]) for one in manifest["stages"]}
    return {}
