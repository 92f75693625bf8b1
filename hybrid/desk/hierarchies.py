"""Screen of one hierarchy: effect of its levels, and an editor whose forms become hierarchy files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.yaml_document import flow
from hybrid.desk.desk import Desk, command, form_fields, known_name, segment
from hybrid.desk.editor import state_of
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.doctor import labels_of, regrouped, summarize, with_level, without_level
from hybrid.hierarchy.files import parse_spec, rows_of, separator_of, text_of_rows, text_of_spec
from hybrid.hierarchy.from_data import by_frequency, equal_width, prefixes, usual_periods
from hybrid.hierarchy.load import load_hierarchy, parse_hierarchy
from hybrid.hierarchy.spec import PERIODS, DatesSpec, HierarchySpec, IntervalsSpec, MaskSpec
from hybrid.pipeline.draft_column import DraftColumn
from hybrid.pipeline.starter.columns import starter_text
from hybrid.table import Column, Table

MOST_LABELS = 200
"""Labels of one level that the screen has fields for."""
CSV, YAML = ".csv", ".yaml"
_KEPT = (8, 3)


@dataclass(frozen=True)
class HierarchyText:
    """Text of a form, and the command with the same effect."""

    text: str
    suffix: str
    """Of the hierarchy file."""
    options: tuple[str, ...] = ()
    """``KEY=VALUE`` for ``hybrid hierarchy set``. Empty where the text lists values, which no command may hold."""


def rule_written(form: Mapping[str, str], sort: str) -> HierarchyText:
    """Description of intervals, dates or masks from the fields of their form."""
    content = {"type": sort, **{key: value for key, value in _fields(form, sort).items() if value != ""}}
    spec = parse_spec(yaml.safe_dump(content, allow_unicode=True), "hierarchy")
    return _spec_written(spec)


def restarted(sort: str, column: Column, values: pd.Series) -> HierarchyText:
    """Hierarchy of another sort to start from."""
    suited = column.kind.type.hierarchies
    if sort not in suited:
        raise ConfigError(f"{sort!r} does not suit {column.kind} columns", hint=f"one of: {', '.join(suited)}")
    if sort == "groups":
        kept = tuple(n for n in _KEPT if n < values.nunique()) or (1,)
        return HierarchyText(starter_text(by_frequency(column, values, kept), column, values), CSV)
    if sort == "mask":
        return _spec_written(prefixes(column, values))
    return _spec_written(equal_width(values) if sort == "intervals" else usual_periods(column, values))


def groups_written(form: Mapping[str, str], rows: Rows, separator: str = ";") -> HierarchyText:
    """Labels after the action of the form: other groups, one level more, one level less."""
    level = _number(form.get("level", ""))
    action = form.get("action", "")
    if action == "add_level":
        changed = with_level(rows, level)
    elif action == "remove_level":
        changed = without_level(rows, level)
    else:
        below = list(labels_of(rows, level - 1)) if 0 < level < len(rows[0]) else []
        given = [form.get(f"label-{at}") for at in range(len(below))]
        if not below or len(below) > MOST_LABELS or None in given:
            raise ConfigError("the form is not of this level", hint="open the page again")
        changed = regrouped(rows, level, {one: str(label) for one, label in zip(below, given, strict=True)})
    return HierarchyText(text_of_rows(changed, separator), CSV)


def _spec_written(spec: HierarchySpec) -> HierarchyText:
    text = text_of_spec(spec)
    options = (f"{key}={flow(value)}" for key, value in yaml.safe_load(text).items())
    return HierarchyText(text, YAML, tuple(options))


def _fields(form: Mapping[str, str], sort: str) -> dict[str, Any]:
    if sort == "dates":
        return {"levels": [period for period in PERIODS if form.get(f"period-{period}")]}
    if sort == "mask":
        return {"keep": _numbers(form.get("keep", "")), "length": form.get("length", "")}
    if sort != "intervals":
        raise ConfigError(f"{sort!r} has no form", hint="open the page again")
    edges = [_numbers(line) for line in form.get("edges", "").splitlines() if line.strip()]
    if edges:
        return {"edges": edges}
    named = {"bottom": "bottom", "top": "top", "origin": "start"}
    ends = {key: form.get(field, "").strip() for key, field in named.items()}
    return {"widths": _numbers(form.get("widths", "")), **ends}


def _numbers(text: str) -> list[str]:
    return [part for part in re.split(r"[,;\s]+", text) if part]


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,4}", text):
        raise ConfigError("the form names no level", hint="open the page again")
    return int(text)


_SHOWN = 12
"""Values whose labels are shown on every level."""
LONGEST_TEXT = 40_000
"""Characters of a hierarchy file that can be edited as text."""


def routes(desk: Desk) -> list[Route]:
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
            command=command("hierarchy", "show", editor.path, column.name),
            **_described(column, table, _level(request.query_params)),
        )

    def shown(request: Request) -> Response:
        return page(request)

    def change(request: Request) -> Response:
        editor = desk.own_editor
        (state, action) = form_fields(request, "state", "action")
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
    return columns[known_name(having, name, "hierarchy")]


def _level(given: Mapping[str, str]) -> int:
    wanted = given.get("level", "1")
    return int(wanted) if wanted.isdecimal() and len(wanted) < 4 else 1


def _written(column: DraftColumn, table: Table, action: str, values: dict[str, str]) -> HierarchyText:
    own = column.path[-1]
    if action == "restart":
        return restarted(values.get("sort", ""), table.schema[own], table.frame[own])
    if action == "text":
        suffix = _file(column).suffix.lower()
        return HierarchyText(values.get("text", "").replace("\r\n", "\n"), suffix)
    if action == "rule":
        return rule_written(values, values.get("sort", ""))
    known_name(("regroup", "add_level", "remove_level"), action, "action")
    return groups_written(values, _rows(column, table), _separator(column))


def _described(column: DraftColumn, table: Table, level: int) -> dict[str, Any]:
    """Description of a hierarchy and its effect on the data: private, for the screen of this machine alone."""
    own = column.path[-1]
    schema, values = table.schema[own], table.frame[own]
    path = _file(column)
    text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    facts: dict[str, Any] = {
        "text": text if len(text) <= LONGEST_TEXT else None,
        "sorts": schema.kind.type.hierarchies,
        "periods": schema.kind.type.periods,
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
