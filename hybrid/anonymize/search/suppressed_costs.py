"""Costs of suppressed rows, summed up per base.

What a row of a base adds to each term of a loss is added up once per base. The classes of a node then bound the loss
for all k at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.search.group_cache import Grouping
from hybrid.anonymize.search.losses import RowCosts
from hybrid.anonymize.search.node_check import Groups
from hybrid.base.arrays import Counts, Numbers
from hybrid.base.keys import group_sums


@dataclass(frozen=True)
class SuppressedCosts:
    """Terms of a loss that grows with each suppressed row.

    Parameters
    ----------
    costs : RowCosts
        What a record of each leaf adds; not empty.
    """

    costs: RowCosts

    def terms(self, groups: Groups, ks: Counts, most: int) -> tuple[Numbers, Numbers]:
        """Suppressed records and terms for each k.

        Parameters
        ----------
        groups : Groups
            The classes of one node.
        ks : numpy.ndarray, shape (n_ks,), int64
            Ascending, 1 or more.
        most : int
            Terms are asked for up to so many suppressed records.

        Returns
        -------
        suppressed : numpy.ndarray, shape (n_ks,), float64
            Records in classes of fewer than each k.
        terms : numpy.ndarray, shape (n_asked, n_terms), float64
            Weighted terms of the first ks, whose suppressed records are at most ``most``.
        """
        few = np.flatnonzero(groups.size_of_row < ks[-1])
        sizes = groups.size_of_row.take(few)
        per_size = group_sums(sizes.astype(np.int64), groups.base.counts.take(few), ks[-1])
        suppressed = np.cumsum(per_size)[ks - 1]
        asked = ks[: np.searchsorted(suppressed, most, side="right")]
        terms = np.empty((len(asked), len(self.costs.terms)))
        added, before = self.costs.terms, np.zeros(len(few), dtype=bool)
        for at, k in enumerate(asked):
            smaller = sizes < k
            rows = few[smaller & ~before]
            if len(rows):
                added = added + np.ones(len(rows)) @ self._sums(groups.base).take(rows, axis=0)
            terms[at], before = added, smaller
        return suppressed, np.maximum(terms, 0)

    def _sums(self, base: Grouping) -> Numbers:
        """Cost of suppressing each row of a base.

        In each term; shape (len(base), n_terms). Cached in the base.
        """
        if "sums" not in base.added:
            finer = None if base.parent is None else self._sums(base.parent)
            columns = [self._added(base, finer, column) for column in range(len(base.leaves))]
            base.added["sums"] = np.concatenate(columns, axis=1)
        return base.added["sums"]

    def _added(self, base: Grouping, finer: Numbers | None, column: int) -> Numbers:
        """Cost of suppressing each row, in one column's terms.

        From the finer base where its rows have several leaves.
        """
        if base.one_leaf(column):
            added: Numbers = self._more(column).take(base.leaves[column], axis=0)
            return np.multiply(added, base.counts[:, None], out=added)
        first, last = self.costs.starts[column], self.costs.starts[column + 1]
        assert finer is not None  # the distinct rows have one leaf each
        terms = np.ascontiguousarray(finer[:, first:last].T)
        return np.stack([group_sums(base.row_of, term, len(base)) for term in terms], axis=1)

    def _more(self, column: int) -> Numbers:
        """Cost of suppressing one record; shape (n_leaves, n_positions)."""
        width = self.costs.starts[column + 1] - self.costs.starts[column]
        ends = [*self.costs.more_starts[1:], len(self.costs.more)]
        return self.costs.more[self.costs.more_starts[column] : ends[column]].reshape(-1, width)
