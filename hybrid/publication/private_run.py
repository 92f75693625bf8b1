"""Refusal to publish runs with a privacy budget beside figures without noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid.base.errors import ConfigError


def refuse_private(config: Mapping[str, Any]) -> None:
    """Refuse a configuration with the section ``privacy``.

    Parameters
    ----------
    config : mapping
        A run's configuration in JSON types, as in its manifest.

    Raises
    ------
    ConfigError
        A release would hold figures that are computed from the records without noise.
    """
    if config.get("privacy") is not None:
        raise ConfigError(
            "privacy.mode dp is for runs, not for releases: report, evaluation and certificate of a release are "
            "computed from the records without noise",
            hint="hybrid run CONFIG draws the table; hand out its synthetic table alone",
        )
