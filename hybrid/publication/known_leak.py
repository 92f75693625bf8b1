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
        It is a trial of the laboratory; its table may hold training records as they are.
    """
    if config.get("risk") is not None:
        raise ConfigError(
            "the configuration has a section risk: it is a trial of the laboratory, whose tables may hold training "
            "records and are never written or released",
            hint="hybrid lab tries metrics on such tables and keeps aggregates alone",
        )
