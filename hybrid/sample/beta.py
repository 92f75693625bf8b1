"""Bernoulli sampling: every record is kept independently with probability beta."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Counts
from hybrid.sample.options import SampleOptions


def quotas(sizes: Counts, options: SampleOptions, rng: np.random.Generator) -> tuple[Counts, float]:
    """Records to keep of each stratum, and the expected total.

    Drawn from Binomial(size, beta).
    """
    return rng.binomial(sizes, options.beta), float((options.beta * sizes).sum())
