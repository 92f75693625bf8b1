"""Screen of one hierarchy: effect of its levels, and an editor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hybrid.base.errors import ConfigError, HybridError
from hybrid.desk.desk import Desk, command, form, one_of, segment
from hybrid.desk.editor import state_of
from hybrid.desk.hierarchy_forms import (
    CSV,
    MOST_LABELS,
    Written,
    groups_written,
    restarted,
    rule_written,
    sorts_for,
)
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.doctor import labels_of, summarize
from hybrid.hierarchy.files import rows_of, separator_of
from hybrid.hierarchy.load import load_hierarchy, parse_hierarchy
from hybrid.hierarchy.spec import PERIODS, DatesSpec, IntervalsSpec, MaskSpec
from hybrid.pipeline.draft_column import DraftColumn
from hybrid.table import Table

_SHOWN = 12
"""Values whose labels are shown on every level."""
LONGEST_TEXT = 40_000
"""Characters of a hierarchy file that can be edited as text."""


def routes(desk: Desk) -> list[Route]:
    """Page and actions of the screen."""

    def page(request: Request, values: dict[str, str] | None = None, error: HybridError | None = None) -> Response:
        editor = desk.own_editor
        draft = editor.read()
        column = _with_hierarchy(draft.columns, request.path_params["name"])
        table = editor.table(column)
        return desk.page(
            request,
            "hierarchy.html",
            200 if error is None else 409,
            column=column,
            state=state_of(draft),
            can_undo=editor.can_undo,
            problems=() if error is None else error.problems,
            given=values or {},
            difference=editor.hierarchy_difference(column),
            effect=desk.effect(),
            periods=PERIODS,
            command=command("hierarchy", "show", editor.path, column.name),
            **_described(column, table, _level(request.query_params)),
        )

    def shown(request: Request) -> Response:
        return page(request)

    def change(request: Request) -> Response:
        editor = desk.own_editor
        (state, action) = form(request, "state", "action")
        values: dict[str, str] = request.state.form
        column = _with_hierarchy(editor.read().columns, request.path_params["name"])
        try:
            written = _written(column, editor.table(column), action, values)
            editor.set_hierarchy(state, column.name, written.text, written.suffix)
        except HybridError as error:
            desk.clicks.note("POST", request.url.path, refused=error.problems[0].message)
            return page(request, values, error)
        verb = ("set", editor.path, column.name, *written.options) if written.options else ("check", editor.path)
        said = command("hierarchy", *verb, *(() if written.options else (column.name,)))
        return desk.done(request, f"/hierarchy/{segment(column.name)}?level={_level(values)}", said)

    return [
        Route("/hierarchy/{name:path}", change, methods=["POST"]),
        Route("/hierarchy/{name:path}", shown),
    ]


def _with_hierarchy(columns: dict[str, DraftColumn], name: str) -> DraftColumn:
    having = [one for one, column in columns.items() if column.hierarchy is not None]
    return columns[one_of(having, name, "hierarchy")]


def _level(given: Mapping[str, str]) -> int:
    wanted = given.get("level", "1")
    return int(wanted) if wanted.isdecimal() and len(wanted) < 4 else 1


def _written(column: DraftColumn, table: Table, action: str, values: dict[str, str]) -> Written:
    """The text that a form asks for."""
    own = column.path[-1]
    if action == "restart":
        return restarted(values.get("sort", ""), table.schema[own], table.frame[own])
    if action == "text":
        suffix = _file(column).suffix.lower()
        return Written(values.get("text", "").replace("\r\n", "\n"), suffix)
    if action == "rule":
        return rule_written(values, values.get("sort", ""))
    one_of(("regroup", "add_level", "remove_level"), action, "action")
    return groups_written(values, _rows(column, table), _separator(column))


def _described(column: DraftColumn, table: Table, level: int) -> dict[str, Any]:
    """Description of a hierarchy, and its effect on the data.

    Private: for the screen of this machine alone.
    """
    own = column.path[-1]
    schema, values = table.schema[own], table.frame[own]
    path = _file(column)
    text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    facts: dict[str, Any] = {
        "text": text if len(text) <= LONGEST_TEXT else None,
        "sorts": sorts_for(schema.kind),
        "most": MOST_LABELS,
        "levels": [],
        "paths": [],
        "sort": "",
        "spec": None,
        "labels": {},
        "level": level,
    }
    try:
        source = parse_hierarchy(text, path)
        loaded = load_hierarchy(source, schema, values)
    except HybridError as error:
        return facts | {"broken": error.problems}
    described = isinstance(source, IntervalsSpec | DatesSpec | MaskSpec)
    level = min(max(level, 1), max(loaded.n_levels - 2, 1))
    return facts | {
        "broken": (),
        "levels": summarize(loaded, table, own),
        "paths": _paths(loaded),
        "sort": source.type if isinstance(source, IntervalsSpec | DatesSpec | MaskSpec) else "groups",
        "spec": source if described else None,
        "labels": {} if described or loaded.n_levels < 3 else labels_of(rows_of(loaded), level - 1),
        "level": level,
    }


def _paths(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    """Labels of some values on every level."""
    rows = rows_of(hierarchy)
    at = np.unique(np.linspace(0, len(rows) - 1, min(_SHOWN, len(rows))).astype(int))
    return [rows[place] for place in at]


def _rows(column: DraftColumn, table: Table) -> Rows:
    own = column.path[-1]
    path = _file(column)
    source = parse_hierarchy(path.read_text(encoding="utf-8-sig"), path)
    if isinstance(source, IntervalsSpec | DatesSpec | MaskSpec):
        raise ConfigError("this hierarchy is a rule and lists no values", hint="make groups of values first")
    return rows_of(load_hierarchy(source, table.schema[own], table.frame[own]))


def _separator(column: DraftColumn) -> str:
    return separator_of(_file(column)) if _file(column).suffix.lower() == CSV else ";"


def _file(column: DraftColumn) -> Path:
    path = column.draft.folder / str(column.hierarchy)
    if not path.is_file():
        raise ConfigError(f"{path}: the hierarchy file does not exist", hint="give the column its role again")
    return path
