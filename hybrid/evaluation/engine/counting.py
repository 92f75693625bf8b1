"""Counts of matching records: categories equal, numbers within a radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.encoding import row_keys
from hybrid.evaluation.engine.space import TIE, Columns
from hybrid.evaluation.engine.threads import in_chunks


def matching(queries: Columns, references: Columns, radius: float, weights: Array | None = None) -> Array:
    """Weight of the references that match each query.

    A match equals the query in all categories and lies within ``radius`` in every number. Records are grouped by their
    categories and sorted by their numbers inside a group. Up to two numbers cost O((n + m) log m) time whatever the
    sizes of the groups; of three and more, the references within reach in the most selective number are compared in the
    others. Memory is O(n + m).

    Parameters
    ----------
    queries, references : Columns
        Records in one space.
    radius : float
        Largest difference of two numbers, in units of the space: below 1, the distance of missing from a number.
    weights : numpy.ndarray, shape (n_references,), optional
        What a reference counts; 1 by default.

    Returns
    -------
    numpy.ndarray, shape (n_queries,), float64
    """
    mine, its = row_keys([_exact(queries), _exact(references)])
    worth = np.ones(len(its)) if weights is None else weights
    numbers = zip(queries.numbers, references.numbers, strict=True)
    windows = sorted((_window(x, y, radius + TIE) for x, y in numbers), key=lambda window: window.reach)
    if not windows:
        n_groups = 1 + max(int(mine.max(initial=-1)), int(its.max(initial=-1)))
        return np.asarray(np.bincount(its, worth, n_groups)[mine])
    first, others = windows[0], windows[1:]
    width = len(its) + 1
    place = its * width + first.rank
    order = np.argsort(place, kind="stable")
    begin, end = (np.searchsorted(place[order], mine * width + side) for side in (first.low, first.high))
    if not others:
        summed = np.concatenate([[0.0], np.cumsum(worth[order])])
        return np.asarray(summed[end] - summed[begin])
    return _in_all(others, order, begin, end, worth[order])


class Window(NamedTuple):
    """References within reach of each query in one number.

    They are those whose rank is in low..high-1.
    """

    low: Array
    high: Array
    rank: Array
    """Of each reference, shape (n_references,)."""
    reach: float
    """References in a window, on average."""


def _window(queries: Array, references: Array, radius: float) -> Window:
    ordered = np.sort(references)
    low, high = np.searchsorted(ordered, queries - radius), np.searchsorted(ordered, queries + radius, side="right")
    return Window(low, high, np.searchsorted(ordered, references), float((high - low).sum()) / max(len(low), 1))


def _exact(records: Columns) -> Array:
    """Columns of exact comparison; shape (n, q + p), int32.

    The categories, and which numbers are missing, must be equal.
    """
    return np.column_stack([records.codes.T, records.missing.T.astype(np.int32)])


def _in_all(windows: list[Window], order: Array, begin: Array, end: Array, worth: Array) -> Array:
    """Weight of the references in all windows of each query.

    The references of query i are ``order[begin[i]:end[i]]``.
    """
    from hybrid.evaluation.engine import kernels

    low, high = (np.array([window[side] for window in windows]) for side in (0, 1))
    ranks = np.array([window.rank[order] for window in windows])
    found = np.zeros(len(begin))
    if len(windows) == 1:
        events = np.argsort(np.concatenate([begin, end]), kind="stable")
        kernels.sweep(low[0], high[0], ranks[0], begin, end, events, worth, found)
        return found

    def compare(start: int, stop: int) -> None:
        kernels.inside(low, high, ranks, begin, end, worth, start, stop, found)

    in_chunks(compare, len(begin))
    return found
