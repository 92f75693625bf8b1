"""Formula: an expression that is true in every row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import field_validator

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import Constraint
from hybrid.constraints.expression import Expression, parse
from hybrid.table import Schema, Table


class Formula(Constraint):
    """Formula over the columns of a row, such as ``cost >= 0``."""

    formula: str
    """Comparisons of columns, numbers and texts, joined by and, or, not; + - * /, in [...], abs, min, max, missing.
    Column names that are no words stand in backticks. Unknown, for want of a value, is not broken."""

    @field_validator("formula")
    @classmethod
    def _in_grammar(cls, text: str) -> str:
        parse(text)
        return text

    @property
    def expression(self) -> Expression:
        """The parsed formula."""
        return parse(self.formula)

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return self.expression.columns

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return self.formula

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        hint = "compare it, such as a + b <= 10"
        yield from self.expression.problems(schema, ["truth"], "not true or false", hint)

    def broken(self, table: Table) -> Mask:
        """As :meth:`Constraint.broken`."""
        return np.asarray(~self.expression.truth(table).fillna(True), dtype=bool)
