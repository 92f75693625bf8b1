"""Sessions with DuckDB, on a file of this machine."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, unquote

import pyarrow as pa

from hybrid.table.warehouse import Warehouse

MOST_TEXTS = 10_000
"""Texts of an enumeration; beyond it a dictionary is kept as texts."""


class DuckdbWarehouse(Warehouse):
    """A session with DuckDB.

    Dictionaries that are sent become enumerations: rows that get a label from one are joined, sorted and written as
    small numbers, at a third of the cost of texts.
    """

    def keep(self, expression: Any) -> Any:
        """Make a temporary table, as :meth:`Warehouse.keep`.

        Dictionaries are enumerations in the order of their texts.
        """
        made = super().keep(expression)
        table = self.quoted(made.get_name())
        if isinstance(expression, pa.Table):
            for name, column in zip(expression.column_names, expression.columns, strict=True):
                if pa.types.is_dictionary(column.type) and 0 < len(texts := _texts(column)) <= MOST_TEXTS:
                    kind = ", ".join(self.literal(text) for text in texts)
                    self.execute(f"ALTER TABLE {table} ALTER {self._quoted(name)} TYPE ENUM ({kind})")
        return made

    def write(self, name: str, expression: Any) -> Any:
        """Make a table, as :meth:`Warehouse.write`.

        Enumerations stay what they are, where ibis writes texts.
        """
        if isinstance(expression, pa.Table):
            return super().write(name, expression)
        self.execute(f"CREATE TABLE {self.quoted(name)} AS {self._backend.compile(expression)}")
        return self.table(name)


def _texts(column: pa.ChunkedArray) -> list[str]:
    """All texts of a dictionary, sorted.

    Also those that no row has, so that tables of one dictionary have one type.
    """
    found = {text for chunk in column.chunks for text in chunk.dictionary.to_pylist()}
    return sorted(found, key=str.encode)


def connected(module: Any, url: SplitResult, memory: float | None) -> DuckdbWarehouse:
    """Open the file of an address.

    Nothing is loaded from the network, and no file is made.

    Parameters
    ----------
    module : ibis module
        ``ibis.duckdb``.
    url : SplitResult
        ``duckdb:///FILE``.
    memory : float, optional
        Bytes that DuckDB may take; what does not fit is in a folder beside the file until the session ends.
    """
    limit = {} if memory is None else {"memory_limit": f"{int(memory / 2**20)}MiB"}
    off = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false")
    backend = module.connect(unquote(url.path.removeprefix("/")), **off, **limit)
    backend.con.execute("SET enable_progress_bar = false")  # it would write to standard output in a notebook
    return DuckdbWarehouse(backend)
