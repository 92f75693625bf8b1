"""All columns at once: maximum mean discrepancy."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.metric import Metric

FEATURES = 500


def _embedding(context: Context, role: Role, width: float) -> Array:
    """Mean of random Fourier features of a table's rows in E1, shape (2 * FEATURES,).

    Rahimi and Recht 2007: cos and sin of random projections, whose inner products are a Gaussian kernel.
    """
    rng = context.random("mmd")
    table = context.encoded(role)
    columns = context.place(context.whole(role))
    projected = np.zeros((len(table), FEATURES))
    if len(columns.numbers):
        projected += columns.numbers.T @ rng.normal(size=(len(columns.numbers), FEATURES))
        projected += columns.missing.T.astype(float) @ rng.normal(size=(len(columns.missing), FEATURES))
    for codes, at in zip(columns.codes, context.space.columns[len(columns.numbers) :], strict=True):
        projected += rng.normal(size=(context.encoding.cardinality[at] + 1, FEATURES))[codes]
    projected /= width
    mean: Array = np.concatenate([np.cos(projected).mean(axis=0), np.sin(projected).mean(axis=0)])
    scaled: Array = mean / FEATURES**0.5
    return scaled


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
    """Maximum mean discrepancy to train with a Gaussian kernel in E1 (Gretton et al. 2012), 0 or more.

    Kernel width by the median heuristic on train; 500 random Fourier features (Rahimi and Recht 2007), so that the
    cost grows with the number of rows and not with its square. The reference is the same for control.
    """
    width = _width(context)
    train = _embedding(context, "train", width)
    value = float(np.linalg.norm(train - _embedding(context, "table", width)))
    reference = None
    if context.control is not None:
        reference = float(np.linalg.norm(train - _embedding(context, "control", width)))
    return Measure(value, reference=reference, n=len(context.table), details={"width": width, "features": FEATURES})


METRICS = (
    Metric(
        name="mmd",
        family="fidelity",
        direction="lower",
        sentence=(
            "How different the joint distribution of all columns is from the real one, beside that of the control set."
        ),
        low=0,
        high=None,
        no_leak=None,
        copy=0.0,
        compute=mmd,
    ),
)
