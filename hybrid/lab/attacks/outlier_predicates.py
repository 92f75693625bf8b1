"""Singling out by predicates about the outliers of an encoder's space."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.outcome import Attack, worst
from hybrid.evaluation.attacks.singling_out import (
    BATCH,
    Predicates,
    collected,
    stratified,
    success,
    tables_of,
    univariate_predicates,
)
from hybrid.evaluation.attacks.vulnerability import local_outlier_factors
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.lab.encoder.embed import Embedding, chosen, placed

SHARE = 10
"""One row in so many is an outlier."""


def outliers(context: Context, embedding: Embedding) -> Array:
    """Tenth of the judged rows with the largest outlier factors, int64.

    Of the rows that searches query, which of a large table are a sample.
    """
    whole = context.whole("table")
    order = context.encoded("table").order
    rows = order[np.isin(order, context.asked(whole).rows)]
    points = placed(embedding.space.encoded("table").numbers[rows])
    factors = local_outlier_factors(embedding.space.space, points)
    top: Array = rows[np.argsort(-factors, kind="stable")[: max(len(rows) // SHARE, 1)]]
    return top


def several_columns(context: Context, embedding: Embedding) -> Outcome:
    """Risk of being singled out by several columns of an outlier.

    Predicates of all numbers of columns together. ``details`` have each number of columns, with intervals that hold
    for all of them (Sidak), and the same attack with predicates about rows of all sorts.
    """
    widths = [n for n in context.options.singling_out_columns if 2 <= n <= len(context.encoding.columns)]
    if not widths:
        return NotComputable("too few columns to combine")

    def attack(rows: Array, name: str) -> Outcome:
        predicates = _conjunctions(context, rows, widths, name)
        made = success(tables_of(context), predicates, context.options.confidence)
        if isinstance(made, NotComputable):
            return made
        n_columns = (predicates.columns >= 0).sum(axis=1)
        parts = {str(n): predicates.take(np.flatnonzero(n_columns == n)) for n in widths}
        each = {n: _attack(context, part) for n, part in parts.items()}
        top = worst(each, "columns", context.options.confidence)
        said = {name: top.details[name] for name in ("columns", "worst_columns")} if isinstance(top, Measure) else {}
        return made.measure(**said)

    return _beside_random(context, embedding, "cl_singling_out", attack)


def one_column(context: Context, embedding: Embedding) -> Outcome:
    """Risk of being singled out by one value of an outlier.

    Values that occur once, and extremes, as in :func:`~.singling_out.singling_out_univariate`.
    """
    index = tables_of(context).table
    every = univariate_predicates(context, index)
    about = index.find(every)[1]

    def attack(rows: Array, name: str) -> Outcome:
        mine = every.take(np.flatnonzero(np.isin(about, rows)))
        if not len(mine):
            return NotComputable("no value of these rows stands alone in the table", "too_few", lacks="lone_values")
        made = _attack(context, stratified(mine, context.options.attacks, context.random(name)))
        return made if isinstance(made, NotComputable) else made.measure()

    return _beside_random(context, embedding, "cl_singling_out_univariate", attack)


def _attack(context: Context, predicates: Predicates) -> Attack | NotComputable:
    return success(tables_of(context), predicates, context.options.confidence)


def _beside_random(
    context: Context, embedding: Embedding, name: str, attack: Callable[[Array, str], Outcome]
) -> Outcome:
    """The attack on outliers, with that on any rows in its details.

    ``attack`` has the rows that predicates are about and the name of a random stream.
    """
    mine = attack(outliers(context, embedding), f"{name} of outliers")
    order, stream = context.encoded("table").order, f"{name} of any rows"
    other = context.once(stream, lambda: attack(order, stream))
    if isinstance(mine, Measure) and isinstance(other, Measure):
        beside = {"value": other.value, "low": other.low, "high": other.high, "gain": difference(mine, other)}
        mine.details["random_targets"] = beside
    return mine


def difference(mine: Measure, its: Measure) -> list[float]:
    """Difference of two measures with its interval: [value, low, high].

    The bounds are those of Newcombe (1998, method 10), for independent measures.
    """
    (low, high), (least, most) = (
        (m.value if m.low is None else m.low, m.value if m.high is None else m.high) for m in (mine, its)
    )
    value = mine.value - its.value
    down, up = math.hypot(mine.value - low, most - its.value), math.hypot(high - mine.value, its.value - least)
    return [value, value - down, value + up]


def _conjunctions(context: Context, rows: Array, widths: Sequence[int], name: str) -> Predicates:
    """Distinct conjunctions about these rows that fit one row alone.

    Over at random one of the ``widths`` numbers of columns of a random row: the category, or the interval of equal
    width that holds the number.
    """
    index, rng = tables_of(context).table, context.random(name)
    p, widest = len(context.encoding.columns), max(widths)
    intervals = [_interval_ends(context, c) for c in range(p)]

    def draw() -> Predicates:
        about = rows[rng.integers(len(rows), size=BATCH)]
        size = np.asarray(widths)[rng.integers(len(widths), size=BATCH)]
        order = np.argsort(rng.random((BATCH, p)), axis=1)[:, :widest]
        columns = np.sort(np.where(np.arange(widest) < size[:, None], order, p), axis=1)
        columns = np.where(columns == p, -1, columns)
        low, high = np.full_like(columns, -1), np.full_like(columns, -1)
        for c, (lows, highs) in enumerate(intervals):
            at = np.nonzero(columns == c)
            ranks = index.ranks[c, about[at[0]]]
            low[at], high[at] = lows[ranks], highs[ranks]
        return Predicates(*(x.astype(np.int32) for x in (columns, low, high)))

    return collected(index, draw, widest, context.options.attacks)


def _interval_ends(context: Context, c: int) -> tuple[Array, Array]:
    """Least and largest rank of the interval around each rank.

    Each has a last entry for missing, -1. Categories are their own; numbers are in one of equally wide intervals of the
    judged table's range.
    """
    count = int(context.encoding.cardinality[c])
    own = np.append(np.arange(count), -1)
    if not context.encoding.continuous[c]:
        return own, own
    values = np.full(count, np.nan)
    for part in context.encoding.tables:
        known = part.ranks[:, c] >= 0
        values[part.ranks[known, c]] = part.numbers[known, c]
    mine = context.encoded("table").numbers[:, c]
    least, most = np.nanmin(mine), np.nanmax(mine)
    bins = chosen(context).bins
    width = (most - least) / bins
    place = np.floor((values - least) / width) if width > 0 else np.zeros(count)
    place[values == most] = bins - 1 if width > 0 else 0
    low, high = (np.searchsorted(place, place, side) for side in ("left", "right"))
    return np.append(low, -1), np.append(high - 1, -1)
