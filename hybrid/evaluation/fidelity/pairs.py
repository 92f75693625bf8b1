"""Correlations, associations and contingency tables of pairs of columns."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure, NotComputable, Outcome

BINS = 10
MAX_CELLS = 1_000_000
"""Contingency tables with more cells are not judged for association."""
SDMETRICS_CORRELATION, SDMETRICS_ASSOCIATION = 0.5, 0.3
"""Pairs of numbers and other pairs at or below this strength do not count in SDMetrics' score."""
MAX_LISTED = 600
"""Pairs listed in details (the worst ones, if there are more)."""


def correlations(numbers: Array) -> Array:
    """Pearson correlations over the rows where both are known, shape (p, p); NaN where one is constant."""
    return np.asarray(pd.DataFrame(numbers).corr().to_numpy())


def _table(a: Array, b: Array, width_a: int, width_b: int) -> Array:
    return np.bincount(a * width_b + b, minlength=width_a * width_b).reshape(width_a, width_b)


def cramers_v(counts: Array) -> float:
    """Cramer's V of a contingency table, 0..1; NaN if one side is constant."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(float)
    if min(counts.shape) < 2:
        return float("nan")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi2 = ((counts - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi2 / counts.sum() / (min(counts.shape) - 1)))


def correlation_ratio(categories: Array, numbers: Array) -> float:
    """Correlation ratio eta: root of the share of a number's variance between categories, 0..1; NaN if constant."""
    known = ~np.isnan(numbers)
    numbers, categories = numbers[known], categories[known]
    if len(numbers) < 2 or np.ptp(numbers) == 0:
        return float("nan")
    size = np.bincount(categories)
    total = np.bincount(categories, weights=numbers - numbers.mean())
    between = (total[size > 0] ** 2 / size[size > 0]).sum()
    return float(np.sqrt(between / ((numbers - numbers.mean()) ** 2).sum()))


def associations(context: Context, role: Role) -> Array:
    """Association of every pair of columns, shape (p, p), upper triangle; NaN where a column is constant.

    Pearson's r (signed), Cramer's V or the correlation ratio. Missing is a category; rows with a missing number are
    left out of the pair.
    """
    table, continuous = context.encoded(role), context.encoding.continuous
    p = len(continuous)
    result = np.full((p, p), np.nan)
    numeric = np.flatnonzero(continuous)
    result[np.ix_(numeric, numeric)] = correlations(table.numbers[:, numeric])
    codes, widths = table.ranks + 1, context.encoding.cardinality + 1
    for a, b in itertools.combinations(range(p), 2):
        if continuous[a] and continuous[b]:
            continue
        if continuous[a] or continuous[b]:
            c, x = (b, a) if continuous[a] else (a, b)
            result[a, b] = correlation_ratio(codes[:, c], table.numbers[:, x])
        elif widths[a] * widths[b] <= MAX_CELLS:
            result[a, b] = cramers_v(_table(codes[:, a], codes[:, b], widths[a], widths[b]))
    return result


def _association_differences(context: Context, role: Role) -> tuple[Array, Array, Array]:
    key = "associations", context.n_categories
    train = context.once_for_all_stages(key, lambda: associations(context, "train"))
    other = context.once(("associations", role), lambda: associations(context, role))
    a, b = np.triu_indices(len(train), 1)
    return np.abs(train - other)[a, b], train, other


