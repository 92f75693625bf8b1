"""Exact nearest neighbours in mixed data, in bounded memory, on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.blocks import Blocks, blocks, sorted_order
from hybrid.evaluation.engine.space import TIE, Columns, Space, magnitude
from hybrid.evaluation.engine.threads import in_chunks

SEARCHED = 0.2
"""About the share of all pairs that a search compares, between that of Adult (15 columns) and of Diabetes-130 (38)."""


class Sorted(NamedTuple):
    """Sorted references of one space, with their blocks."""

    records: Columns
    blocks: Blocks


def in_blocks(space: Space, references: Columns) -> Sorted:
    return Sorted(*blocks(references, sorted_order(references, space.squared)))


def nearest(
    space: Space,
    queries: Columns,
    references: Columns | Sorted,
    k: int = 1,
    own: Array | None = None,
) -> tuple[Array, Array]:
    """The k nearest references of every query: distances, ascending and exact in float64, and rows; shapes (n, k).

    For E1 the root is taken. Of references at the same distance the lowest comes first; where there are fewer, the rest
    is inf and -1. ``references`` may be those that :func:`in_blocks` sorted, for several searches. ``own`` says which
    reference is the query itself and so not its neighbour, -1 for none.
    """
    return nearest_of_pieces(space, queries, references, (), k, own)[0]


def nearest_of_others(
    space: Space, queries: Columns, references: Columns, persons: Array, owners: Array, own: Array | None = None
) -> tuple[Array, Array]:
    """The nearest reference of another person, as :func:`nearest`; inf and -1 where all are of the query's person."""
    distances, index = np.full(len(owners), np.inf), np.full(len(owners), -1)
    left, k = np.arange(len(owners)), 1
    while len(left):
        found = nearest(space, queries.take(left), references, min(k, len(persons)), None if own is None else own[left])
        another = (found[1] >= 0) & (persons[found[1]] != owners[left, None])
        first, has = another.argmax(axis=1), another.any(axis=1)
        at = left[has]
        distances[at], index[at] = (side[has, first[has]] for side in found)
        if k >= len(persons):
            break
        left, k = left[~has], 4 * k
    return distances, index


def nearest_of_pieces(
    space: Space,
    queries: Columns,
    references: Columns | Sorted,
    pieces: Sequence[Array],
    k: int = 1,
    own: Array | None = None,
) -> list[tuple[Array, Array]]:
    """The k nearest references, of all and of each piece.

    One search finds them all: it costs less than one of each piece. Pieces are ascending rows of the references, no row
    in two. Each result is that of :func:`nearest`, of all references first; those of a piece are numbered by their
    place in it.
    """
    from hybrid.evaluation.engine import search_kernels

    n, lists = queries.codes.shape[1], 1 + len(pieces)
    best, index = np.full((lists, n, k), np.inf), np.full((lists, n, k), -1, dtype=np.int64)
    itself = np.full(n, -1, dtype=np.int64) if own is None else own
    placed, found = references if isinstance(references, Sorted) else in_blocks(space, references)
    piece_of = np.zeros(placed.codes.shape[1] if pieces else 0, dtype=np.int8)
    for number, rows in enumerate(pieces, 1):
        piece_of[rows] = number
    known = queries, placed, found, space.squared, itself, piece_of, magnitude(queries, placed)
    in_chunks(n, search_kernels.nearest, *known, out=(best, index))
    if space.squared:
        np.sqrt(best, out=best)
    for number, rows in enumerate(pieces, 1):
        index[number] = np.where(index[number] < 0, -1, np.searchsorted(rows, index[number]))
    return list(zip(best, index, strict=True))


def within(
    space: Space, queries: Columns, references: Columns | Sorted, reach: Array, own: Array | None = None
) -> Array:
    """Number of references within reach of each query, ties by rounding included; ``own[i]`` (-1: none) is left out."""
    from hybrid.evaluation.engine import search_kernels

    n = queries.codes.shape[1]
    out = np.zeros(n, dtype=np.int64)
    itself = np.full(n, -1, dtype=np.int64) if own is None else own
    placed, found = references if isinstance(references, Sorted) else in_blocks(space, references)
    far = reach + TIE * (1 + reach)
    limits = far**2 if space.squared else far
    known = queries, placed, found, space.squared, itself, limits, magnitude(queries, placed)
    in_chunks(n, search_kernels.within, *known, out=[out])
    return out


def linked(
    spaces: tuple[Space, Space], queries: tuple[Columns, Columns], references: tuple[Columns, Columns], k: int
) -> Array:
    """True where the nearest references (all as far as the k-th at most) of a query in two spaces share a record."""
    from hybrid.evaluation.engine import search_kernels

    reach = [
        np.ascontiguousarray(nearest(space, q, r, k)[0][:, -1])
        for space, q, r in zip(spaces, queries, references, strict=True)
    ]
    out = np.zeros(queries[0].codes.shape[1], dtype=bool)
    scale, order = magnitude(*queries, *references), sorted_order(_beside(*references), False)
    sides = [(asked, *blocks(side, order), near) for asked, side, near in zip(queries, references, reach, strict=True)]
    in_chunks(len(out), search_kernels.linked, *sides[0], *sides[1], scale, out=[out])
    return out


def _beside(first: Columns, second: Columns) -> Columns:
    return Columns(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))


