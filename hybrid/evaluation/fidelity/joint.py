"""Maximum mean discrepancy of all columns together."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure

FEATURES = 500
ROWS = 500
"""Rows projected at once: they fit into a near cache."""


def _embedding(context: Context, role: Role, width: float) -> Array:
    """Mean of a table's random Fourier features in E1 (Rahimi and Recht 2007), shape (2 * FEATURES,)."""
    rng = context.random("mmd")
    table = context.encoded(role)
    columns = context.place(context.whole(role))
    numbers, missing = (rng.normal(size=(len(columns.numbers), FEATURES)) for _ in range(2))
    categorical = context.space.columns[len(numbers) :]
    codes = [rng.normal(size=(context.encoding.cardinality[at] + 1, FEATURES)) for at in categorical]
    total = np.zeros(2 * FEATURES)
    for start in range(0, len(table), ROWS):
        part = slice(start, start + ROWS)
        projected = columns.numbers[:, part].T @ numbers
        if columns.has_missing.any():
            projected += columns.missing[:, part].T.astype(float) @ missing
        for directions, column in zip(codes, columns.codes, strict=True):
            projected += directions[column[part]]
        angles = (projected / width).astype(np.float32)
        total += np.concatenate([wave(angles).sum(axis=0, dtype=np.float64) for wave in (np.cos, np.sin)])
    return np.asarray(total / (len(table) * FEATURES**0.5))


def _width(context: Context) -> float:
    """Median distance between training rows (the median heuristic), from 2,000 random pairs."""
    rng = context.random("mmd width")
    columns, n = context.place(context.whole("train")), len(context.train)
    order = context.encoded("train").order
    a, b = order[rng.integers(n, size=2000)], order[rng.integers(n, size=2000)]
    squares = ((columns.numbers[:, a] - columns.numbers[:, b]) ** 2).sum(axis=0)
    squares = squares + 2.0 * (columns.codes[:, a] != columns.codes[:, b]).sum(axis=0)
    return float(np.sqrt(np.median(squares))) or 1.0


def mmd(context: Context) -> Measure:
    """Maximum mean discrepancy to train in E1, 0 or more.

    With a Gaussian kernel (Gretton et al. 2012). Kernel width by the median heuristic on train; 500 random Fourier
    features (Rahimi and Recht 2007), so that the cost grows with the number of rows and not with its square. The
    reference is the same for control.
    """
    width, among = _width(context), context.n_categories
    train = context.once_for_all_stages(("mmd train", among), lambda: _embedding(context, "train", width))
    value = float(np.linalg.norm(train - _embedding(context, "table", width)))
    reference = None
    if context.control is not None:
        control = context.once_for_all_stages(("mmd control", among), lambda: _embedding(context, "control", width))
        reference = float(np.linalg.norm(train - control))
    return Measure(value, reference=reference, n=len(context.table), details={"width": width, "features": FEATURES})


METRICS = (
    fidelity(
        mmd,
        "How different the joint distribution of all columns is from the real one, beside that of the control set.",
        high=None,
    ),
)
