"""Section ``nightly`` of a configuration: releases night after night."""

from __future__ import annotations

from pydantic import Field

from hybrid.base.options import Options
from hybrid.operations.deliver import DeliverOptions
from hybrid.operations.drift import DriftOptions


class ReuseOptions(Options):
    """Limits below which a night keeps the latest release.

    It is kept although the data changed, if all limits are met.
    """

    psi: float = Field(default=0.01, ge=0)
    """Population stability index of the column that changed most; no column and not the rows may be at a warning."""
    days: float = Field(default=7, gt=0)
    """Age of the latest release."""


class NightlyOptions(Options):
    """Releases night after night.

    What is set here does not change what a release holds.
    """

    drift: DriftOptions = DriftOptions()
    """How much the data may change."""
    reuse: ReuseOptions | None = None
    """When the latest release stays although the data changed; null: never."""
    deliver: DeliverOptions = DeliverOptions()
    """Where releases go besides the folder of all releases."""
    webhook_env: str | None = None
    """The environment variable with a URL that gets the outcome of each night as JSON."""
    keep_days: float = Field(default=7, ge=0)
    """Stage results in the private zone that were not used for so long are removed."""
