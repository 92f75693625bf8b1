"""Row keys: several integer columns as one integer per row, below 2^62.

The one packer of the package. A key is a mixed-radix number, the first column its most significant digit, so keys are
in the lexicographic order of the rows. Where the product of the columns' cardinalities exceeds :data:`LIMIT`, the
prefix read so far is replaced by its rank among the prefixes that occur, which keeps both equality and order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Counts, Mask, Numbers, Rows

LIMIT = 1 << 62
"""Keys stay below this: an int64 holds them, and the sum of two."""
DENSE = 1 << 21
"""Keys below this may index a table directly, whatever the number of rows."""


def fits(sizes: Iterable[int]) -> bool:
    """True if one key below :data:`LIMIT` holds columns of these cardinalities without ranking prefixes."""
    return math.prod(sizes) <= LIMIT


def pack(columns: Iterable[tuple[Codes, int]], n_rows: int) -> tuple[Codes, int]:
    """One key per row, int64, and a bound (at most :data:`LIMIT`) that all keys are below.

    Keys are equal for equal rows only, in the lexicographic order of the rows. ``columns`` are codes 0..cardinality-1
    of shape (n_rows,), each with its cardinality; they may be made one at a time.
    """
    keys: Codes = np.zeros(n_rows, dtype=np.int64)
    bound = 1
    for codes, size in columns:
        if size <= 1:
            continue
        if bound * size > LIMIT:
            keys, bound = ranks(keys)
        keys *= size
        keys += codes
        bound *= size
    return keys, bound


def pack_small(columns: Iterable[tuple[Codes, int]], n_rows: int) -> tuple[Codes, int]:
    """One key per row, as :func:`pack`, with a bound of at most max(:data:`DENSE`, n_rows)."""
    keys, bound = pack(columns, n_rows)
    return ranks(keys) if bound > max(DENSE, n_rows) else (keys, bound)


def ranks(keys: Codes) -> tuple[Codes, int]:
    """Keys as 0..n_distinct-1 in the same order, and n_distinct."""
    numbers, distinct = pd.factorize(keys)
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(distinct)] = np.arange(len(distinct))
    return rank[numbers], len(distinct)


def by_first_row(keys: Codes) -> tuple[Codes, int]:
    """Keys as 0..n_distinct-1 in the order of their first rows, and n_distinct."""
    numbers, distinct = pd.factorize(keys)
    return np.asarray(numbers, dtype=np.int64), len(distinct)


def group_rows(keys: Codes, bound: int) -> tuple[Codes, Rows]:
    """Group of each row by equal keys, 0..n_groups-1, and one row of each group, ascending.

    Keys are below ``bound``, as of :func:`pack_small`: a table of so many entries is made.
    """
    some_row = np.empty(bound, dtype=np.int64)
    rows = np.arange(len(keys))
    some_row[keys] = rows
    chosen = some_row[keys]
    is_chosen = chosen == rows
    number = np.cumsum(is_chosen) - 1
    return number[chosen], np.flatnonzero(is_chosen)


def group_sums(groups: Codes, weights: Numbers | Counts | Mask, n_groups: int) -> Numbers:
    """Sum of the weights of each group 0..n_groups-1; shape (n_groups,), float64."""
    sums: Any = np.bincount(groups, weights, n_groups)
    return np.asarray(sums, dtype=np.float64)
