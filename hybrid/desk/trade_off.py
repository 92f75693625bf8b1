"""Screen of the trade-off: what k and the suppression limit cost."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hybrid.anonymize.search.tradeoff import TradeoffPoint
from hybrid.base.errors import ConfigError
from hybrid.base.language import Language
from hybrid.desk.desk import Desk, command, form_fields
from hybrid.desk.editor import state_of
from hybrid.desk.runner import TRADE_OFF
from hybrid.desk.under_way import search_routes
from hybrid.jobs.trade_off import WHY, TradeOff, basis, no_curve
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.draft import Draft
from hybrid.report.charts.exploration import Line, line_chart

FOLDER = "trade-offs"
"""Folder of points in the private zone, one file for each configuration that was searched."""
_DIGITS = 16


def routes(desk: Desk) -> list[Route]:
    def file(config: RunConfig) -> Path:
        return desk.places.work / FOLDER / f"{basis(config)[:_DIGITS]}.json"

    def kept(config: RunConfig) -> TradeOff | None:
        try:
            found = TradeOff.from_json(json.loads(file(config).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, LookupError):
            return None
        return found if found.of == basis(config) else None

    def words() -> list[str]:
        config = desk.own_editor.read().config
        if (reason := no_curve(config)) is not None:
            raise ConfigError(WHY[reason])
        return [TRADE_OFF, str(desk.own_editor.path), "--out", str(file(config))]

    def shown(request: Request) -> Response:
        editor = desk.own_editor
        draft = editor.read()
        config = draft.config
        reason = no_curve(config)
        if reason is not None:
            return desk.page(request, "no_trade_off.html", reason=reason, command=command("compare", "PLAN"))
        found = kept(config)
        content = {} if found is None else _content(found, config, request, desk.language(request))
        run = desk.runner.started.get(TRADE_OFF)
        return desk.page(
            request,
            "trade_off.html",
            moves=run is not None and run.is_running,
            found=found,
            run=run,
            state=state_of(draft),
            can_undo=editor.can_undo,
            command=command(*words()),
            **content,
        )

    def use(request: Request) -> Response:
        editor = desk.own_editor
        state, k, limit = form_fields(request, "state", "k", "limit")
        found = kept(editor.read().config)
        points = () if found is None else found.points
        point = next((one for one in points if (str(one.k), _percent(one)) == (k, limit)), None)
        if point is None:
            raise ConfigError("there is no such point of the trade-off", hint="compute it again")

        def action(draft: Draft) -> None:
            draft["anonymize.k"] = point.k
            draft["anonymize.suppression_limit"] = point.suppression_limit

        editor.change(state, action)
        changes = f"anonymize.k={point.k}", f"anonymize.suppression_limit={point.suppression_limit:g}"
        return desk.done(request, "/changes", command("edit", editor.path, *changes))

    return [
        Route("/trade-off", shown),
        *search_routes(desk, TRADE_OFF, words),
        Route("/trade-off/use", use, methods=["POST"]),
    ]


def _content(found: TradeOff, config: RunConfig, request: Request, language: Language) -> dict[str, Any]:
    options = config.anonymize
    assert options is not None
    ks = sorted({one.k for one in found.points})
    limits = sorted({one.suppression_limit for one in found.points})
    asked = request.query_params
    k = _number(asked.get("k"), options.k, 1, ks[-1])
    limit = _number(asked.get("limit"), 100 * options.suppression_limit, 0, 100) / 100
    chosen, here = found.at(math.ceil(k), limit + 1e-9), found.at(options.k, options.suppression_limit + 1e-9)
    lines = [
        Line(f"k = {one}", tuple(point.loss for point in found.points if point.k == one), one == chosen.k) for one in ks
    ]
    at = limits.index(chosen.suppression_limit)
    return {
        "chart": line_chart(lines, limits, at, _scale(found), language),
        "ks": ks,
        "limits": limits,
        "table": [[_cell(found, point, chosen, here) for point in found.points if point.k == one] for one in ks],
        "chosen": _cell(found, chosen, chosen, here),
        "here": _cell(found, here, chosen, here),
        "levels": [(name, language.own(found.words.at(chosen, name))) for name in found.words.of],
        "more": _more(found, chosen, here),
        "in_points": bool(_scale(found)),
    }


def _number(text: str | None, otherwise: float, least: float, most: float) -> float:
    """Number of a request within its range, or the configured one where it is none."""
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    return min(max(number if math.isfinite(number) else otherwise, least), most)


def _percent(point: TradeoffPoint) -> str:
    return f"{100 * point.suppression_limit:g}"


def _scale(found: TradeOff) -> str:
    return "%" if found.loss == "loss" else ""


def _words(found: TradeOff, loss: float) -> str:
    return f"{100 * loss:.1f} %" if _scale(found) else f"{loss:.4g}"


def _cell(found: TradeOff, point: TradeoffPoint, chosen: TradeoffPoint, here: TradeoffPoint) -> dict[str, Any]:
    return {
        "k": point.k,
        "limit": _percent(point),
        "loss": None if point.loss is None else _words(found, point.loss),
        "suppressed": None if point.suppressed is None else f"{100 * point.suppressed / found.records:.1f} %",
        "classes": point.classes,
        "chosen": point == chosen,
        "here": point == here,
    }


def _more(found: TradeOff, chosen: TradeoffPoint, here: TradeoffPoint) -> str | None:
    """Additional loss of the chosen point with its sign, shares in percentage points."""
    if chosen.loss is None or here.loss is None or chosen == here:
        return None
    difference = chosen.loss - here.loss
    sign = "+" if difference > 0 else "−" if difference < 0 else "±"
    return f"{sign}{100 * abs(difference):.1f}" if _scale(found) else f"{sign}{abs(difference):.4g}"
