"""Options of the contrastive encoder."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hybrid.base.options import Options


class EncoderOptions(Options):
    """Network that turns records into points, for the metrics `cl_*`.

    The published settings are width 1024, categories 10, epochs 300 and encoders 1; batch and rate are the defaults.
    """

    engine: Literal["contrastive", "untrained"] = "contrastive"
    """contrastive: trained on the judged table alone, which needs torch; untrained: the same network with random
    weights, which costs next to nothing. A trained one is always accompanied by an untrained one in the details."""
    encoders: int = Field(default=3, ge=1, le=20)
    """Networks that are trained from different random weights; a metric is the mean over them. Of untrained ones there
    is one."""
    width: int = Field(default=256, ge=8, le=4096)
    """Units of each of the three hidden layers."""
    dimensions: int | None = Field(default=None, ge=2, le=64)
    """Dimensions of a point. Not given: two thirds of the number of columns, at least 8 and at most 30."""
    categories: int | None = Field(default=None, ge=1, le=64)
    """Numbers that stand for one category. Not given: half the number of the column's categories, 2 to 16."""
    temperature: float = Field(default=0.1, gt=0, le=10)
    """tau by which similarities are divided in the loss; not given in the papers."""
    rate: float = Field(default=1e-3, gt=0, lt=1)
    """Learning rate (Adam)."""
    batch: int = Field(default=1024, ge=8)
    """Records that are told apart at once."""
    epochs: int = Field(default=60, ge=1)
    """Most passes over the table."""
    patience: int = Field(default=10, ge=1)
    """Passes without a smaller loss on the tenth held back, after which training ends."""
    bins: int = Field(default=50, ge=2, le=10_000)
    """Intervals of equal width that predicates of `cl_singling_out` cut a number's range into; not given in the
    papers."""
