"""Simple random sampling.

An exact number of records, all subsets of that size equally likely.
"""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Counts
from hybrid.sample.options import SampleOptions


def quotas(sizes: Counts, options: SampleOptions, rng: np.random.Generator) -> tuple[Counts, float]:  # noqa: ARG001
    """Records to keep of each stratum, and the total.

    beta times its size, rounded to the nearest.
    """
    rounded = np.round(options.beta * sizes)
    return rounded.astype(np.int64), float(rounded.sum())
