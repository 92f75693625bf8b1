"""Discovery of constraints that hold in the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from hybrid.base.rng import rng_for
from hybrid.constraints.constraint import LEAST_ROWS, NUMBERS, Constraint
from hybrid.constraints.derivations import derivations
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.constraints.kinds.derived import Derived
from hybrid.constraints.kinds.equal import Equal
from hybrid.constraints.kinds.le import Le
from hybrid.constraints.kinds.range import Range
from hybrid.constraints.kinds.tied import Tied
from hybrid.constraints.registry import KINDS
from hybrid.table import Table

SAMPLED = 5_000
"""Rows that candidates are looked for in; those found are checked on all rows."""
MOST_COLUMNS = 200
"""Columns beyond which no constraints are looked for: a person could not decide on those of all pairs."""


@dataclass(frozen=True)
class Suggestion:
    """A constraint that a person may declare.

    Parameters
    ----------
    constraint : Constraint
        Names columns, and holds no value but the constants of a formula.
    broken : int
        Rows of the table that break it.
    sure : bool
        Whether names and values leave no doubt, so that it is declared until a person removes it.
    """

    constraint: Constraint
    broken: int
    sure: bool = False


def discover(table: Table) -> list[Suggestion]:
    """Find constraints that hold in all rows, or nearly all, for a person to review.

    Parameters
    ----------
    table : Table
        The source, with the persons of its rows if they are known. Identifiers and undecided columns do not count.

    Returns
    -------
    list of Suggestion
        In the order of the kinds; of equal columns only the first is in others. Each has at least a hundred rows to
        show for it, and would be broken if the columns were independent. What follows from others is left out. Orders
        of dates and formulas may be broken in one row of a hundred, the other kinds in none. None for tables of more
        than :data:`MOST_COLUMNS` columns.
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
    of_kind = (derivations(some) if kind is Derived else kind.candidates(some, rng) for kind in kinds)
    candidates = [one for found in of_kind for one in found]
    candidates += _never_negative(candidates, rows)
    found = [*equal, *_telling([one for one in candidates if one.holds(rows)], rows)]
    return [Suggestion(one, int(one.broken(rows).sum() if set(one.columns) <= set(left) else 0)) for one in found]


def _telling(found: Sequence[Constraint], rows: Table) -> Iterator[Constraint]:
    """Constraints that do not follow from others.

    Dates that lie close together are tied, unless no row has them out of order.
    """
    orders = {one.le for one in found if isinstance(one, Le) and not one.broken(rows).any()}
    tied = {one.tied for one in found if isinstance(one, Tied)}
    derived = {one.column: {*one.columns} for one in found if isinstance(one, Derived)}
    pairs = [set(one.combinations) for one in found if isinstance(one, Combinations)]
    for one in found:
        if isinstance(one, Tied) and one.tied in orders:
            continue
        if isinstance(one, Le) and one.le in tied and one.le not in orders:
            continue
        if isinstance(one, Le) and (_is_told(one, derived) or (one.le not in tied and _between(one.le, orders))):
            continue
        if isinstance(one, Combinations) and (_is_told(one, derived) or _joined(set(one.combinations), pairs)):
            continue
        yield one


def _never_negative(found: Iterable[Constraint], rows: Table) -> Iterator[Constraint]:
    """Differences of numbers that are never below zero, such as a balance."""
    for one in found:
        if isinstance(one, Derived) and " - " in one.derived[one.column]:
            names = one.columns if all(rows.schema[name].kind in NUMBERS for name in one.columns) else ()
            if names and not (rows.frame[one.column] < 0).fillna(False).any():
                yield Range(range={one.column: (0, None)})


def _is_told(pair: Constraint, derived: Mapping[str, Set[str]]) -> bool:
    """True if one of two columns is computed from the other."""
    return any(name in pair.columns and sources >= set(pair.columns) for name, sources in derived.items())


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
