"""Columns that are missing together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from hybrid.base.arrays import Mask
from hybrid.constraints.constraint import Constraint, listed
from hybrid.table import Table

LEAST_MISSING = 20
"""Rows in which the columns are missing, and in which they are not, so that the constraint is suggested."""


class MissingTogether(Constraint):
    """Columns that have a value together, or are missing together."""

    missing_together: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two columns or more."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        """Columns that are missing in the same rows."""
        same: dict[bytes, list[str]] = {}
        for name in table.schema.names:
            missing = table.frame[name].isna().to_numpy()
            if LEAST_MISSING <= missing.sum() <= len(missing) - LEAST_MISSING:
                same.setdefault(np.packbits(missing).tobytes(), []).append(name)
        yield from (cls(missing_together=tuple(names)) for names in same.values() if len(names) > 1)

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
