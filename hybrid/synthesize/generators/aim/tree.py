"""Junction trees: cliques of columns and the edges between them.

Every measured set of columns lies in one clique. Columns are numbered, and sets of columns are bit masks while
cliques are searched (Koller and Friedman 2009, Probabilistic Graphical Models, chapters 9 and 10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Clique = tuple[int, ...]
"""Columns in ascending order."""


@dataclass(frozen=True)
class Edge:
    """Two neighbouring cliques and the columns they share.

    ``parent`` and ``child`` are positions in :attr:`JunctionTree.cliques`.
    """

    parent: int
    child: int
    shared: Clique


@dataclass(frozen=True)
class JunctionTree:
    """Cliques and the tree that joins them.

    Parameters
    ----------
    cliques : tuple of tuple of int
        The first is the root.
    edges : tuple of Edge
        Parents come before their children.
    """

    cliques: tuple[Clique, ...]
    edges: tuple[Edge, ...]

    def holding(self, columns: Clique) -> int:
        """Position of the first clique with all these columns."""
        wanted = set(columns)
        return next(at for at, clique in enumerate(self.cliques) if wanted <= set(clique))


def junction_tree(sizes: Sequence[int], measured: Iterable[Clique]) -> JunctionTree:
    """Join columns into a tree of cliques.

    Parameters
    ----------
    sizes : sequence of int
        States of each column.
    measured : iterable of tuple of int
        Sets of columns, each of which lies in one clique of the result.
    """
    found = sorted(_maximal(_eliminated(sizes, measured)), key=lambda mask: (-mask.bit_count(), mask))
    cliques = tuple(_columns(mask) for mask in found)
    return JunctionTree(cliques, tuple(_spanning_edges(found)))


def tree_cells(sizes: Sequence[int], measured: Iterable[Clique]) -> float:
    """Cells of all cliques of the junction tree together."""
    cliques = _maximal(_eliminated(sizes, measured))
    return math.fsum(math.prod(sizes[column] for column in _columns(mask)) for mask in cliques)


def _eliminated(sizes: Sequence[int], measured: Iterable[Clique]) -> Iterator[int]:
    """Cliques that arise when columns are eliminated.

    Each time the column whose clique has the fewest cells.
    """
    near = [1 << column for column in range(len(sizes))]
    for clique in measured:
        mask = _mask(clique)
        for column in clique:
            near[column] |= mask
    logs = [math.log(size) for size in sizes]
    left = set(range(len(sizes)))
    cells = {column: _log_cells(near[column], logs) for column in left}
    while left:
        column = min(left, key=lambda each: (cells[each], each))
        mask = near[column]
        yield mask
        left.remove(column)
        for other in _columns(mask & ~(1 << column)):
            near[other] = (near[other] | mask) & ~(1 << column)
            cells[other] = _log_cells(near[other], logs)


def _log_cells(mask: int, logs: Sequence[float]) -> float:
    return math.fsum(logs[column] for column in _columns(mask))


def _maximal(masks: Iterable[int]) -> list[int]:
    found: list[int] = []
    for mask in sorted(set(masks), key=lambda each: -each.bit_count()):
        if not any(mask & other == mask for other in found):
            found.append(mask)
    return found


def _spanning_edges(masks: Sequence[int]) -> Iterator[Edge]:
    """Edges of a spanning tree with the most shared columns."""
    best = dict.fromkeys(range(1, len(masks)), 0)
    while best:
        child = max(best, key=lambda at: ((masks[at] & masks[best[at]]).bit_count(), -at))
        parent = best.pop(child)
        yield Edge(parent, child, _columns(masks[parent] & masks[child]))
        for at, known in best.items():
            if (masks[at] & masks[child]).bit_count() > (masks[at] & masks[known]).bit_count():
                best[at] = child


def _mask(columns: Clique) -> int:
    return sum(1 << column for column in columns)


def _columns(mask: int) -> Clique:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)
