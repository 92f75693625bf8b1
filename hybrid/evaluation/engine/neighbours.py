"""Exact nearest neighbours in mixed data, in bounded memory, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.encoding import Encoded, Encoding

CHUNK = 512
TIE = 1e-9
"""Distances closer than this share of (1 + distance) are one distance: units must not break ties."""


class Columns(NamedTuple):
    """Records in the layout of the compiled loops.

    One contiguous row per column. ``numbers`` (p, n) float64, scaled, 0 where missing; ``screen`` the same in float32;
    ``missing`` (p, n) bool; ``has_missing`` (p,) bool; ``codes`` (q, n) int32, -1 where missing; ``weights`` (q,)
    float64, costs of a mismatch.
    """

    numbers: Array
    screen: Array
    missing: Array
    has_missing: Array
    codes: Array
    weights: Array

    def take(self, rows: Array) -> Columns:
        """Some of the records."""
        chosen = (np.ascontiguousarray(part[:, rows]) for part in (self.numbers, self.screen, self.missing, self.codes))
        numbers, screen, missing, codes = chosen
        return Columns(numbers, screen, missing, self.has_missing, codes, self.weights)


class Space(NamedTuple):
    """Distance: its columns, scales of numbers, and costs of differing categories.

    Gower: sum of |x - y| / range and of mismatches (not divided by p; ranks are the same).
    E1: squared L2 of standardized numbers and one-hot categories, in which a mismatch costs 2.
    Missing to missing is 0, missing to a value is 1 for numbers and a mismatch for categories.
    """

    columns: Array
    """Positions in the encoding: continuous ones first."""
    center: Array
    scale: Array
    weights: Array
    """Of the categorical columns."""
    squared: bool

    def place(self, table: Encoded) -> Columns:
        """The table's records in this space."""
        p = len(self.center)
        raw = table.numbers[:, self.columns[:p]]
        missing = np.isnan(raw)
        numbers = np.where(missing, 0.0, (raw - self.center) / self.scale).T
        numbers = np.ascontiguousarray(numbers)
        missing = np.ascontiguousarray(missing.T)
        codes = np.ascontiguousarray(table.ranks[:, self.columns[p:]].T)
        return Columns(numbers, numbers.astype(np.float32), missing, missing.any(axis=1), codes, self.weights)


def gower(encoding: Encoding, columns: Array | None = None, tables: Sequence[Encoded] | None = None) -> Space:
    """Gower's distance over the columns, all by default.

    Ranges are over the tables (by default all of the encoding).
    """
    numeric, other = _kinds(encoding, columns)
    values = np.concatenate([table.numbers[:, numeric] for table in tables or encoding.tables])
    low, span = extent(values)
    return Space(np.concatenate([numeric, other]), low, span, np.ones(len(other)), False)


def euclidean(encoding: Encoding, columns: Array | None = None) -> Space:
    """E1: standardized numbers and one-hot categories, L2.

    Numbers are standardized by the first table's (train's) mean and standard deviation (ddof 0).
    """
    numeric, other = _kinds(encoding, columns)
    values = encoding.tables[0].numbers[:, numeric]
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, values, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, values - center, 0.0) ** 2).sum(axis=0) / count)
    return Space(
        np.concatenate([numeric, other]), center, np.where(spread > 0, spread, 1.0), np.full(len(other), 2.0), True
    )


def extent(values: Array) -> tuple[Array, Array]:
    """Least value and range of every column.

    Missing values are left out; 0 and 1 where there is none.
    """
    known = ~np.isnan(values)
    low = np.min(values, axis=0, initial=np.inf, where=known)
    span = np.max(values, axis=0, initial=-np.inf, where=known) - low
    flat = ~(np.isfinite(span) & (span > 0))
    return np.where(np.isfinite(low), low, 0.0), np.where(flat, 1.0, span)


def _kinds(encoding: Encoding, columns: Array | None) -> tuple[Array, Array]:
    chosen = np.arange(len(encoding.columns)) if columns is None else columns
    return chosen[encoding.continuous[chosen]], chosen[~encoding.continuous[chosen]]


def magnitude(*tables: Columns) -> float:
    """Largest absolute coordinate, at least 1.

    The rounding of the float32 screen scales with it.
    """
    return float(max([1.0, *(np.abs(table.numbers).max(initial=0.0) for table in tables)]))


def nearest(
    space: Space, queries: Columns, references: Columns, k: int = 1, own: Array | None = None
) -> tuple[Array, Array]:
    """The k nearest references of every query.

    Parameters
    ----------
    space : Space
        In which both were placed.
    k : int
        Fewer than the references (than the others, with ``own``); the rest is inf and -1.
    own : numpy.ndarray, shape (n,), int64, optional
        Which reference is the query itself, -1 for none: a record is not its own neighbour.

    Returns
    -------
    distances : numpy.ndarray, shape (n, k), float64
        Ascending; for E1 the root is taken. Exact in float64.
    index : numpy.ndarray, shape (n, k), int64
        Rows of the references; the lowest of those at the same distance.
    """
    from hybrid.evaluation.engine import kernels

    n = queries.codes.shape[1]
    best = np.full((n, k), np.inf)
    index = np.full((n, k), -1, dtype=np.int64)
    itself = np.full(n, -1, dtype=np.int64) if own is None else own
    scale = magnitude(queries, references)

    def search(start: int, stop: int) -> None:
        kernels.nearest(queries, references, space.squared, itself, scale, start, stop, best, index)

    in_chunks(search, n)
    return (np.sqrt(best) if space.squared else best), index


