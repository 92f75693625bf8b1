"""Columns that are missing together."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from hybrid.base.arrays import Mask
from hybrid.constraints.constraint import Constraint, listed
from hybrid.table import Table


class MissingTogether(Constraint):
    """Columns that have a value together, or are missing together."""

    missing_together: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two columns or more."""

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return self.missing_together

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return f"{listed(self.columns)} are missing together"

    def broken(self, table: Table) -> Mask:
        """As :meth:`Constraint.broken`."""
        missing = table.frame[list(self.columns)].isna().to_numpy()
        return np.asarray(missing.any(axis=1) & ~missing.all(axis=1))
