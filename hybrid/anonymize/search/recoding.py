"""A recoding of the distinct rows: which node every cell becomes, and which rows are left out."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid.anonymize.search.losses import Score
from hybrid.base.arrays import Array


@dataclass(frozen=True)
class Recoding:
    """What an engine decided.

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
    """

    nodes: Array
    suppressed: Array
    levels: dict[str, int] | None
    score: Score
    gap: float
