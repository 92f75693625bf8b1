"""Keys of released tables: surrogates that link drawn rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Rows
from hybrid.pipeline.child_run import DrawnRows
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.links import LinkOptions, ThroughOptions
from hybrid.pipeline.sources import pairs_of, preferred_first
from hybrid.table import DTYPES, Table
from hybrid.table.surrogates import numbered, table_numbers, with_surrogates


def with_keys(
    links: LinkOptions,
    sources: Sources,
    drawn: Mapping[str, DrawnRows],
    before: Mapping[str, int] | None = None,
    tables: int = 1,
) -> dict[str, Table]:
    """Released tables with the columns of their sources.

    Every row has a key of its own, and the key of the parent row that it was drawn for: references are whole by
    construction. Other identifiers are surrogates, too.

    ``before`` are the rows of each table that were drawn before, whose surrogates are not used again. Where there are
    several ``tables`` (sets that the people are parted into, with all of their rows), the last column numbers them, and
    no reference leads from one set to another.
    """
    found: dict[str, Table] = {}
    number = table_numbers(len(drawn[links.person].table), tables)
    for name, rows in drawn.items():
        source, options = sources.tables[name], links.tables[name]
        own = [column for column in rows.table.schema.names if column in source.schema]
        after = (0, 0) if before is None else (before[name], before[links.person])
        table = with_surrogates(rows.table.only(own), source.schema, source, after=after)
        if options.parent is not None and options.parent.through is None:
            parent = found[options.parent.table].frame[links.tables[options.parent.table].key]
            table = _with(table, options.parent.column, parent.take(rows.owners).reset_index(drop=True))
        through = pairs_of(links, name)
        if through is not None and options.parent is not None:
            owned = links.tables[options.parent.table].parent
            assert owned is not None
            key = found[owned.table].frame[links.tables[owned.table].key]
            sets = number[drawn[owned.table].table.persons]
            partners = _partners(table, through, rows.owners, drawn[options.parent.table].owners, sets)
            table = _with(table, through.owner, key.take(partners).reset_index(drop=True))
        found[name] = table
    if tables > 1:
        return {name: numbered(table, number[drawn[name].table.persons]) for name, table in found.items()}
    return found


def _partners(pairs: Table, through: ThroughOptions, rows: Rows, owners: Rows, sets: Codes) -> Rows:
    """Parent of each pair: the owner for one pair of each row, others for the others; shape (n_pairs,).

    ``rows`` has the row that each pair belongs to, ``owners`` its owner; ``sets`` is the number of the set of each
    possible parent, ascending: all partners are of one set.
    """
    order = preferred_first(pairs, through)
    first = np.zeros(len(pairs), dtype=bool)
    first[order[~pd.Series(rows[order]).duplicated().to_numpy()]] = True
    # Drawn people are in random order: the next ones are as good as any.
    own = owners[rows]
    begin, end = (np.searchsorted(sets, sets[own], side) for side in ("left", "right"))
    steps = np.where(first, 0, 1 + np.arange(len(pairs)) % np.maximum(end - begin - 1, 1))
    found: Rows = begin + (own - begin + steps) % (end - begin)
    return found


def _with(table: Table, name: str, keys: pd.Series) -> Table:
    texts = not isinstance(keys.dtype, pd.Int64Dtype)
    dtype = "category" if texts else DTYPES[table.schema[name].kind]
    return replace(table, frame=table.frame.assign(**{name: keys.astype(dtype)}))
