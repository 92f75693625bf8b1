"""Compiled loops over pairs of records. Imported only inside the functions that use it: numba is slow to import.

Every search screens blocks of :data:`BLOCK` reference rows in float32 (vectorized by the compiler) and decides
in float64; the screen is widened by a bound on its rounding error, so results are those of float64 alone.
Memory is a block per thread. Arrays are column-major: ``numbers[c, i]``, ``codes[c, i]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba  # type: ignore[import-untyped, unused-ignore]
import numpy as np

from hybrid.arrays import Array
from hybrid.evaluate.neighbours import TIE

BLOCK = 1024
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile without the interpreter lock; keep the machine code on disk where the folder allows it."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(**options)(function)  # type: ignore[no-any-return]


@compiled
def column_distance(x: float, x_missing: bool, y: float, y_missing: bool, squared: bool) -> float:
    """Distance of two numbers: missing to missing 0, missing to a number 1."""
    if x_missing or y_missing:
        return 0.0 if x_missing and y_missing else 1.0
    d = abs(x - y)
    return d * d if squared else d


@compiled
def distance(q: Any, i: int, r: Any, j: int, weight: float, squared: bool, skip: int) -> float:
    """Float64 distance of query ``i`` and reference ``j``; column ``skip`` (numbers first) left out, -1 for none."""
    total = 0.0
    p = q.numbers.shape[0]
    for c in range(p):
        if c != skip:
            total += column_distance(q.numbers[c, i], q.missing[c, i], r.numbers[c, j], r.missing[c, j], squared)
    for c in range(q.codes.shape[0]):
        if c + p != skip and q.codes[c, i] != r.codes[c, j]:
            total += weight
    return total


@compiled
def add_column(q: Any, i: int, r: Any, c: int, start: int, stop: int, weight: Any, squared: bool, out: Array) -> None:
    """Add the float32 distances of one column between query ``i`` and references start..stop-1 to ``out``."""
    p = q.numbers.shape[0]
    size = stop - start
    if c >= p:
        code = q.codes[c - p, i]
        codes = r.codes[c - p, start:stop]
        for b in range(size):
            out[b] += weight if codes[b] != code else np.float32(0)
        return
    missing = r.missing[c, start:stop]
    if q.missing[c, i]:
        for b in range(size):
            out[b] += np.float32(0) if missing[b] else np.float32(1)
        return
    x = np.float32(q.numbers[c, i])
    y = r.screen[c, start:stop]
    if r.has_missing[c]:
        for b in range(size):
            d = abs(x - y[b])
            d = d * d if squared else d
            out[b] += np.float32(1) if missing[b] else d
    elif squared:
        for b in range(size):
            d = x - y[b]
            out[b] += d * d
    else:
        for b in range(size):
            out[b] += abs(x - y[b])


@compiled
def within(values: Array, limit: Any) -> int:
    """How many float32 values are at most ``limit``."""
    count = 0
    for b in range(values.shape[0]):
        count += 1 if values[b] <= limit else 0
    return count


@compiled
def screen(q: Any, i: int, r: Any, start: int, stop: int, weight: Any, squared: bool, out: Array) -> None:
    """Float32 distances of query ``i`` to references start..stop-1 into ``out``."""
    out[:] = np.float32(0)
    for c in range(q.numbers.shape[0] + q.codes.shape[0]):
        add_column(q, i, r, c, start, stop, weight, squared, out)


@compiled
def slack(bound: float, columns: int, scale: float) -> float:
    """``bound`` widened by the rounding error of float32 sums of ``columns`` terms of numbers up to ``scale``."""
    unit = 1.2e-7
    step = scale * unit
    return bound + columns * (2 * np.sqrt(bound) * step + 2 * step + step * step) + 2 * columns * unit * (bound + 1)


@compiled
def nearest(
    q: Any, r: Any, weight: float, squared: bool, same: bool, scale: float, start: int, stop: int, best: Array, index: Array
) -> None:
    """The k nearest references of queries start..stop-1 into ``best`` and ``index``, shape (n, k), ascending."""
    k = best.shape[1]
    columns = q.numbers.shape[0] + q.codes.shape[0]
    n = r.codes.shape[1]
    buffer = np.empty(BLOCK, dtype=np.float32)
    light = np.float32(weight)
    for i in range(start, stop):
        worst = best[i, k - 1]
        limit = slack(worst, columns, scale)
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            rough = buffer[: last - first]
            screen(q, i, r, first, last, light, squared, rough)
            if within(rough, np.float32(limit)) == 0:
                continue
            for b in range(last - first):
                if rough[b] > limit or (same and first + b == i):
                    continue
                d = distance(q, i, r, first + b, weight, squared, -1)
                if d < worst:
                    at = k - 1
                    while at > 0 and best[i, at - 1] > d:
                        best[i, at] = best[i, at - 1]
                        index[i, at] = index[i, at - 1]
                        at -= 1
                    best[i, at] = d
                    index[i, at] = first + b
                    worst = best[i, k - 1]
                    limit = slack(worst, columns, scale)
