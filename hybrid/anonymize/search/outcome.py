"""Outcomes of a search.

The best node, none, or a recoding of the distinct rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Score
from hybrid.anonymize.search.node_check import NodeOutcome
from hybrid.base.arrays import Mask, Nodes


@dataclass(frozen=True)
class Solution:
    """The best node found.

    Parameters
    ----------
    node : Node
        Position in the lattice.
    score : Score
        Its loss.
    found : NodeOutcome
        What it does to the records.
    lower_bound : float
        No feasible node has a smaller loss; equal to the score's value if the search was complete.
    checked : int
        How many nodes were grouped.
    """

    node: Node
    score: Score
    found: NodeOutcome
    lower_bound: float
    checked: int

    @property
    def gap(self) -> float:
        """Proven bound on loss - least possible loss; 0 when optimal."""
        return max(0.0, self.score.value - self.lower_bound)


@dataclass(frozen=True)
class Infeasible:
    """No feasible node exists (or, if not complete, was found).

    Parameters
    ----------
    fewest : int
        Least number of suppressed records at any node checked.
    fewest_at : Node
        Where.
    complete : bool
        Whether it is proven that no node is feasible.
    checked : int
        How many nodes were grouped.
    """

    fewest: int
    fewest_at: Node
    complete: bool
    checked: int


@dataclass(frozen=True)
class Recoding:
    """Decision of an engine.

    Parameters
    ----------
    nodes : numpy.ndarray, shape (n_distinct, n_qi), int32
        Hierarchy node of every cell of every distinct row.
    suppressed : numpy.ndarray, shape (n_distinct,), bool
        Distinct rows that are left out.
    levels : dict of str to int, or None
        Level of each quasi-identifier; None if it differs from row to row.
    score : Score
        The loss.
    gap : float
        Proven bound on how much smaller a loss could be; 0 when optimal.
    coarsened : numpy.ndarray, shape (n_distinct,), bool, or None
        Distinct rows with coarser labels instead of being left out; None where such rows are left out.
    """

    nodes: Nodes
    suppressed: Mask
    levels: dict[str, int] | None
    score: Score
    gap: float
    coarsened: Mask | None = None
