"""Condition that drawn rows must meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.constraints.expression import NotAnExpression, parse
from hybrid.constraints.kinds.formula import Formula
from hybrid.table import Role, Schema, Table
from hybrid.table.persons import with_any_of

FORBIDDEN = {
    Role.IDENTIFIER: ("identifiers are never learned, and surrogates take their place", "name other columns"),
    Role.UNDECIDED: ("undecided columns enter no run", "give them a role first"),
    Role.EXCLUDED: ("excluded columns enter no run", "name other columns"),
    Role.WEIGHT: ("sampling weights are calibrated after drawing", "name other columns"),
}
"""Roles that a condition cannot name, with the reason and the remedy."""


@dataclass(frozen=True)
class DrawCondition:
    """Condition on the values of a row, such as ``ward = 'ICU'``.

    Parameters
    ----------
    text : str
        An expression of :mod:`hybrid.constraints.expression`. Unknown, for want of a value, is not met.
    """

    text: str

    @cached_property
    def formula(self) -> Formula:
        """The condition as a formula, where it is not :meth:`malformed`."""
        return Formula(formula=self.text)

    def malformed(self) -> Iterator[Problem]:
        """Problem of a text outside of the grammar."""
        try:
            parse(self.text)
        except NotAnExpression as error:
            yield Problem(str(error), "such as ward = 'ICU' and age >= 60")

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """Problems with the columns of a table.

        Unknown columns, roles of :data:`FORBIDDEN`, kinds that do not fit.
        """
        columns = self.formula.columns
        unknown = [name for name in columns if name not in schema]
        if unknown:
            yield Problem(f"no such column: {', '.join(unknown)}", f"one of: {', '.join(schema.names)}")
            return
        refused = False
        for role, (reason, hint) in FORBIDDEN.items():
            names = [name for name in columns if schema[name].role is role]
            if names:
                refused = True
                yield Problem(f"{reason}: {', '.join(names)}", hint)
        if not refused:
            yield from self.formula.problems(schema)

    def rows(self, table: Table) -> Mask:
        """Rows that meet it, shape (n_rows,), bool."""
        return np.asarray(self.formula.expression.truth(table).fillna(False), dtype=bool)

    def whole(self, table: Table) -> Mask:
        """All rows of the persons with a row that meets it.

        Shape (n_rows,), bool; the rows themselves without persons.
        """
        return with_any_of(table, self.rows(table))
