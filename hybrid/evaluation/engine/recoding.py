"""Encoding of a table that was changed in a few rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.encoding import Encoded, Encoding, coded_numbers, coded_ranks, encode
from hybrid.table import Table


def encode_changed(before: Encoding, tables: Sequence[Table], changed: Array) -> Encoding:
    """Encode tables as :func:`~.encoding.encode` does, from an earlier encoding.

    Numbers and dates of unchanged rows are not ranked again: their ranks move by the values that came and went.

    Parameters
    ----------
    before : Encoding
        Of the same tables, the last of them before it was changed.
    tables : sequence of Table
        As they are now.
    changed : numpy.ndarray, shape (n,), int64
        Rows of the last table that differ; all its other rows, and the other tables, are as they were.
    """
    if any(_varies(tables, name, changed) for name, reason in before.excluded.items() if reason == "constant"):
        return encode(tables)
    total = sum(map(len, tables))
    places = total - len(tables[-1]) + changed
    ranks = np.empty((total, len(before.columns)), dtype=np.int32)
    last = before.tables[-1].numbers.copy()
    cardinality = []
    for at, column in enumerate(before.columns):
        series = [table.frame[column.name] for table in tables]
        if column.kind.is_continuous:
            old = np.concatenate([part.ranks[:, at] for part in before.tables])
            ranks[:, at], count = _moved(old, series, places)
            last[changed, at] = coded_numbers(series[-1].iloc[changed], column.kind)
        else:
            ranks[:, at], count = coded_ranks(series, column.kind)
        if count + int((ranks[:, at] < 0).any()) <= 1:
            return encode(tables)
        cardinality.append(count)
    parts = np.split(ranks, np.cumsum([len(table) for table in tables])[:-1])
    numbers = [*(part.numbers for part in before.tables[:-1]), last]
    coded = tuple(Encoded(r, x) for r, x in zip(parts, numbers, strict=True))
    return Encoding(before.columns, before.excluded, coded, np.array(cardinality, dtype=np.int64))


def _varies(tables: Sequence[Table], name: str, changed: Array) -> bool:
    """True if a constant column has another value in a changed row."""
    first, last = tables[0].frame[name].iloc[:1], tables[-1].frame[name].iloc[changed]
    codes, distinct = pd.factorize(pd.concat([first, last], ignore_index=True).astype(object))
    return len(distinct) + int((codes < 0).any()) > 1


def _moved(old: Array, series: Sequence[pd.Series], places: Array) -> tuple[Array, int]:
    """Ranks of a numeric column after some values changed.

    With the number of distinct values.

    Parameters
    ----------
    old : numpy.ndarray, shape (n,)
        Ranks of all rows before.
    series : sequence of pandas.Series
        The column now, n rows together.
    places : numpy.ndarray, shape (n_changed,), int64
        Rows that changed.
    """
    same = np.ones(len(old), dtype=bool)
    same[places] = False
    example = np.full(int(old.max(initial=-1)) + 2, -1, dtype=np.int64)
    """A row with each rank; the last place is that of missing values."""
    example[old[same]] = np.flatnonzero(same)
    held = np.flatnonzero(example[:-1] >= 0)
    starts = np.cumsum([0, *map(len, series)])
    rows = np.concatenate([example[held], places])
    owner = np.searchsorted(starts, rows, side="right") - 1
    values = pd.concat([part.iloc[rows[owner == at] - starts[at]] for at, part in enumerate(series)], ignore_index=True)
    by_table = np.argsort(owner, kind="stable")
    codes = np.empty(len(rows), dtype=np.int32)
    found, distinct = pd.factorize(values, sort=True)
    codes[by_table] = found
    now = np.full(len(example), -1, dtype=np.int32)
    now[held] = codes[: len(held)]
    ranks = now[old]
    ranks[places] = codes[len(held) :]
    return ranks, len(distinct)
