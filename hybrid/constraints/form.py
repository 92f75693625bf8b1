"""Form in which a generator learns records, so that what it draws keeps rules."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from hybrid.base.errors import DataError
from hybrid.constraints.constraint import Rule
from hybrid.constraints.hot_deck import HotDeck
from hybrid.constraints.rules import Rules, is_free
from hybrid.table import Table


@dataclass(frozen=True)
class Form:
    """Form in which a generator learns records that keep rules.

    Parameters
    ----------
    learned : Table
        The records that keep all rules, as they are.
    steps : tuple of Rule
        Rules held by the form, in the order in which drawn records are decoded.
    """

    learned: Table
    steps: tuple[Rule, ...]

    @classmethod
    def of(
        cls,
        rules: Rules,
        records: Table,
        static: Collection[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Form:
        """The form of the records that keep the rules.

        Of the others, those are repaired that can be; the rest is not learned from.

        Parameters
        ----------
        rules : Rules
            What must hold.
        records : Table
            Records, some of which may break rules.
        static : collection of str or None
            Columns with one value per person, where persons are learned: those and the column that orders a person's
            rows stay what they are.
        rng : numpy.random.Generator or None
            Draws the values that repair; None: no record is repaired.

        Raises
        ------
        DataError
            No record keeps all rules.
        """
        if not rules:
            return cls(records, ())
        settled = rules.settle(records)
        held = Rules((*rules.rules, *(one for one in rules.merged if is_free(one, settled, static)))).of_rows
        if rng is not None:
            settled = rules.settle(HotDeck.by(held, settled, fixed_columns(settled, static))(settled, rng))
        learned = settled.take(~held.broken(settled))
        if len(records) and not len(learned):
            raise DataError(
                f"no record keeps all constraints: {'; '.join(rule.constraint.sentence for rule in rules.rules)}",
                hint="`hybrid check` lists how many rows of the source break each of them",
            )
        return cls(learned, rules.forms(learned, static))

    @property
    def replaced(self) -> frozenset[str]:
        """Columns that are learned in another form."""
        return frozenset(name for rule in self.steps for name in rule.replaces)

    @property
    def encoded(self) -> Table:
        """The records as the generator learns them."""
        return self.written(self.learned)

    def written(self, records: Table) -> Table:
        """Records with the columns of the learned ones, in the form in which those are learned."""
        table = records
        for rule in self.steps:
            table = rule.encode(table, records)
        return table

    def decode(self, drawn: Table) -> Table:
        """Drawn records in the columns of the learned ones."""
        for rule in self.steps:
            drawn = rule.decode(drawn, self.learned)
        return drawn


def fixed_columns(table: Table, static: Collection[str] | None) -> frozenset[str]:
    """Columns that cannot change row by row: those with one value per person, and the one that orders its rows."""
    order = table.schema.order
    return frozenset() if static is None else frozenset([*static, *([] if order is None else [order])])
