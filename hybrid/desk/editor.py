"""Changes of the configuration and its hierarchies on the desk, with undo; its tables and the effects of its roles."""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.hashing import file_stamp
from hybrid.jobs.trade_off import searched
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.draft_column import DraftColumn
from hybrid.pipeline.hierarchy_draft import HierarchyFile, checked_file, starter_file
from hybrid.pipeline.level_findings import RoleEffect, role_effect
from hybrid.pipeline.sources import all_columns
from hybrid.table import Kind, Role, Schema, Table
from hybrid.table.data_options import DataOptions


class KeptTables:
    """Cache of tables by name, read again when their file or its reading has changed. Private."""

    def __init__(self) -> None:
        self._tables: dict[str | None, tuple[str, Table]] = {}

    def read(self, draft: Draft, name: str | None) -> Table:
        """Table with the roles of a draft, read once: a linked one by its name, or the only one (None)."""
        config = draft.config
        data = config.sources["" if name is None else name]
        key = _reading_key(config, data)
        if name not in self._tables or self._tables[name][0] != key:
            self._tables[name] = key, all_columns(config, name)
        return _with_roles(self._tables[name][1], data)


def _reading_key(config: RunConfig, data: DataOptions) -> str:
    """All that decides how a table is read."""
    reading = data.model_dump(mode="json")
    reading["columns"] = {name: (one["kind"], one["format"]) for name, one in reading["columns"].items()}
    return repr((reading, file_stamp(config.folder / data.path) if data.path else None))


def _with_roles(table: Table, data: DataOptions) -> Table:
    listed = data.columns
    columns = (
        replace(one, role=listed[one.name].role, target=listed[one.name].target) if one.name in listed else one
        for one in table.schema
    )
    return replace(table, schema=Schema(tuple(columns)))


Files: TypeAlias = Mapping[Path, str | None]
"""Texts of files; None: there is no such file."""


class Editor:
    """The configuration file of a desk, and the hierarchies that it names.

    Every change is written at once, as by hand; whoever edits the files beside the desk loses nothing: a change that
    was based on another text is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._before: list[tuple[Files, str]] = []
        self._tables = KeptTables()
        draft = self.read()
        self._first = draft.document
        self._first_hierarchies = _hierarchies(draft)

    def read(self) -> Draft:
        return Draft.read(self.path)

    @property
    def can_undo(self) -> bool:
        """True if the last change of this desk can be taken back."""
        return bool(self._before) and self._before[-1][1] == state_of(self.read())

    @property
    def difference(self) -> str:
        """Unified difference of the configuration since the desk was opened."""
        return self._first.difference(self.read().document)

    @property
    def changed_hierarchies(self) -> list[str]:
        """Columns whose hierarchy is another one than when the desk was opened."""
        columns = self.read().columns
        return [name for name in columns if self.hierarchy_difference(columns[name])]

    def hierarchy_difference(self, column: DraftColumn) -> str:
        """Unified difference of a hierarchy since the desk was opened; it may hold cell values."""
        if column.hierarchy is None:
            return ""
        path = column.draft.folder / column.hierarchy
        before, after = ((text or "").splitlines() for text in (self._first_hierarchies.get(path), _text(path)))
        return "\n".join(difflib.unified_diff(before, after, "before", "after", lineterm="", n=1))

    def change(self, state: str, action: Callable[[Draft], Iterable[HierarchyFile] | None]) -> None:
        """Change the configuration by an action on its draft, and write the hierarchies that the action returns.

        After an error all files are as they were: they had other texts by now, the change is wrong, or one cannot be
        written.
        """
        with self._lock:
            draft = self._as_seen(state)
            before: dict[Path, str | None] = {self.path: draft.text}
            hierarchies = action(draft) or ()
            _ = draft.config
            before |= {one.path: _text(one.path) for one in hierarchies}
            after: dict[Path, str | None] = {one.path: one.text for one in hierarchies}
            _write(after | {self.path: draft.text}, before)
            self._before.append((before, state_of(self.read())))

    def undo(self, state: str) -> None:
        """Take the last change back; raises as :meth:`change`."""
        with self._lock:
            draft = self._as_seen(state)
            if not self._before or self._before[-1][1] != state:
                raise ConfigError(f"{self.path}: there is nothing to undo", hint="edit the file by hand")
            before, _ = self._before[-1]
            _write(before, {path: draft.text if path == self.path else _text(path) for path in before})
            self._before.pop()

    def table(self, column: DraftColumn) -> Table:
        """The table of a column, read once. Private.

        It is read again when its reading changes. Errors as :meth:`hybrid.pipeline.config.RunConfig.load_all_columns`.
        """
        return self._tables.read(column.draft, column.table)

    def table_named(self, draft: Draft, name: str | None) -> Table:
        """A linked table, or the only one (None); errors as :meth:`table`. Private."""
        return self._tables.read(draft, name)

    def person_table(self, draft: Draft) -> Table:
        """The only table, or the person table; errors as :meth:`table`."""
        return self._tables.read(draft, draft.config.links.person or None)

    def decide(self, state: str, name: str, role: str, kind: str, target: bool) -> None:
        """Set role, kind and target of a column.

        A quasi-identifier without a hierarchy for its kind gets one to start from; raises as :meth:`change`.
        """

        def action(draft: Draft) -> list[HierarchyFile]:
            column = _column(draft, name)
            other_kind = kind != self.table(column).schema[column.path[-1]].kind
            if other_kind:
                if kind not in list(Kind):
                    raise ConfigError(f"{kind!r} is no kind", hint=f"one of: {', '.join(Kind)}")
                column.kind = kind
                column.forget_format()
            hierarchies = self.set_role(column, role, target, anew=other_kind)
            if other_kind and not hierarchies:
                self.table(column)
            return hierarchies

        self.change(state, action)

    def set_role(self, column: DraftColumn, role: str, target: bool, *, anew: bool = False) -> list[HierarchyFile]:
        """Set role and target of a column of a draft, as a person decides them.

        Another role than the one that was signed takes the signature away. Gives the hierarchy to start from of a
        quasi-identifier that has none, or needs another one (``anew``).
        """
        if role not in roles_of(column):
            raise ConfigError(f"{role!r} is no role of {column.name!r}", hint=f"one of: {', '.join(roles_of(column))}")
        if target != column.target:
            column.target = target
        hierarchies = []
        if role == Role.QUASI_IDENTIFIER and (column.hierarchy is None or anew):
            hierarchies.append(starter_file(column, self.table(column)))
            column.hierarchy = hierarchies[0].relative
        if role != column.role and column.draft["roles"] is not None:
            del column.draft["roles"]
        column.role = role
        return hierarchies

    def set_hierarchy(self, state: str, name: str, text: str, suffix: str) -> None:
        """Replace a column's hierarchy after a check on the data; raises as :meth:`change`."""

        def action(draft: Draft) -> list[HierarchyFile]:
            column = _column(draft, name)
            hierarchy = checked_file(column, self.table(column), text, suffix)
            if column.hierarchy != hierarchy.relative:
                column.hierarchy = hierarchy.relative
            return [hierarchy]

        self.change(state, action)

    def _as_seen(self, state: str) -> Draft:
        draft = self.read()
        if state_of(draft) != state:
            raise ConfigError(
                f"{self.path}: the file was changed since this page was shown", hint="look at it again, then decide"
            )
        return draft


