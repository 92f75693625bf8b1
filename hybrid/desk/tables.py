"""Tables behind a configuration, kept in memory while the desk is open."""

from __future__ import annotations

from dataclasses import replace

from hybrid.base.hashing import file_stamp
from hybrid.linked.config import LinkedConfig
from hybrid.linked.draft import LinkedDraft, all_columns
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.draft import Draft
from hybrid.table import Schema, Table
from hybrid.table.data_options import DataOptions

AnyDraft = Draft | LinkedDraft


class KeptTables:
    """Cache of tables by name. Private.

    A table is read again when its file or its reading has changed.
    """

    def __init__(self) -> None:
        self._tables: dict[str | None, tuple[str, Table]] = {}

    def read(self, draft: AnyDraft, name: str | None) -> Table:
        """Table with the roles of a draft, read once.

        Parameters
        ----------
        draft : Draft or LinkedDraft
            Says how it is read.
        name : str or None
            Of a linked table; None: the only table.

        Raises
        ------
        HybridError
            The configuration is wrong, or the table cannot be used.
        """
        config = draft.config
        data = config.data if isinstance(config, RunConfig) else config.source(str(name))
        key = _key(config, data)
        if name not in self._tables or self._tables[name][0] != key:
            self._tables[name] = key, all_columns(config, name)
        return _with_roles(self._tables[name][1], data)


def _key(config: RunConfig | LinkedConfig, data: DataOptions) -> str:
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
