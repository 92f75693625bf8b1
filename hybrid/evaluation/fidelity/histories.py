"""Rows of persons: number, order, and dependence on the row before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.likeness import agreement, rank_correlation
from hybrid.evaluation.context import ROLES, Context, Role, order_of_rows, person_of_rows, successive_rows
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table.persons import n_persons

ALONE = NotComputable("no person has two rows in both tables", "too_few")
MOST_CATEGORIES = 10
"""States of the main category in the matrix of transitions; rarer ones count as one, missing ones as another."""


def beside_control(
    context: Context, of: Callable[[Role], float | None], missing: NotComputable, n: int, **details: Any
) -> Outcome:
    """A number of the judged table beside that of control; ``missing`` where the table has none."""
    value = of("table")
    if value is None:
        return missing
    return Measure(value, reference=None if context.control is None else of("control"), n=n, details=details)


def _compared(
    context: Context,
    values: Callable[[Role], Any],
    compare: Callable[[Any, Any], float | None],
    **details: Any,
) -> Outcome:
    train, n = values("train"), n_persons(context.table)
    return beside_control(context, lambda role: compare(train, values(role)), ALONE, n, **details)


def ks_distance(one: Array, other: Array) -> float | None:
    """Largest difference of two distribution functions, 0..1; None without values."""
    if not len(one) or not len(other):
        return None
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def rows_per_person(context: Context) -> Outcome:
    """Kolmogorov-Smirnov distance of the number of rows per person, 0..1.

    The largest difference between the distribution functions of the table and of train. In a table whose rows are not
    linked each row is a person. The reference is the same for control.
    """
    return _compared(context, lambda role: np.bincount(person_of_rows(context, role)), ks_distance)


def gaps_between_rows(context: Context) -> Outcome:
    """Kolmogorov-Smirnov distance of the gaps between successive rows, 0..1.

    A gap is the difference in the column that orders the rows (``data.order``) between a row of a person and the next
    one. The reference is the same for control.
    """

    def gaps(role: Role) -> Array:
        times, (before, after) = order_of_rows(context, role), successive_rows(context, role)
        found = times[after] - times[before]
        return np.asarray(found[~np.isnan(found)])

    return _compared(context, gaps, ks_distance)


def rows_in_order(context: Context) -> Outcome:
    """Share of rows that do not precede the row before, 0..1.

    Of all rows that follow another one of their person in the table, those whose value in the column that orders the
    rows (``data.order``) is not smaller. It depends on the order of the rows in the table. The reference is the same
    for control.
    """

    def share(role: Role) -> float | None:
        groups, times = person_of_rows(context, role), order_of_rows(context, role)
        rows = np.argsort(groups, kind="stable")
        steps = np.diff(times[rows])[np.diff(groups[rows]) == 0]
        steps = steps[~np.isnan(steps)]
        return float((steps >= 0).mean()) if len(steps) else None

    return beside_control(context, share, ALONE, len(context.table))


def row_transitions(context: Context) -> Outcome:
    """Total variation of the transitions of the main category, 0..1.

    Half the sum of the absolute differences between the shares of all pairs (category of a row, category of the
    person's next row) in the table and in train. The main category is the first secret, or else target, or else column,
    that is a category and changes within persons; of its states the ten most frequent count apart. The reference is the
    same for control.
    """
    at = _main_category(context)
    if at is None:
        return NotComputable("no category changes within persons")

    def shares(role: Role) -> Array:
        ranks = context.encoded(role).ranks[:, at]
        states = np.where(ranks < 0, MOST_CATEGORIES + 1, np.minimum(ranks, MOST_CATEGORIES))
        before, after = successive_rows(context, role)
        n = MOST_CATEGORIES + 2
        return np.bincount(states[before] * n + states[after], minlength=n * n) / max(len(before), 1)

    def variation(one: Array, other: Array) -> float | None:
        return float(np.abs(one - other).sum() / 2) if one.any() and other.any() else None

    return _compared(context, shares, variation, column=context.encoding.names[at])


def _main_category(context: Context) -> int | None:
    before, after = successive_rows(context, "train")
    ranks, encoding = context.encoded("train").ranks, context.encoding
    wanted = [*context.declared_secrets, *context.targets, *context.schema.names]
    for name in dict.fromkeys(wanted):
        for at in encoding.positions([name]):
            if not encoding.continuous[at] and (ranks[before, at] != ranks[after, at]).any():
                return int(at)
    return None


def within_person(context: Context) -> Outcome:
    """Mean difference in the likeness of successive rows of a person, 0..2.

    The likeness of a column is Spearman's correlation of a row's number or date with that of the person's next row, or
    Cohen's kappa of the categories (missing is a state). The value is the mean over columns of the absolute difference
    between the table and train. The reference is the same for control.
    """
    order = context.encoding.positions([name for name in [context.schema.order] if name is not None])
    columns = [at for at in range(len(context.encoding.columns)) if at not in order]

    def likeness(role: Role) -> Array:
        table, (before, after) = context.encoded(role), successive_rows(context, role)
        found = [
            rank_correlation(table.numbers[before, at], table.numbers[after, at])
            if context.encoding.continuous[at]
            else agreement(table.ranks[before, at] + 1, table.ranks[after, at] + 1)
            for at in (columns if len(before) else [])
        ]
        return np.array(found)

    def compare(one: Array, other: Array) -> float | None:
        return float(np.abs(one - other).mean()) if len(one) and len(other) else None

    sides = {role: likeness(role) for role in ROLES}
    of_columns = zip(columns, sides["train"].tolist(), sides["table"].tolist(), strict=False)
    rows = {context.encoding.names[at]: {"train": one, "table": other} for at, one, other in of_columns}
    return _compared(context, sides.__getitem__, compare, columns=rows)


METRICS = (
    fidelity(
        rows_per_person,
        "How far the numbers of rows per person are from the real ones, beside those of control.",
        needs=("persons",),
    ),
    fidelity(
        rows_in_order,
        "The share of rows of a person that come in order after the row before.",
        direction="higher",
        copy=None,
        needs=("persons", "order"),
    ),
    fidelity(
        gaps_between_rows,
        "How far the gaps between the rows of a person are from the real ones, beside those of control.",
        needs=("persons", "order"),
    ),
    fidelity(
        row_transitions,
        "How far the steps from one row's category to the next one's are from the real ones, beside those of control.",
        needs=("persons",),
    ),
    fidelity(
        within_person,
        "How far rows of one person are more or less alike than real ones, on average over columns.",
        high=2,
        needs=("persons",),
    ),
)
