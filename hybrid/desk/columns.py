"""Screen of the columns, whose roles go into the configuration file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hybrid.base.config_files import parse_yaml
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.sentence import sentence
from hybrid.desk.desk import Desk, command, form_fields, known_name, segment
from hybrid.desk.editor import AT_ONCE, ON_DEMAND, Editor, roles_of, state_of
from hybrid.desk.overview import ColumnOverview
from hybrid.hierarchy.doctor import summarize
from hybrid.hierarchy.load import load_hierarchy
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.decided_roles import person_problem, without_person
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.draft_column import DraftColumn
from hybrid.pipeline.hierarchy_draft import HierarchyFile
from hybrid.table import Kind, Role, Table
from hybrid.table.dependencies import unique_share
from hybrid.table.persons import person_groups
from hybrid.table.text import as_text

RELEASED = ("surrogate", "drop")
"""What a release may have in place of identifiers."""
_DEEPEST = 20
"""Dots of a key beyond which it is none."""
_EXAMPLES = 6
_LONGEST = 60


def routes(desk: Desk) -> list[Route]:
    def listed(request: Request) -> Response:
        editor = desk.own_editor
        draft = editor.read()
        found = {name: _overview(desk, draft, one) for name, one in draft.columns.items()}
        risks = [0.0 if one is None else one.risk for one in found.values()]
        order = sorted(range(len(risks)), key=lambda at: -risks[at])
        columns = list(draft.columns.values())
        return desk.page(
            request,
            "columns.html",
            config=str(editor.path),
            columns=[(at, columns[at], roles_of(columns[at]), found[columns[at].name]) for at in order],
            roles=list(Role),
            notes=desk.notes,
            open_=len(draft.undecided),
            signed=draft["roles"],
            state=state_of(draft),
            can_undo=editor.can_undo,
            effect=desk.effect(ON_DEMAND if request.query_params.get("cost") else AT_ONCE),
            linked=_linked(draft),
            person=None if draft.is_linked else draft["data.person"],
            rows_of_persons=_rows_of_persons(editor, draft),
            whose=_without_person(editor, draft),
            identifiers=_counted_identifiers(editor, draft),
            released=_released_identifiers(draft),
            command=command("edit", editor.path, "data.columns.COLUMN.role=ROLE", "roles.decided_by=NAME"),
        )

    def shown(request: Request) -> Response:
        editor = desk.own_editor
        draft = editor.read()
        names = list(draft.columns)
        name = known_name(names, request.path_params["name"], "column")
        at, column = names.index(name), draft.columns[name]
        return desk.page(
            request,
            "column.html",
            config=str(editor.path),
            column=column,
            state=state_of(draft),
            roles=roles_of(column),
            kinds=list(Kind),
            number=at + 1,
            total=len(names),
            previous=names[at - 1] if at else None,
            following=names[at + 1] if at + 1 < len(names) else None,
            can_undo=editor.can_undo,
            effect=desk.effect(),
            facts=_facts(editor.table(column), draft, column),
            command=command("edit", editor.path, f"{'.'.join(column.path)}.role=ROLE"),
        )

    def decide(request: Request) -> Response:
        editor = desk.own_editor
        state, role, kind = form_fields(request, "state", "role", "kind")
        name, target = request.path_params["name"], request.state.form.get("target", "") == "yes"
        before = editor.read().columns.get(name)
        was = {} if before is None else {"kind": before.kind, "target": str(before.target).lower()}
        editor.decide(state, name, role, kind, target)
        draft = editor.read()
        key = ".".join(draft.columns[name].path)
        changed = {"kind": draft.columns[name].kind, "target": str(target).lower()}
        changes = {"role": role} | {key: value for key, value in changed.items() if value != was[key]}
        following = next((one for one in _after(list(draft.columns), name) if one in draft.undecided), None)
        to = "/columns" if following is None else f"/columns/at/{list(draft.columns).index(following)}"
        return desk.done(
            request, to, command("edit", editor.path, *(f"{key}.{one}={value}" for one, value in changes.items()))
        )

    def save(request: Request) -> Response:
        """Save all choices of the page that differ, or confirm a guess; sign where a name is given."""
        editor = desk.own_editor
        (state,) = form_fields(request, "state")
        form: dict[str, str] = request.state.form
        changes: list[str] = []

        def action(draft: Draft) -> list[HierarchyFile]:
            hierarchies: list[HierarchyFile] = []
            for at, column in enumerate(draft.columns.values()):
                role, target = form.get(f"role-{at}"), form.get(f"target-{at}", "") == "yes"
                if role is None or (column.is_decided and (role, target) == (column.role, column.target)):
                    continue
                changes.extend(_said(column, role, target))
                hierarchies += editor.set_role(column, role, target)
            for key, known in (("data.person", [*_identifiers(draft), "none"]), ("output.identifiers", RELEASED)):
                if form.get(key) and form[key] != draft[key]:
                    draft[key] = known_name(known, form[key], "choice")
                    changes.append(f"{key}={form[key]}")
            return hierarchies

        editor.change(state, action)
        if form.get("name", "").strip():
            changes += _sign(editor, form["name"].strip())
        return desk.done(request, "/columns", command("edit", editor.path, *changes))

    def undo(request: Request) -> Response:
        (state,) = form_fields(request, "state")
        desk.own_editor.undo(state)
        return desk.done(request, "/changes", "")

    def changes(request: Request) -> Response:
        editor = desk.own_editor
        return desk.page(
            request,
            "changes.html",
            config=str(editor.path),
            difference=editor.difference,
            options=editor.read().config.to_yaml(),
            command=command("edit", editor.path, "KEY=VALUE"),
            hierarchies=editor.changed_hierarchies,
            state=state_of(editor.read()),
            can_undo=editor.can_undo,
        )

    def set_key(request: Request) -> Response:
        editor = desk.own_editor
        state, key, text = form_fields(request, "state", "key", "value")
        if not key.strip() or key.count(".") > _DEEPEST:
            raise ConfigError("the form names no key", hint="write one such as anonymize.k")

        def action(draft: Draft) -> None:
            draft[key.strip()], _ = parse_yaml(text, key.strip())

        editor.change(state, action)
        return desk.done(request, "/changes", command("edit", editor.path, f"{key.strip()}=VALUE"))

    def check(request: Request) -> Response:
        config = desk.own_editor.read().config
        findings = [(one.level, one.message, one.hint) for one in diagnose(config)]
        return desk.page(request, "check.html", findings=findings, command=command("check", desk.own_editor.path))

    def at(request: Request) -> Response:
        names = list(desk.own_editor.read().columns)
        number = min(request.path_params["number"], len(names) - 1)
        return RedirectResponse(f"/column/{segment(names[number])}", 303)

    return [
        Route("/columns", listed),
        Route("/columns/at/{number:int}", at),
        Route("/columns/save", save, methods=["POST"]),
        Route("/columns/undo", undo, methods=["POST"]),
        Route("/column/{name:path}", decide, methods=["POST"]),
        Route("/column/{name:path}", shown),
        Route("/changes", changes),
        Route("/changes/set", set_key, methods=["POST"]),
        Route("/check", check),
    ]


def _overview(desk: Desk, draft: Draft, column: DraftColumn) -> ColumnOverview | None:
    """Overview of a column; None where its table cannot be read, which the page says elsewhere."""
    try:
        return desk.overviews.of(draft, column)
    except HybridError:
        return None


def _said(column: DraftColumn, role: str, target: bool) -> Iterator[str]:
    key = ".".join(column.path)
    yield f"{key}.role={role}"
    if target != column.target:
        yield f"{key}.target={str(target).lower()}"


def _sign(editor: Editor, name: str) -> list[str]:
    """Sign the roles as they are saved."""
    draft = editor.read()
    if draft.undecided:
        undecided = sentence("roles.not_signed", names=tuple(draft.undecided))
        raise ConfigError(undecided, hint="decide each column, then sign")
    if whose := _without_person(editor, draft):
        raise ConfigError(person_problem(whose))
    editor.change(state_of(draft), lambda draft: draft.sign(name))
    return [f"roles.decided_by={name}", f"roles.date={editor.read()['roles.date']}"]


def _linked(draft: Draft) -> list[dict[str, Any]]:
    tables: dict[str, Any] = draft["tables"] if draft.is_linked else {}
    return [
        {
            "name": name,
            "is_person": name == draft["person"],
            "key": about.get("key"),
            "parent": (about.get("parent") or {}).get("table"),
            "by": (about.get("parent") or {}).get("column"),
            "public": bool(about.get("public")),
        }
        for name, about in tables.items()
    ]


def _identifiers(draft: Draft) -> list[str]:
    return [name for name, column in draft.columns.items() if column.role == Role.IDENTIFIER]


def _counted_identifiers(editor: Editor, draft: Draft) -> list[tuple[str, int | None]]:
    """Identifiers of a single table with their numbers of values; None for one where it cannot be read."""
    if draft.is_linked:
        return []
    table = _readable(editor, draft)
    known = {} if table is None else table.frame
    return [(name, int(known[name].nunique()) if name in known else None) for name in _identifiers(draft)]


def _readable(editor: Editor, draft: Draft) -> Table | None:
    """The only table, or the person table; None where it cannot be read, which the page says elsewhere."""
    try:
        return editor.person_table(draft)
    except HybridError:
        return None


def _released_identifiers(draft: Draft) -> str:
    """Choice for identifiers in a release; empty without any, and for linked tables, which need them."""
    config = draft.config
    return config.output.identifiers if not config.is_linked and _identifiers(draft) else ""


def _without_person(editor: Editor, draft: Draft) -> tuple[str, ...]:
    table = None if draft.is_linked else _readable(editor, draft)
    return () if table is None else without_person(draft.config, table)


def _rows_of_persons(editor: Editor, draft: Draft) -> tuple[int, int] | None:
    """Number of persons, and most rows of one; None where each row is another, or the table cannot be read."""
    table = _readable(editor, draft)
    if table is None or table.rows_are_persons or not len(table):
        return None
    rows = np.bincount(person_groups(table.persons))
    return len(rows), int(rows.max())


def _after(names: list[str], name: str) -> list[str]:
    at = names.index(name)
    return [*names[at + 1 :], *names[:at]]


def _facts(table: Table, draft: Draft, column: DraftColumn) -> dict[str, Any]:
    """Facts of a column in the table, with examples: private, for the screen of this machine alone."""
    own = column.path[-1]
    if own not in table.schema:
        return {}
    schema, values = table.schema[own], table.frame[own]
    others = [one for one in table.schema.quasi_identifiers if one != own]
    examples = as_text(values.dropna().drop_duplicates().head(_EXAMPLES), schema).str.strip().str.slice(0, _LONGEST)
    return {
        "kind": str(schema.kind),
        "rows": len(table),
        "distinct": int(values.nunique()),
        "missing": int(values.isna().sum()),
        "examples": list(examples),
        "without": unique_share(table, others) if others else 0.0,
        "with": unique_share(table, [*others, own]),
        "levels": _levels(table, draft, column),
    }


def _levels(table: Table, draft: Draft, column: DraftColumn) -> list[Any]:
    if column.hierarchy is None:
        return []
    own = column.path[-1]
    try:
        path = draft.folder / column.hierarchy
        return summarize(load_hierarchy(path, table.schema[own], table.frame[own]), table, own)
    except HybridError:
        return []
