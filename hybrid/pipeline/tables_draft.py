"""Draft of a configuration of linked tables, edited key by key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hybrid.base.atomic import write_text
from hybrid.pipeline.config import RunConfig, configured
from hybrid.pipeline.config_file import read_config_file
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.draft_text import DraftColumn, DraftText
from hybrid.pipeline.links import is_linked
from hybrid.pipeline.starter.config_text import refuse_existing
from hybrid.table import Table


class LinkedDraft(DraftText):
    """Editable configuration of linked tables, with undo.

    Columns are called TABLE.COLUMN. Keys and parent columns that the configuration does not list are none of them.
    """

    @property
    def config(self) -> RunConfig:
        """The checked configuration; errors as :attr:`hybrid.pipeline.draft.Draft.config`."""
        return configured(self.document.content, {}, self.path)

    def _listed(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for table, about in (self.document.get(("tables",)) or {}).items():
            for name in about.get("columns") or {}:
                yield f"{table}.{name}", ("tables", table, "columns", name)

    def write(self, path: Path | str, force: bool = False) -> tuple[Path, ...]:
        """Write the configuration; parameters, result and errors as :meth:`hybrid.pipeline.draft.Draft.write`."""
        target = Path(path)
        _ = self.config
        refuse_existing((target,), force)
        write_text(target, self.text)
        return (target,)


def read_draft(path: Path | str) -> Draft | LinkedDraft:
    """Read a configuration to edit it: one table or linked tables.

    Raises
    ------
    ConfigError
        The file is missing, or no YAML.
    """
    return LinkedDraft.read(path) if is_linked(read_config_file(Path(path))) else Draft.read(path)


def table_of(column: DraftColumn) -> str | None:
    """Name of a column's linked table; None: the only table."""
    return column.path[1] if column.path[0] == "tables" else None


def all_columns(config: RunConfig | RunConfig, name: str | None) -> Table:
    """All columns of one table.

    Parameters
    ----------
    config : RunConfig or RunConfig
        Says how it is read.
    name : str or None
        Of a linked table; None: the only table.

    Raises
    ------
    HybridError
        The table cannot be used.
    """
    return config.load_all_columns() if name in (None, config.links.person) else config.load_source(name)
