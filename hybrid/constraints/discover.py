"""Discovery of constraints that hold in all rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hybrid.base.rng import rng_for
from hybrid.constraints.constraint import LEAST_ROWS, Constraint
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.constraints.kinds.equal import Equal
from hybrid.constraints.kinds.le import Le
from hybrid.constraints.kinds.sum import Sum
from hybrid.constraints.kinds.tied import Tied
from hybrid.constraints.registry import KINDS
from hybrid.table import Table

SAMPLED = 5_000
"""Rows that candidates are looked for in; those found are checked on all rows."""
MOST_COLUMNS = 200
"""Columns beyond which no constraints are looked for: a person could not decide on those of all pairs."""


def discover(table: Table) -> list[Constraint]:
    """Find constraints that hold in all rows, for a person to review.

    Parameters
    ----------
    table : Table
        The source, with the persons of its rows if they are known. Identifiers and undecided columns do not count.

    Returns
    -------
    list of Constraint
        In the order of the kinds; of equal columns only the first is in others. They name columns and hold no value.
        Each has at least a hundred rows to show for it, and would be broken if the columns were independent. What
        follows from others is left out. None for tables of more than :data:`MOST_COLUMNS` columns.
    """
    rows = table.without_identifiers()
    if len(rows) < LEAST_ROWS or len(rows.schema) > MOST_COLUMNS:
        return []
    rng = rng_for(0, "discover constraints")
    some = rows if len(rows) <= SAMPLED or rows.persons is not None else rows.take(rng.permutation(len(rows))[:SAMPLED])
    equal = [one for one in Equal.candidates(some, rng) if one.holds(rows)]
    copies = {name for one in equal for name in one.columns[1:]}
    left = [name for name in rows.schema.names if name not in copies]
    some, rows = some.only(left), rows.only(left)
    kinds = [kind for kind in KINDS.values() if kind is not Equal]
    candidates = [found for kind in kinds for found in kind.candidates(some, rng)]
    return [*equal, *_telling([one for one in candidates if one.holds(rows)])]


def _telling(found: Sequence[Constraint]) -> Iterator[Constraint]:
    """Constraints that do not follow from others."""
    orders = {one.le for one in found if isinstance(one, Le)}
    tied = {one.tied for one in found if isinstance(one, Tied)}
    totals = {
        (part, total) for one in found if isinstance(one, Sum) for total, parts in one.sum.items() for part in parts
    }
    pairs = [set(one.combinations) for one in found if isinstance(one, Combinations)]
    for one in found:
        if isinstance(one, Tied) and one.tied in orders:
            continue
        if isinstance(one, Le) and (one.le in totals or (one.le not in tied and _between(one.le, orders))):
            continue
        if isinstance(one, Combinations) and _joined(set(one.combinations), pairs):
            continue
        yield one


def _between(order: tuple[str, str], orders: Iterable[tuple[str, str]]) -> bool:
    """True if the order follows from two others."""
    low, high = order
    above = {second for first, second in orders if first == low}
    return any((middle, high) in orders for middle in above if middle != high)


def _joined(pair: set[str], earlier: Sequence[set[str]]) -> bool:
    """True if two earlier pairs connect the columns of a pair."""
    before = earlier[: earlier.index(pair)]
    first, second = pair
    near = set[str]().union(*(one - {first} for one in before if first in one))
    return any(one == {middle, second} for middle in near for one in before)