class Secrets(NamedTuple):
    """Values of m secret columns that an attacker guesses, ranks and numbers (m, n), and when a guess is right.

    Numbers agree within the larger of ``relative`` times the larger of the two and ``absolute``, shape (m,).
    """

    ranks: Array
    numbers: Array
    relative: Array
    absolute: Array
    symmetric: bool
    """Whether ``relative`` is of the larger of the two (else of the guess alone)."""

    @classmethod
    def codes(cls, codes: Array) -> Secrets:
        """One secret, of codes that are right if equal; shape (n,)."""
        ranks = np.ascontiguousarray(codes[None].astype(np.int32))
        return cls(ranks, np.full(ranks.shape, np.nan), np.zeros(1), np.zeros(1), True)

    def only(self, secrets: Array) -> Secrets:
        ranks, numbers, relative, absolute = (part[secrets] for part in self[:4])
        return Secrets(ranks, numbers, relative, absolute, self.symmetric)


class Guesses(NamedTuple):
    """Guesses of each query's secrets from its nearest references; shapes (n, m)."""

    ties: Array
    """References at the smallest distance."""
    hits: Array
    """Those of them that have the secret."""
    first: Array
    """Whether the first of them in the order of the references does."""

    @property
    def likely(self) -> Array:
        """Probability that a guess drawn from the tied references is right."""
        return np.asarray(self.hits / self.ties)

    def of(self, queries: Array) -> Guesses:
        return Guesses(*(part[queries] for part in self))

    @classmethod
    def none(cls, n: int, m: int) -> Guesses:
        return cls(np.zeros((n, m), np.int32), np.zeros((n, m), np.int32), np.zeros((n, m), np.bool_))


def infer(
    queries: Columns, references: Columns, secrets: Array, truth: Secrets, guess: Secrets, squared: bool = False
) -> Guesses:
    """Guess each secret from the nearest references.

    Nearest in all columns of the space, which are those that the attacker knows, but the secret, where it is one of
    them (-1: it is not). Secrets that are left out of the same distance are guessed in one search, and many secrets
    that are each left out of Gower's distance from its sums over all columns. ``squared``: the distance is E1.
    """
    made, columns = Guesses.none(queries.codes.shape[1], len(secrets)), len(queries.numbers) + len(queries.codes)
    ties, hits, first = made
    apart = secrets >= 0
    if squared or columns + 3 * apart.sum() >= SEARCHED * columns * apart.sum():
        apart = np.zeros(len(secrets), dtype=bool)
    if apart.any():
        at_once = _infer_left_out(queries, references, secrets[apart], truth.only(apart), guess.only(apart))
        ties[:, apart], hits[:, apart], first[:, apart] = at_once
    scale = magnitude(queries, references)
    for left_out in np.unique(secrets[~apart]):
        chosen = np.flatnonzero(~apart & (secrets == left_out))
        known = queries.without(int(left_out)), references.without(int(left_out))
        found = _infer(*known, truth.only(chosen), guess.only(chosen), squared, scale)
        ties[:, chosen], hits[:, chosen], first[:, chosen] = found.ties[:, None], found.hits, found.first
    return made


def _infer_left_out(queries: Columns, references: Columns, secrets: Array, truth: Secrets, guess: Secrets) -> Guesses:
    """Guess secrets, each left out of Gower's distance, by comparing all pairs."""
    from hybrid.evaluation.engine import kernels

    n = queries.codes.shape[1]
    made = Guesses.none(n, len(secrets))
    in_chunks(n, kernels.infer_left_out, queries, references, secrets, truth, guess, out=made)
    return made


def _infer(
    queries: Columns, references: Columns, truth: Secrets, guess: Secrets, squared: bool, scale: float
) -> Guesses:
    """Guess secrets from the nearest references in all columns, of which equal ones are counted, not compared."""
    from hybrid.evaluation.engine import search_kernels

    firsts, group = _distinct(references)
    members = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(firsts)))])
    orders = [np.lexsort((ranks, group)) for ranks in guess.ranks]
    sorted_guess = guess._replace(
        ranks=np.array([ranks[order] for ranks, order in zip(guess.ranks, orders, strict=True)]),
        numbers=np.array([numbers[order] for numbers, order in zip(guess.numbers, orders, strict=True)]),
    )
    groups = references.take(firsts)
    placed, found = blocks(groups, sorted_order(groups, squared))
    n, m = queries.codes.shape[1], len(orders)
    nearest_one, index = np.full((1, n, 1), np.inf), np.full((1, n, 1), -1, dtype=np.int64)
    nobody, no_piece = np.full(n, -1, dtype=np.int64), np.empty(0, dtype=np.int8)
    about_nearest = squared, nobody, no_piece, scale
    in_chunks(n, search_kernels.nearest, queries, placed, found, *about_nearest, out=(nearest_one, index))
    ties, hits = np.zeros(n, dtype=np.int32), np.zeros((n, m), dtype=np.int32)
    first = np.zeros((n, m), dtype=bool)
    about = nearest_one[0], members, firsts, truth, sorted_guess, guess, squared, scale
    in_chunks(n, search_kernels.infer, queries, placed, found, *about, out=(ties, hits, first))
    return Guesses(ties, hits, first)


def _distinct(records: Columns) -> tuple[Array, Array]:
    """First of each kind of equal records, and each record's kind. Columns are read until all records differ."""
    import pandas as pd

    keys = np.zeros(records.codes.shape[1], dtype=np.int64)
    for value in (*records.codes, *records.numbers, *records.missing):
        codes, distinct = pd.factorize(value)
        keys, found = pd.factorize(keys * len(distinct) + codes)
        if len(found) == len(keys):
            break
    keys = keys.astype(np.int64)
    return np.unique(keys, return_index=True)[1], keys