def roles_of(column: DraftColumn) -> list[str]:
    """Roles that a column may have; of linked tables, the person table alone has weights."""
    is_below = column.table not in (None, column.draft["person"])
    return [str(role) for role in Role if role is not Role.WEIGHT or not is_below]


def state_of(draft: Draft) -> str:
    """Digest of a draft's text and its hierarchies, by which a change knows what the person saw."""
    digest = hashlib.sha256(draft.text.encode())
    for path, text in sorted(_hierarchies(draft).items()):
        digest.update(repr((str(path), text)).encode())
    return digest.hexdigest()[:32]


def _column(draft: Draft, name: str) -> DraftColumn:
    if name not in draft.columns:
        raise ConfigError(f"{draft.path}: there is no column {name!r}", hint="see the list of columns")
    return draft.columns[name]


def _hierarchies(draft: Draft) -> dict[Path, str | None]:
    named = {column.hierarchy for column in draft.columns.values() if column.hierarchy is not None}
    return {draft.folder / one: _text(draft.folder / one) for one in named}


def _text(path: Path) -> str | None:
    """Text of a file, line ends included; None without one."""
    return path.read_bytes().decode(errors="replace") if path.is_file() else None


def _write(after: Files, before: Files) -> None:
    """Write files, all or none; one that is to be none was made by the desk, and is as the desk wrote it."""
    done: list[Path] = []
    try:
        for path, text in after.items():
            done.append(path)
            _put(path, text)
    except HybridError:
        for path in done:
            _put(path, before[path])
        raise


def _put(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
    else:
        write_text(path, text, private=not path.exists())


AT_ONCE = 20_000
"""Combinations of levels up to which every page shows what k costs."""
ON_DEMAND = 2_000_000
"""The same for the page that people ask for it."""


@dataclass(frozen=True)
class ShownEffect:
    """Effect now, and before the last change where that was measured."""

    now: RoleEffect
    before: RoleEffect | None


class Effects:
    """Measured effects of a configuration, and of the one before."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._lock = threading.Lock()
        self._now: tuple[tuple[str, ...], int, RoleEffect] | None = None
        self._before: RoleEffect | None = None

    def of(self, most: int) -> ShownEffect | None:
        """Effect of the configuration; None while it, or its table, cannot be used.

        The least loss is searched for among so many combinations of levels at most.
        """
        with self._lock:
            try:
                draft = self._editor.read()
                config = draft.config
                key = _effect_key(config)
                if self._now is not None and self._now[0] == key and self._now[1] >= most:
                    return ShownEffect(self._now[2], self._before)
                found = role_effect(config, self._editor.person_table(draft), most)
            except HybridError:
                return None
            if self._now is not None and self._now[0] != key:
                self._before = self._now[2]
            self._now = key, most, found
            return ShownEffect(found, self._before)


def _effect_key(config: RunConfig) -> tuple[str, ...]:
    """Key of an effect; what a person only confirms is no part of it."""
    options = config.anonymize
    return searched(config), *([] if options is None else [str(options.k), repr(options.suppression_limit)])
