"""Screen of the columns, whose roles go into the configuration file."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hybrid.base.errors import ConfigError, HybridError
from hybrid.desk.desk import Desk, command, form, one_of
from hybrid.desk.editor import state_of
from hybrid.hierarchy.doctor import summarize
from hybrid.hierarchy.load import load_hierarchy
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.draft import Draft
from hybrid.table import Role, Table
from hybrid.table.checks import unique_share
from hybrid.table.text import as_text

_EXAMPLES = 6
_LONGEST = 60
ROLES = tuple(str(role) for role in Role)


def routes(desk: Desk) -> list[Route]:
    """Pages and actions of the screen."""

    def listed(request: Request) -> Response:
        editor = desk.own_editor
        draft = editor.read()
        rows = [
            {"name": name, "role": one.role, "decided": one.is_decided, "reason": one.reason, "target": one.target}
            for name, one in draft.columns.items()
        ]
        return desk.page(
            request,
            "columns.html",
            config=str(editor.path),
            rows=rows,
            open_=len(draft.undecided),
            first=next(iter(draft.undecided), None),
            roles=draft["roles"],
            state=state_of(draft),
            can_undo=editor.can_undo,
            person=draft["data.person"],
            identifiers=[name for name, one in draft.columns.items() if one.role == Role.IDENTIFIER],
            person_command=command("edit", editor.path, "data.person=COLUMN"),
            sign_command=command("edit", editor.path, "roles.decided_by=NAME", "roles.date=YYYY-MM-DD"),
        )

    def shown(request: Request) -> Response:
        editor = desk.own_editor
        draft = editor.read()
        name = one_of(list(draft.columns), request.path_params["name"], "column")
        names = list(draft.columns)
        at = names.index(name)
        return desk.page(
            request,
            "column.html",
            config=str(editor.path),
            column=draft.columns[name],
            state=state_of(draft),
            roles=ROLES,
            number=at + 1,
            total=len(names),
            previous=names[at - 1] if at else None,
            following=names[at + 1] if at + 1 < len(names) else None,
            can_undo=editor.can_undo,
            facts=_facts(editor.table(draft), draft, name),
            command=command("edit", editor.path, f"data.columns.{name}.role=ROLE"),
        )

    def give_role(request: Request) -> Response:
        editor = desk.own_editor
        state, role = form(request, "state", "role")
        name = request.path_params["name"]
        editor.give_role(state, name, role)
        draft = editor.read()
        following = next((one for one in _after(list(draft.columns), name) if one in draft.undecided), None)
        to = "/columns" if following is None else f"/columns/at/{list(draft.columns).index(following)}"
        return desk.done(request, to, command("edit", editor.path, f"data.columns.{name}.role={role}"))

    def person(request: Request) -> Response:
        editor = desk.own_editor
        state, name = form(request, "state", "person")
        identifiers = [one for one, column in editor.read().columns.items() if column.role == Role.IDENTIFIER]
        chosen = one_of([*identifiers, "none"], name, "identifier")

        def action(draft: Draft) -> None:
            draft["data.person"] = chosen

        editor.change(state, action)
        return desk.done(request, "/columns", command("edit", editor.path, f"data.person={chosen}"))

    def sign(request: Request) -> Response:
        editor = desk.own_editor
        state, name = form(request, "state", "name")

        def action(draft: Draft) -> None:
            if draft.undecided:
                raise ConfigError(
                    f"still to decide: {', '.join(draft.undecided)}", hint="decide each column, then sign"
                )
            draft.sign(name)

        editor.change(state, action)
        day = editor.read()["roles.date"]
        said = command("edit", editor.path, f"roles.decided_by={name.strip()}", f"roles.date={day}")
        return desk.done(request, "/columns", said)

    def undo(request: Request) -> Response:
        (state,) = form(request, "state")
        desk.own_editor.undo(state)
        return desk.done(request, "/changes", "")

    def changes(request: Request) -> Response:
        editor = desk.own_editor
        return desk.page(
            request,
            "changes.html",
            config=str(editor.path),
            difference=editor.difference,
            state=state_of(editor.read()),
            can_undo=editor.can_undo,
        )

    def check(request: Request) -> Response:
        path = desk.own_editor.path
        findings = [(one.level, one.message, one.hint) for one in diagnose(desk.own_editor.read().config)]
        return desk.page(request, "check.html", findings=findings, command=command("check", path))

    def at(request: Request) -> Response:
        names = list(desk.own_editor.read().columns)
        number = min(request.path_params["number"], len(names) - 1)
        return RedirectResponse(f"/column/{quote(names[number], safe='')}", 303)

    return [
        Route("/columns", listed),
        Route("/columns/at/{number:int}", at),
        Route("/columns/person", person, methods=["POST"]),
        Route("/columns/sign", sign, methods=["POST"]),
        Route("/columns/undo", undo, methods=["POST"]),
        Route("/column/{name:path}", give_role, methods=["POST"]),
        Route("/column/{name:path}", shown),
        Route("/changes", changes),
        Route("/check", check),
    ]


def _after(names: list[str], name: str) -> list[str]:
    """The names behind this one, and then those before it."""
    at = names.index(name)
    return [*names[at + 1 :], *names[:at]]


def _facts(table: Table, draft: Draft, name: str) -> dict[str, Any]:
    """Facts of a column in the table, with examples.

    Private: for the screen of this machine alone.
    """
    if name not in table.schema:
        return {}
    column, values = table.schema[name], table.frame[name]
    known = [one for one, about in draft.columns.items() if about.role == Role.QUASI_IDENTIFIER and one in table.schema]
    others = [one for one in known if one != name]
    examples = as_text(values.dropna().drop_duplicates().head(_EXAMPLES), column).str.strip().str.slice(0, _LONGEST)
    return {
        "kind": str(column.kind),
        "rows": len(table),
        "distinct": int(values.nunique()),
        "missing": int(values.isna().sum()),
        "examples": list(examples),
        "without": unique_share(table, others) if others else 0.0,
        "with": unique_share(table, [*others, name]),
        "levels": _levels(table, draft, name),
    }


def _levels(table: Table, draft: Draft, name: str) -> list[Any]:
    """Levels of a column's hierarchy on the data; none without one."""
    source = draft.config.hierarchy_sources.get(name)
    if source is None:
        return []
    try:
        return summarize(load_hierarchy(source, table.schema[name], table.frame[name]), table.frame[name])
    except HybridError:
        return []
