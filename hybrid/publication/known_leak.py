"""Refusal of runs whose table holds training records on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid.base.errors import ConfigError


def refuse_known_leak(config: Mapping[str, Any]) -> None:
    """Refuse a configuration with the section ``risk``.

    Parameters
    ----------
    config : mapping
        A run's configuration in JSON types, as in its manifest.

    Raises
    ------
    ConfigError
        Its table holds training records as they are, for the laboratory.
    """
    if config.get("risk") is not None:
        raise ConfigError(
            "the configuration has a section risk: its table holds training records, which are never written or "
            "released",
            hint="hybrid lab tries metrics on such tables and keeps aggregates alone",
        )
