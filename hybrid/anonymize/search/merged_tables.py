"""Tables merged at a node: rows that agree there are one.

All nodes at or above that node are checked on them at less cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock

from hybrid.anonymize.search.distinct_rows import merged
from hybrid.anonymize.search.group_cache import GroupCache
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.node_check import Checker
from hybrid.base.keys import group_rows

_LARGE = 1 << 19
"""Tables of fewer rows are not merged further."""
_STEPS = 2
"""Levels below a node at which its table is merged, so that neighbours use it, too."""
_WORTH = 0.7
"""A table is kept if it has at most this part of the rows of the one that it was made from."""


@dataclass
class MergedTables:
    """Checkers of one table, merged at several nodes.

    Threads may share them.

    Parameters
    ----------
    whole : Checker
        Of the whole table.
    """

    whole: Checker
    _kept: dict[Node, Checker] = field(default_factory=dict)
    _tried: set[Node] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def at(self, node: Node) -> Checker:
        """Checker of the nodes at or above one, with few rows.

        What it says of suppressed leaves holds at these nodes only.
        """
        with self._lock:
            found = self._fewest(node)
            low = tuple(max(position - _STEPS, 0) for position in node)
            if found.records.n_distinct <= _LARGE or low in self._tried or found.records.persons is not None:
                return found
            self._tried.add(low)
            made = grouped_at(low, found)
            if made.records.n_distinct > _WORTH * found.records.n_distinct:
                return found
            self._kept[low] = made
            while sum(one.records.n_distinct for one in self._kept.values()) > self.whole.records.n_distinct:
                dropped = next(iter(self._kept))
                del self._kept[dropped]
                self._tried.discard(dropped)
            return made

    def _fewest(self, node: Node) -> Checker:
        """The smallest table that was merged at or below a node."""
        fitting = [low for low in self._kept if all(a <= b for a, b in zip(low, node, strict=True))]
        if not fitting:
            return self.whole
        best = min(fitting, key=lambda low: self._kept[low].records.n_distinct)
        self._kept[best] = self._kept.pop(best)
        return self._kept[best]


def grouped_at(low: Node, checker: Checker) -> Checker:
    """Checker of a table merged at a node.

    For the nodes at or above it.
    """
    if checker.records.persons is not None or checker.bases.keeps_apart(low):
        return checker
    bases = checker.bases
    records = merged(checker.records, *group_rows(*bases.classes(bases.whole, low)))
    return replace(checker, bases=GroupCache(records, checker.lattice))
