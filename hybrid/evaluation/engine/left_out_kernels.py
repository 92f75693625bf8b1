"""Compiled guesses of every column from all others.

Imported only inside the functions that use it: numba is slow to import.

Where each column is a secret in turn, all distances are those in all columns less that in one. They are added up once
for each query; a search for each secret would add up nearly all columns again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.jit import compiled
from hybrid.evaluation.engine.kernels import agrees
from hybrid.evaluation.engine.space import TIE


@compiled
def add_column(q: Any, i: int, r: Any, column: int, times: float, out: Array) -> None:
    """Add Gower distances in one column (numbers first).

    Those of query ``i`` to all references, ``times`` over, to ``out`` (n,) float64.
    """
    p, n = r.numbers.shape[0], out.shape[0]
    if column >= p:
        codes, code, cost = r.codes[column - p], q.codes[column - p, i], times * r.weights[column - p]
        for j in range(n):
            out[j] += cost if codes[j] != code else 0.0
        return
    values, lacks, x = r.numbers[column], r.missing[column], q.numbers[column, i]
    if q.missing[column, i]:
        for j in range(n):
            out[j] += 0.0 if lacks[j] else times
    elif r.has_missing[column]:
        for j in range(n):
            out[j] += times if lacks[j] else times * abs(x - values[j])
    else:
        for j in range(n):
            out[j] += times * abs(x - values[j])


@compiled
def infer(
    q: Any, r: Any, secrets: Array, truth: Any, guess: Any, start: int, stop: int, ties: Array, hits: Array,
    first: Array
) -> None:  # fmt: skip
    """Guess the secrets of some queries, each from all other columns.

    ``secrets`` (m,): positions of the secrets' columns. ``ties``, ``hits`` and ``first`` (n, m) as
    :class:`~hybrid.evaluation.engine.neighbours.Guesses`; they are 0 before.
    """
    columns, n = r.numbers.shape[0] + r.codes.shape[0], r.codes.shape[1]
    whole, rest = np.empty(n), np.empty(n)
    for i in range(start, stop):
        whole[:] = 0.0
        for column in range(columns):
            add_column(q, i, r, column, 1.0, whole)
        for s in range(len(secrets)):
            rest[:] = whole
            add_column(q, i, r, secrets[s], -1.0, rest)
            least = rest.min()
            limit = least + TIE * (1 + least)
            for j in range(n):
                if rest[j] <= limit:
                    right = agrees(truth, i, guess, j, s)
                    if ties[i, s] == 0:
                        first[i, s] = right
                    ties[i, s] += 1
                    hits[i, s] += right
