"""Values of columns that go together, drawn given each other: a town of the row's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Codes
from hybrid.hierarchy import LabelTable
from hybrid.table import Kind, Table
from hybrid.transition.drawing.domain import domains_of
from hybrid.transition.drawing.pools import ranked_pools
from hybrid.transition.protocol import FittedTransition, Restored


@dataclass(frozen=True)
class Together:
    """Columns whose values occur in fixed combinations, and records that have one.

    Parameters
    ----------
    columns : tuple of str
        Such as a town and its state.
    records : numpy.ndarray, shape (m,), int
        Positions of the learned records that have an allowed combination.
    """

    columns: tuple[str, ...]
    records: Codes


@dataclass(frozen=True)
class ToldValues:
    """A fitted transition, after which columns that go together are drawn given each other. Private.

    Of the columns that a transition restores, the one with the fewest values stays as restored; each of the others is
    drawn from the learned records that agree in those before it, below the row's label: a town of the row's state.
    Columns that are not restored are known from the start. Where no record agrees, the restored value stays. Rows
    are left alone where all have a combination of some record: a transition that restores whole records keeps these.
    """

    fitted: FittedTransition
    learned: AnonymizedTable
    together: Sequence[Together]

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Restore as the strategy does, then draw columns that go together given each other."""
        found = self.fitted.restore(labels, rng)
        for one in self.together:
            found = replace(found, table=self._told(found.table, labels, one, rng))
        return found

    def _told(self, table: Table, labels: LabelTable, one: Together, rng: np.random.Generator) -> Table:
        known = self.learned.originals.frame.take(one.records)
        restored = [name for name in one.columns if name in labels.hierarchies]
        restored.sort(key=lambda name: int(known[name].nunique()))
        told = [name for name in one.columns if name not in restored]
        mine, asked = _combinations(known, table.frame, one.columns)
        if np.isin(asked, mine).all():
            return table
        for name in restored:
            if told and labels.hierarchies[name].kind is Kind.CATEGORICAL:
                table = self._drawn(table, labels, name, _combinations(known, table.frame, told), one.records, rng)
            told.append(name)
        return table

    def _drawn(
        self,
        table: Table,
        labels: LabelTable,
        name: str,
        groups: tuple[Codes, Codes],
        records: Codes,
        rng: np.random.Generator,
    ) -> Table:
        """The table with another column of values below the labels, from the records of each row's group."""
        mine, asked = groups
        at = labels.quasi_identifiers.index(name)
        domain, nodes = domains_of(self.learned)[name], labels.nodes[:, at]
        leaves = self.learned.leaves[records, at]
        below = ranked_pools(mine, domain.rank[leaves], domain.hierarchy.n_leaves)
        drawn = below.runs(asked, domain.first[nodes], domain.n_leaves[nodes]).draw(rng)
        values = domain.series(domain.cells(leaves[np.maximum(drawn, 0)]))
        before = table.frame[name].astype(object)
        found = before.where(drawn < 0, values.astype(object).to_numpy())
        return replace(table, frame=table.frame.assign(**{name: found.astype(_both(table.frame[name], values))}))


def _combinations(known: pd.DataFrame, asked: pd.DataFrame, names: Sequence[str]) -> tuple[Codes, Codes]:
    """Number of each row's combination of values in both tables: equal numbers for equal values."""
    both = pd.concat([frame[list(names)].astype(object) for frame in (known, asked)], ignore_index=True)
    numbers: Codes = both.groupby(list(names), dropna=False, sort=False).ngroup().to_numpy(dtype=np.int64)
    return numbers[: len(known)], numbers[len(known) :]


def _both(before: pd.Series, drawn: pd.Series) -> pd.CategoricalDtype:
    """Categories of both columns, those of the first in their order."""
    more = drawn.cat.categories.difference(before.cat.categories, sort=False)
    return pd.CategoricalDtype(before.cat.categories.append(more), ordered=before.cat.ordered)
