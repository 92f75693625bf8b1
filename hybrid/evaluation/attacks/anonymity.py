"""Reached k-anonymity, l-diversity and t-closeness."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import ranks_of, row_keys
from hybrid.evaluation.families import attained
from hybrid.evaluation.measure import Measure
from hybrid.table import Table


def _classes(table: Table) -> Array:
    """Equivalence class of each record, shape (n,), 0..n_classes-1; missing equals missing."""
    return row_keys(ranks_of([table], table.schema.quasi_identifiers))[0]


def _smallest(table: Table) -> int:
    return int(np.bincount(_classes(table)).min())


def k_reached(context: Context) -> Measure:
    """Size of the smallest equivalence class (Samarati and Sweeney 1998).

    Classes are formed on the quasi-identifiers of the stage's table; a missing value is a value of
    its own. The reference is the original training table.
    """
    table = context.table
    sizes = np.bincount(_classes(table))
    n = len(table)
    details = {
        "classes": len(sizes),
        "unique_share": float((sizes == 1).sum() / n),
        "mean_class_size": float(n / len(sizes)),
        "record_mean_class_size": float((sizes.astype(float) ** 2).sum() / n),
        "quasi_identifiers": context.schema.quasi_identifiers,
    }
    reference = context.once_for_all_stages("k", lambda: _smallest(context.train))
    return Measure(float(sizes.min()), reference=float(reference), n=n, details=details)


def _counts(table: Table, column: str) -> Array:
    """Class, sensitive value (missing is one) and records of each pair that occurs together; shape (n_entries, 3)."""
    classes = _classes(table)
    values = ranks_of([table], [column])[0][:, 0]
    values = np.where(values < 0, values.max() + 1, values)
    width = int(values.max()) + 1
    flat, counts = np.unique(classes * width + values, return_counts=True)
    return np.column_stack([flat // width, flat % width, counts])


def l_reached(context: Context, column: str) -> Measure:
    """Fewest distinct sensitive values in any equivalence class: distinct l of Machanavajjhala et al. 2007."""

    def reached(table: Table) -> Array:
        return np.bincount(_counts(table, column)[:, 0])

    distinct = reached(context.table)
    reference = context.once_for_all_stages(("l", column), lambda: int(reached(context.train).min()))
    details = {"classes": len(distinct), "classes_with_one_value": int((distinct == 1).sum())}
    return Measure(float(distinct.min()), reference=float(reference), n=len(context.table), details=details)


def _distance(table: Table, column: str, ordered: bool) -> float:
    """Largest earth mover's distance between a class and the whole table, 0..1."""
    classes, values, counts = _counts(table, column).T
    total = np.bincount(values, weights=counts)
    present, codes = np.unique(values, return_inverse=True)
    whole = total[present] / counts.sum()
    sizes = np.bincount(classes, weights=counts)
    if ordered:
        return float(_moved(classes, codes, counts, whole).max()) / max(len(present) - 1, 1)
    inside = np.abs(counts / sizes[classes] - whole[codes]) - whole[codes]
    return float(0.5 * (np.bincount(classes, weights=inside) + 1).max())


def _moved(classes: Array, codes: Array, counts: Array, whole: Array) -> Array:
    """Ordered distance of every class, times (n_values - 1).

    It is the sum over the ranks of the absolute difference between F_class and F. F_class is constant from one of the
    class's values to the next, and F rises: of each such run the sum is taken from prefix sums of F, on both sides of
    the rank where F reaches the constant. Time and memory grow with the entries, not with n_classes x n_values. An
    entry is a class and a value that occur together, ``counts`` times, sorted by both; ``whole`` are the shares of the
    values in the table.
    """
    reached = np.cumsum(whole)
    summed = np.concatenate([[0.0], np.cumsum(reached)])
    first = np.flatnonzero(np.concatenate([[True], classes[1:] != classes[:-1]]))
    before = np.concatenate([[0], np.cumsum(counts)])
    sizes = before[np.append(first[1:], len(classes))] - before[first]
    shares = (before[1:] - before[first][classes]) / sizes[classes]
    begin, end = codes, np.append(codes[1:], 0)
    end[np.append(first[1:], len(classes)) - 1] = len(whole)
    turn = np.clip(np.searchsorted(reached, shares), begin, end)
    below = shares * (turn - begin) - (summed[turn] - summed[begin])
    above = (summed[end] - summed[turn]) - shares * (end - turn)
    return np.asarray(np.bincount(classes, weights=below + above) + summed[codes[first]])


def t_reached(context: Context, column: str) -> Measure:
    """Largest distance of a class's sensitive values from the table's.

    Distance between the distributions of the sensitive value (Li et al. 2007). Earth mover's distance, 0..1: ordered
    for numbers and dates (by rank), equal distances for categories.
    """
    ordered = context.schema[column].kind.is_continuous
    value = _distance(context.table, column, ordered)
    reference = context.once_for_all_stages(("t", column), lambda: _distance(context.train, column, ordered))
    details = {"distance": "ordered" if ordered else "equal"}
    return Measure(value, reference=reference, n=len(context.table), details=details)


METRICS = (
    attained(
        k_reached,
        "The fewest records that share one combination of quasi-identifiers in this table.",
        risk="linkability",
        unit="records",
    ),
    attained(
        l_reached,
        "The fewest different sensitive values among records with the same quasi-identifiers.",
        per="sensitive",
        risk="inference",
        unit="values",
    ),
    attained(
        t_reached,
        "The largest difference between the sensitive values of one group with equal quasi-identifiers and of "
        "all records.",
        direction="lower",
        low=0,
        high=1,
        per="sensitive",
        unit="distance",
    ),
)