def in_chunks(work: Callable[[int, int], None], n: int) -> None:
    """Call ``work(start, stop)`` for all rows 0..n-1.

    It uses all cores this process may use.
    """
    starts = range(0, n, CHUNK)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(starts) <= 1 or cores == 1:
        work(0, n)
        return
    with ThreadPoolExecutor(min(cores, len(starts))) as pool:
        list(pool.map(lambda start: work(start, min(start + CHUNK, n)), starts))


def linked(
    spaces: tuple[Space, Space], queries: tuple[Columns, Columns], references: tuple[Columns, Columns], k: int
) -> Array:
    """True where nearest references in two spaces share a record.

    Of each query; shape (n,), bool. The nearest are all references at most as far as the k-th nearest: ties are sets,
    so that the order of the references does not matter.
    """
    from hybrid.evaluation.engine import kernels

    reach = [
        np.ascontiguousarray(nearest(space, q, r, k)[0][:, -1])
        for space, q, r in zip(spaces, queries, references, strict=True)
    ]
    out = np.zeros(queries[0].codes.shape[1], dtype=bool)
    scale = magnitude(*queries, *references)

    def work(start: int, stop: int) -> None:
        kernels.linked(
            queries[0], references[0], queries[1], references[1], reach[0], reach[1], scale, start, stop, out
        )

    in_chunks(work, len(out))
    return out


class Secrets(NamedTuple):
    """Values that an attacker guesses, and when a guess is right.

    ``ranks`` (m, n) int32 and ``numbers`` (m, n) float64 of m secret columns; ``relative`` and ``absolute`` (m,):
    numbers agree within the larger of ``relative`` times the larger of the two and ``absolute``.
    """

    ranks: Array
    numbers: Array
    relative: Array
    absolute: Array
    symmetric: bool
    """Whether ``relative`` is of the larger of the two (else of the guess alone)."""

    def take(self, rows: Array) -> Secrets:
        """Some of the records."""
        ranks, numbers = (np.ascontiguousarray(part[:, rows]) for part in (self.ranks, self.numbers))
        return self._replace(ranks=ranks, numbers=numbers)


class Guesses(NamedTuple):
    """Guesses of each query's secrets from its nearest references; shapes (n, m)."""

    ties: Array
    """References at the smallest distance."""
    hits: Array
    """Those of them that have the secret."""
    first: Array
    """Whether the first of them in the order of the references does."""


def infer(queries: Columns, references: Columns, secrets: Array, truth: Secrets, guess: Secrets) -> Guesses:
    """Guess each secret from the nearest references.

    Nearest in all other columns, for all secrets in one pass.

    Parameters
    ----------
    queries, references : Columns
        In Gower's space over the columns that the attacker knows; a secret may be among them.
    secrets : numpy.ndarray, shape (m,)
        Positions of the secrets in the space's columns, -1 for one that is not there; each is left out of the
        distance when it is guessed.
    truth, guess : Secrets
        The secrets of the queries and of the references.
    """
    from hybrid.evaluation.engine import kernels

    asked, answer = _distinct(queries, truth)
    rows, row = _distinct(references, guess)
    queries, references = queries.take(asked), references.take(rows)
    truth, guess = truth.take(asked), guess.take(rows)
    times = np.bincount(row).astype(np.int32)
    n, m = len(asked), len(secrets)
    best = np.full((n, m), np.inf)
    ties, hits = np.zeros((n, m), dtype=np.int32), np.zeros((n, m), dtype=np.int32)
    first = np.zeros((n, m), dtype=bool)
    scale = magnitude(queries, references)

    def work(start: int, stop: int) -> None:
        kernels.infer(queries, references, times, secrets, truth, guess, scale, start, stop, best, ties, hits, first)

    in_chunks(work, n)
    return Guesses(ties[answer], hits[answer], first[answer])


def _distinct(records: Columns, secrets: Secrets) -> tuple[Array, Array]:
    """First occurrences of the distinct records, and each record's number.

    The occurrences are in their order; all records are compared once.
    """
    import pandas as pd

    values = [*records.codes, *records.numbers, *records.missing, *secrets.ranks, *secrets.numbers]
    keys = np.zeros(records.codes.shape[1], dtype=np.int64)
    for value in values:
        codes, distinct = pd.factorize(value, use_na_sentinel=False)
        keys = pd.factorize(keys * len(distinct) + codes)[0].astype(np.int64)
    return np.unique(keys, return_index=True)[1], keys
