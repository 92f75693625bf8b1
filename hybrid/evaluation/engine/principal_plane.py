"""Plane of the two principal axes of mixed records."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.space import Space

AXES = 2


def in_plane(space: Space, train: Encoded, table: Encoded) -> tuple[Array, Array]:
    """Both tables in the plane of train's two principal axes.

    Shapes (n, 2). Factor analysis of mixed data (Pages 2004): standardized numbers, missing ones at the mean, and
    indicators of categories, divided by the root of their share in train; all centred. Categories that train lacks have
    no axis.

    Parameters
    ----------
    space : Space
        E1, whose columns, centers and scales are taken.
    """
    from scipy.sparse.linalg import LinearOperator, svds

    mine, its, center = _coordinates(space, train, table)
    if min(mine.shape) <= AXES:
        return np.zeros((len(train), AXES)), np.zeros((len(table), AXES))
    centred = LinearOperator(
        mine.shape,
        matvec=lambda v: mine @ v.ravel() - center @ v.ravel(),
        rmatvec=lambda u: mine.T @ u.ravel() - center * u.sum(),
        dtype=np.float64,
    )
    axes = svds(centred, k=AXES, v0=np.ones(min(mine.shape)))[2].T
    return mine @ axes - center @ axes, its @ axes - center @ axes


def _coordinates(space: Space, train: Encoded, table: Encoded) -> tuple[Any, Any, Array]:
    """Sparse coordinates of both tables before centring, and train's centre."""
    from scipy.sparse import csr_array, hstack

    p = len(space.center)
    parts = [[_numbers(space, side, p)] for side in (train, table)]
    centers = [np.zeros(p)]
    for at in space.columns[p:]:
        codes = [side.ranks[:, at] + 1 for side in (train, table)]
        count = np.bincount(codes[0], minlength=1 + max(int(each.max(initial=0)) for each in codes))
        root = np.sqrt(count / len(train))
        centers.append(root)
        for part, each in zip(parts, codes, strict=True):
            rows = np.flatnonzero(count[each] > 0)
            place = rows, each[rows]
            part.append(csr_array((1 / root[each[rows]], place), shape=(len(each), len(count))))
    mine, its = (hstack(part, format="csr") for part in parts)
    return mine, its, np.concatenate(centers)


def _numbers(space: Space, table: Encoded, p: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.nan_to_num((table.numbers[:, space.columns[:p]] - space.center) / space.scale))
