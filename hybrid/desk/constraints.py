"""Screen of the constraints: found ones and kept ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import yaml
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hybrid.constraints import Constraint
from hybrid.constraints.discover import discover
from hybrid.desk.desk import Desk, command, form_fields, known_name
from hybrid.desk.editor import Editor, state_of
from hybrid.pipeline.draft import Draft

HERE = "/columns/constraints"


@dataclass(frozen=True)
class TableConstraints:
    """Constraints of one table."""

    table: str
    """Its name; empty for the only table."""
    kept: Sequence[Constraint]
    found: Sequence[Constraint]
    """Declared ones, and those that hold in all rows and are not declared."""

    @property
    def path(self) -> tuple[str, ...]:
        return ("tables", self.table, "constraints") if self.table else ("constraints",)


def routes(desk: Desk) -> list[Route]:
    def shown(request: Request) -> Response:
        editor = desk.own_editor
        draft = editor.read()
        listed = _listed(editor, draft)
        key = ".".join(listed[0].path) if len(listed) == 1 else "tables.TABLE.constraints"
        return desk.page(
            request,
            "constraints.html",
            tables=listed,
            state=state_of(draft),
            can_undo=editor.can_undo,
            command=command("edit", editor.path, f"{key}=[...]"),
        )

    def change(request: Request) -> Response:
        editor = desk.own_editor
        state, action, table, text = form_fields(request, "state", "action", "table", "constraint")
        listed = {one.table: one for one in _listed(editor, editor.read())}
        one = listed[known_name(list(listed), table, "table")]
        known_name(("keep", "drop"), action, "action")
        known = {each.text: each for each in (one.found if action == "keep" else one.kept)}
        chosen = known[known_name(list(known), text, "constraint")]
        wanted = [*one.kept, chosen] if action == "keep" else [each for each in one.kept if each is not chosen]
        content = [yaml.safe_load(each.text) for each in wanted]

        def write(draft: Draft) -> None:
            if content:
                draft[one.path] = content
            else:
                del draft[one.path]

        editor.change(state, write)
        value = ", ".join(each.text for each in wanted)
        return desk.done(request, HERE, command("edit", editor.path, f"{'.'.join(one.path)}=[{value}]"))

    return [Route(HERE, change, methods=["POST"]), Route(HERE, shown)]


def _listed(editor: Editor, draft: Draft) -> list[TableConstraints]:
    return [_of(editor, draft, name, config.constraints) for name, config in draft.config.views.items()]


def _of(editor: Editor, draft: Draft, name: str, kept: Sequence[Constraint]) -> TableConstraints:
    declared = {(one.key, frozenset(one.columns)) for one in kept}
    found = [one.constraint for one in discover(editor.table_named(draft, name or None))]
    return TableConstraints(name, kept, [one for one in found if (one.key, frozenset(one.columns)) not in declared])