def _listed(context: Context, scores: Array, order: Array, **values: Array) -> list[dict[str, Any]]:
    a, b = np.triu_indices(len(context.encoding.columns), 1)
    names = context.encoding.names
    return [
        {"a": names[a[i]], "b": names[b[i]], "value": float(scores[i])}
        | {name: _number(matrix[a[i], b[i]]) for name, matrix in values.items()}
        for i in order[:MAX_LISTED]
        if not np.isnan(scores[i])
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def mean_known(values: Array) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def association_difference(context: Context) -> Outcome:
    """Mean difference in the association of pairs of columns (:func:`associations`) with train, 0..2."""
    differences, train, table = _association_differences(context, "table")
    value = mean_known(differences)
    if value is None:
        return NotComputable("no pair of columns varies in both tables")
    reference = None if context.control is None else mean_known(_association_differences(context, "control")[0])
    order = np.argsort(-np.nan_to_num(differences, nan=-1), kind="stable")
    details = {"pairs": _listed(context, differences, order, train=train, table=table)}
    return Measure(value, reference=reference, n=int((~np.isnan(differences)).sum()), details=details)


def correlation_difference(context: Context) -> Outcome:
    """Mean difference in Pearson's correlation of pairs of numbers and dates with train, 0..2."""
    continuous = context.encoding.continuous
    a, b = np.triu_indices(len(continuous), 1)
    numeric = continuous[a] & continuous[b]
    differences = _association_differences(context, "table")[0][numeric]
    value = mean_known(differences)
    if value is None:
        return NotComputable("fewer than two numeric columns vary in both tables")
    control = None if context.control is None else _association_differences(context, "control")[0][numeric]
    reference = None if control is None else mean_known(control)
    details = {"worst": float(np.nanmax(differences))}
    return Measure(value, reference=reference, n=int((~np.isnan(differences)).sum()), details=details)


def _digitized(context: Context, role: Role, own_edges: bool) -> tuple[Array, Array]:
    """Codes of every column, numbers in ten equal bins with edges from train or the table's own, and their widths."""
    table, train = context.encoded(role), context.encoded("train")
    codes, widths = table.ranks.astype(np.int64) + 1, context.encoding.cardinality + 1
    codes, widths = codes.copy(), widths.copy()
    for at in np.flatnonzero(context.encoding.continuous):
        source = (table if own_edges else train).numbers[:, at]
        source = source[~np.isnan(source)]
        edges = np.histogram_bin_edges(source, bins=BINS) if len(source) else np.array([0.0])
        codes[:, at] = np.digitize(np.nan_to_num(table.numbers[:, at], nan=np.inf), edges)
        codes[np.isnan(table.numbers[:, at]), at] = BINS + 2
        widths[at] = BINS + 3
    return codes, widths


def _similarity(a: Array, b: Array, width: int) -> float:
    if width > 4 * (len(a) + len(b)):
        distinct, position = np.unique(np.concatenate([a, b]), return_inverse=True)
        a, b, width = position[: len(a)], position[len(a) :], len(distinct)
    first, second = np.bincount(a, minlength=width) / len(a), np.bincount(b, minlength=width) / len(b)
    return float(1 - 0.5 * np.abs(first - second).sum())


class Trends(NamedTuple):
    """Similarity to train, and train's own strength, per pair of columns in the order of ``triu_indices``."""

    similarity: Array
    strength: Array
    """|r| of two numbers, else Cramer's V of the contingency table."""
    numeric: Array


def _trends(context: Context, role: Role, own_edges: bool = False) -> Trends:
    continuous = context.encoding.continuous
    train, widths = _digitized(context, "train", own_edges)
    table, _ = _digitized(context, role, own_edges)
    mine = correlations(context.encoded("train").numbers[:, continuous])
    its = correlations(context.encoded(role).numbers[:, continuous])
    place = np.cumsum(continuous) - 1
    similarity, strength, numeric = [], [], []
    for a, b in itertools.combinations(range(len(continuous)), 2):
        numeric.append(bool(continuous[a] and continuous[b]))
        if numeric[-1]:
            real = mine[place[a], place[b]]
            similarity.append(1 - abs(real - its[place[a], place[b]]) / 2)
            strength.append(abs(real))
        else:
            first, second = (codes[:, a] * widths[b] + codes[:, b] for codes in (train, table))
            width = int(widths[a] * widths[b])
            similarity.append(_similarity(first, second, width))
            small = own_edges and width <= MAX_CELLS
            strength.append(cramers_v(_table(train[:, a], train[:, b], widths[a], widths[b])) if small else np.nan)
    return Trends(np.array(similarity), np.array(strength), np.array(numeric, dtype=bool))


def _sdmetrics(context: Context) -> float | None:
    """Number that SDMetrics 0.32 prints: bins of its own for each table, and only pairs that are strong in train."""
    trends = _trends(context, "table", own_edges=True)
    strong = trends.strength > np.where(trends.numeric, SDMETRICS_CORRELATION, SDMETRICS_ASSOCIATION)
    return mean_known(trends.similarity[strong])


def pair_trends(context: Context) -> Outcome:
    """Similarity of pairs of columns to train, mean over all pairs, 0..1.

    Two numbers: 1 - |r_T - r_S|/2; otherwise 1 - total variation of the contingency tables, numbers in ten equal
    bins of train's range. SDMetrics' "Column Pair Trends" bins each table by its own range and leaves out pairs that
    are weak in train; ``details["sdmetrics"]`` has that number.
    """
    scores = _trends(context, "table").similarity
    value = mean_known(scores)
    if value is None:
        return NotComputable("fewer than two columns vary")
    reference = None
    if context.control is not None:
        reference = mean_known(_trends(context, "control").similarity)
    order = np.argsort(np.nan_to_num(scores, nan=2), kind="stable")
    details = {"pairs": _listed(context, scores, order), "sdmetrics": _sdmetrics(context)}
    return Measure(value, reference=reference, n=int((~np.isnan(scores)).sum()), details=details)


METRICS = (
    fidelity(correlation_difference, "How far correlations between numbers are from the real ones.", high=2),
    fidelity(
        association_difference,
        "How far the strength of the link between two columns is from the real one.",
        high=2,
        headline=True,
        decides=4,
    ),
    fidelity(
        pair_trends,
        "How similar pairs of columns look, as SDMetrics scores it; 1 is equal.",
        direction="higher",
        copy=1.0,
    ),
)
