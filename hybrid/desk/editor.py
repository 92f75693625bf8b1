"""Changes of the configuration file on the desk, with undo."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.starter.columns import GuessedColumn, hierarchy_paths, write_hierarchies
from hybrid.pipeline.starter.hierarchies import guess_hierarchy
from hybrid.pipeline.starter.roles import GuessedRole
from hybrid.table import Role, Table


class Editor:
    """The configuration file of a desk.

    Every change is written at once, as by hand; whoever edits the file beside the desk loses nothing: a change that was
    based on another text is refused.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._before: list[tuple[str, str]] = []
        self._table: tuple[str, Table] | None = None
        self._first = self.read().document

    def read(self) -> Draft:
        """The draft as the file has it now."""
        return Draft.read(self.path)

    @property
    def can_undo(self) -> bool:
        """True if the last change of this desk can be taken back."""
        return bool(self._before) and self._before[-1][1] == state_of(self.read())

    @property
    def difference(self) -> str:
        """Lines that differ since the desk was opened, as a unified difference."""
        return self._first.difference(self.read().document)

    def change(self, state: str, action: Callable[[Draft], Callable[[], None] | None]) -> str:
        """Change the file.

        Parameters
        ----------
        state : str
            Of the text that the person saw (:func:`state_of`).
        action : callable
            Changes a draft of it; returns what else is to be written, once the draft is found right.

        Returns
        -------
        str
            Changed lines, as a unified difference.

        Raises
        ------
        ConfigError
            The file has another text by now, or the change is wrong; nothing was written.
        """
        with self._lock:
            draft = self._as_seen(state)
            before = draft.text
            write_more = action(draft)
            _ = draft.config
            if write_more is not None:
                write_more()
            draft.write(self.path, force=True)
            self._before.append((before, state_of(draft)))
            return draft.difference

    def undo(self, state: str) -> str:
        """Take the last change back; returns and raises as :meth:`change`."""
        with self._lock:
            draft = self._as_seen(state)
            if not self._before or self._before[-1][1] != state_of(draft):
                raise ConfigError(f"{self.path}: there is nothing to undo", hint="edit the file by hand")
            text, _ = self._before.pop()
            write_text(self.path, text)
            return draft.document.difference(self.read().document)

    def table(self, draft: Draft) -> Table:
        """The table that the draft reads; kept until its reading changes. Private.

        Errors as :meth:`hybrid.pipeline.config.RunConfig.load_all_columns`.
        """
        config = draft.config
        reading = config.data.model_dump(mode="json")
        reading["columns"] = {name: (one["kind"], one["format"]) for name, one in reading["columns"].items()}
        file = config.path(config.data.path) if config.data.path else None
        known = None if file is None or not file.is_file() else file.stat()
        key = repr((reading, None if known is None else (known.st_mtime_ns, known.st_size)))
        if self._table is None or self._table[0] != key:
            self._table = key, config.load_all_columns()
        return self._table[1]

    def give_role(self, state: str, name: str, role: str) -> str:
        """Set a column's role.

        A quasi-identifier without a hierarchy gets one to start from.

        Returns and raises as :meth:`change`.
        """

        def action(draft: Draft) -> Callable[[], None] | None:
            if name not in draft.columns:
                raise ConfigError(f"{self.path}: there is no column {name!r}", hint="see data.columns")
            column, write = draft.columns[name], None
            if role == Role.QUASI_IDENTIFIER and column.hierarchy is None:
                column.hierarchy, write = self._hierarchy(draft, name)
            column.role = role
            return write

        return self.change(state, action)

    def _hierarchy(self, draft: Draft, name: str) -> tuple[str, Callable[[], None]]:
        """Relative path of a new hierarchy, and what writes it."""
        table = self.table(draft)
        values, column = table.frame[name], table.schema[name]
        if values.nunique() < 2:
            raise ConfigError(
                f"{name!r} has fewer than two values: there is nothing to generalize", hint="another role"
            )
        guessed = GuessedColumn(column, GuessedRole(Role.QUASI_IDENTIFIER, False, ""), guess_hierarchy(column, values))
        found = hierarchy_paths((guessed,), self.path.parent / "hierarchies")[name]
        path, number = found, 2
        while path.exists():
            path, number = found.with_stem(f"{found.stem}_{number}"), number + 1
        relative = path.relative_to(self.path.parent).as_posix()
        return relative, lambda: write_hierarchies(table, (guessed,), {name: path})

    def _as_seen(self, state: str) -> Draft:
        draft = self.read()
        if state_of(draft) != state:
            raise ConfigError(
                f"{self.path}: the file was changed since this page was shown", hint="look at it again, then decide"
            )
        return draft


def state_of(draft: Draft) -> str:
    """Digest of a draft's text.

    By it a change knows what the person saw.
    """
    return hashlib.sha256(draft.text.encode()).hexdigest()[:32]
