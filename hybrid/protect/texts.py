"""Text columns that need a decision.

In these, protection would change too many records.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError, Problem
from hybrid.protect.categories import rarity
from hybrid.protect.options import ProtectOptions
from hybrid.table import Kind, Table

MOST_CHANGED = 0.2
"""Share of the records of a categorical column that may change without a decision."""


def text_problems(
    table: Table,
    options: ProtectOptions,
    k: int = 0,
    persons: Array | None = None,
    generalized: Container[str] = (),
) -> list[Problem]:
    """Columns without a decision, and decisions about missing columns.

    Missing are columns that the table does not have.

    Parameters
    ----------
    table : Table
        The training records, without identifiers.
    options : ProtectOptions
        Decisions made already.
    k : int
        Of the anonymization; 0 without one.
    persons : numpy.ndarray, shape (n,), int, optional
        Person of each record.
    generalized : container of str
        Columns that will be generalized, and need no decision.
    """
    return [*_unknown(table, options), *_texts(table, options, k, persons, generalized)]


def refuse_texts(
    table: Table,
    options: ProtectOptions,
    k: int = 0,
    persons: Array | None = None,
    generalized: Container[str] = (),
) -> None:
    """Refuse a table with columns that need a decision.

    Arguments as for :func:`text_problems`.

    Raises
    ------
    DataError
        All such columns at once.
    """
    problems = text_problems(table, options, k, persons, generalized)
    if problems:
        raise DataError(problems)


def _unknown(table: Table, options: ProtectOptions) -> Iterator[Problem]:
    names = ", ".join(table.schema.names)
    for name in options.columns:
        if name not in table.schema:
            yield Problem(f"protect.columns.{name}: no such column, or an identifier", f"one of: {names}")


def _texts(
    table: Table, options: ProtectOptions, k: int, persons: Array | None, generalized: Container[str]
) -> Iterator[Problem]:
    least = options.least_holders(k)
    for column in table.schema:
        decided = column.name in options.columns or column.name in generalized
        if column.kind is not Kind.CATEGORICAL or decided or not len(table):
            continue
        found = rarity(table.frame[column.name], least, persons)
        share = float(found.affected.mean())
        if share > MOST_CHANGED:
            yield Problem(
                f"data.columns.{column.name}: {100 * share:.0f} % of the records hold a value that fewer than {least} "
                f"of the {len(table):,} training records hold; this is a text that may name people",
                f"set role: identifier, or leave the column out of the file, or decide what its rare values become "
                f"with protect.columns.{column.name}: sample, other or missing (keep releases them)",
            )
