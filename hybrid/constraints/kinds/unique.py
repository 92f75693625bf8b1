"""Uniqueness: no two rows share the values of some columns."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from hybrid.base.arrays import Mask
from hybrid.constraints.constraint import Constraint, listed
from hybrid.table import Table


class Unique(Constraint):
    """Values that no two rows share.

    Identifiers get fresh values, which are unique where they are numbers or texts.
    """

    about_identifiers = True
    of_table = True

    unique: Annotated[tuple[str, ...], Field(min_length=1)]
    """One column or more, whose values together occur once."""

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return self.unique

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return f"no two rows have the same {listed(self.unique)}"

    def broken(self, table: Table) -> Mask:
        """Rows that repeat an earlier one in these columns."""
        frame = table.frame[list(self.unique)]
        return np.asarray(frame.duplicated() & frame.notna().all(axis=1), dtype=bool)
