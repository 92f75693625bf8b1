"""Parts of labelled rows that a warehouse sorts one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hybrid.base.arrays import Array, Codes, Counts

Part = tuple[tuple[int, int], ...]
"""First and last label of each of the leading quasi-identifiers; further ones may have any."""

_ROW_BYTES, _CELL_BYTES = 24, 8
"""What a sort takes for a row and each cell; 15 to 78 bytes in all were measured in DuckDB for rows of 4 to 9 labels,
numbers or short texts."""


def rows_at_once(sort_bytes: float, n_columns: int) -> float:
    """Rows of so many columns that a sort has room for."""
    return sort_bytes / (_ROW_BYTES + _CELL_BYTES * n_columns)


def parts_of(labels: Sequence[Codes], records: Counts, most: float) -> Iterator[Part]:
    """Ranges of labels that share out all rows.

    Parameters
    ----------
    labels : sequence of numpy.ndarray, each of shape (n_classes,), int
        Positions of the labels of each class, by quasi-identifier.
    records : numpy.ndarray, shape (n_classes,), int64
        Rows of each class.
    most : float
        Rows of a part. A class with more is a part of its own.

    Yields
    ------
    Part
        In the order of their labels. Each class is in one of them, so that the parts tell nothing of a row but its
        labels.
    """
    if not labels or records.sum() <= most:
        yield ()
        return
    here, *others = labels
    for first, last in _ranges(np.bincount(here, records), most):
        if first < last:
            yield ((first, last),)
            continue
        within = here == first
        for rest in parts_of([codes[within] for codes in others], records[within], most):
            yield ((first, last), *rest)


def _ranges(records: Array, most: float) -> Iterator[tuple[int, int]]:
    """First and last label of neighbours.

    Together they have at most ``most`` records, or are one label.
    """
    used = np.flatnonzero(records)
    first, last, total = int(used[0]), int(used[0]), records[used[0]]
    for label in map(int, used[1:]):
        if total + records[label] > most:
            yield first, last
            first, total = label, 0.0
        last, total = label, total + records[label]
    yield first, last
