"""Evidence about single records in the leaves of a tree.

Who holds a tree holds the training values of its leaves. A record that was learned from finds its own value in the leaf
that it falls into; how seldom a stranger does, other people of the population tell.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.trees import DonorTree, K

PRIOR_PEOPLE = 5.0
"""People of the marginal distribution who are added to those of the reference in every leaf. Of 1, 5 and none of the
leaf's own (the marginal alone) 5 found most people of Adult, with leaves of 1 to 50."""
PRIOR_DONORS = 0.1
"""The same, added to the training values of a leaf: a value that none of them has is unlikely, not impossible."""


def leaf_odds(
    tree: DonorTree[K], known: Mapping[K, Array], values: Array, known_reference: Mapping[K, Array], reference: Array
) -> Array:
    """Log of how much more frequent values are among the training values of their leaf than among other people there.

    With t of T training values of the leaf equal to the record's, r of R reference people who fall into it, and the
    share q = (r_all + 1/2) / (n_reference + 1) of the value among all reference people:
    log((t + q/10) / (T + 1/10)) - log((r + 5 q) / (R + 5)).

    Parameters
    ----------
    tree : DonorTree
        Of one column.
    known, known_reference : mapping
        The columns that the tree reads, of records of shape (n,) and of people who were not learned from, shape (m,).
    values, reference : numpy.ndarray, shapes (n,) and (m,)
        The tree's own column of both. NaN is a value.

    Returns
    -------
    numpy.ndarray, shape (n,), float64
        0: as frequent as among other people; larger: more.
    """
    own, others = tree.leaves(known, len(values)), tree.leaves(known_reference, len(reference))
    _, codes = np.unique(np.concatenate([tree.donors, values, reference]), return_inverse=True)
    donors, mine, theirs = np.split(codes, np.cumsum([len(tree.donors), len(values)]))
    of_leaf = np.flatnonzero(tree.is_leaf)
    owner = np.repeat(of_leaf, tree.count[of_leaf])
    width = int(codes.max(initial=0)) + 1
    share = (np.bincount(theirs, minlength=width)[mine] + 0.5) / (len(reference) + 1)
    trained = _counts(owner * width + donors, own * width + mine)
    seen = _counts(others * width + theirs, own * width + mine)
    there = np.bincount(others, minlength=len(tree.count))[own]
    among_donors = (trained + PRIOR_DONORS * share) / (tree.count[own] + PRIOR_DONORS)
    among_others = (seen + PRIOR_PEOPLE * share) / (there + PRIOR_PEOPLE)
    odds: Array = np.log(among_donors) - np.log(among_others)
    return odds


def _counts(cells: Array, asked: Array) -> Array:
    """Number of times that each asked cell occurs; shape of ``asked``."""
    cells = np.sort(cells)
    found: Array = np.searchsorted(cells, asked, side="right") - np.searchsorted(cells, asked, side="left")
    return found
