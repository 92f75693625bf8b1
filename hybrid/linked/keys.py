"""Keys of released tables: surrogates that link drawn rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from hybrid.linked.options import LinkOptions
from hybrid.linked.sources import Sources
from hybrid.linked.view import LinkedTable, View
from hybrid.table import DTYPES, Table
from hybrid.table.surrogates import with_surrogates


def with_keys(links: LinkOptions, sources: Sources, tables: Mapping[str, LinkedTable]) -> dict[str, Table]:
    """Released tables with the columns of their sources.

    Every row has a key of its own, and the key of the parent row that it was drawn for: references are whole by
    construction. Other identifiers are surrogates, too.

    Parameters
    ----------
    links : LinkOptions
        Keys and parents.
    sources : Sources
        Columns, and identifiers that must not occur.
    tables : mapping of str to LinkedTable
        Pipelines, parents first.
    """
    found: dict[str, Table] = {}
    for name, pipeline in tables.items():
        source, options = sources.tables[name], links.tables[name]
        own = pipeline.own if isinstance(pipeline, View) else pipeline.generated.table.schema.names
        table = with_surrogates(pipeline.generated.table.only(own), source.schema, source)
        if isinstance(pipeline, View) and options.parent is not None:
            parent = found[options.parent.table].frame[links.tables[options.parent.table].key]
            keys = parent.take(pipeline.drawn_owners).reset_index(drop=True)
            table = _with(table, options.parent.column, keys)
        found[name] = table
    return found


def _with(table: Table, name: str, keys: pd.Series) -> Table:
    """The table with the keys of its parents."""
    texts = not isinstance(keys.dtype, pd.Int64Dtype)
    dtype = "category" if texts else DTYPES[table.schema[name].kind]
    return replace(table, frame=table.frame.assign(**{name: keys.astype(dtype)}))
