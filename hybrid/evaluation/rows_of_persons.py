"""Persons, order and succession of the rows of a table."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array, Codes
from hybrid.evaluation.context import Context, Role
from hybrid.table.persons import person_groups


def person_of_rows(context: Context, role: Role) -> Codes:
    """Number of each row's person; shape (n,), int64."""
    return person_groups(context.persons(role))


def order_of_rows(context: Context, role: Role) -> Array:
    """Value of each row in the order; shape (n,), float64.

    NaN where it is missing, or where no column orders the rows.
    """
    at = context.encoding.positions([name for name in [context.schema.order] if name is not None])
    table = context.encoded(role)
    return table.numbers[:, at[0]] if len(at) else np.full(len(table), np.nan)


def successive_rows(context: Context, role: Role) -> tuple[Array, Array]:
    """Positions of successive rows of a person, each of shape (n_pairs,).

    Ascending in the order; as the rows are in the table, where no column orders them.
    """

    def find() -> tuple[Array, Array]:
        groups, times = person_of_rows(context, role), order_of_rows(context, role)
        rows = np.lexsort((np.where(np.isnan(times), np.inf, times), groups))
        same = groups[rows][1:] == groups[rows][:-1]
        return rows[:-1][same], rows[1:][same]

    return context.once(("pairs of rows", role), find)
