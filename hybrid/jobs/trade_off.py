"""Loss at several k and suppression limits, by the exact search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hybrid.anonymize.search.tradeoff import TradeoffPoint, tradeoff
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import fingerprint
from hybrid.base.progress import Progress, silent
from hybrid.linked.config import LinkedConfig
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline

KS = (2, 3, 5, 10, 20, 50)
"""Class sizes that are compared, beside the configured one."""
LIMITS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Suppression limits that are compared, beside the configured one: shares of the records, 0..1."""


@dataclass(frozen=True)
class TradeOff:
    """Least loss at every pair of k and suppression limit.

    Parameters
    ----------
    of : str
        Fingerprint of the configuration, but for k and the limit, and of its files (:func:`basis`).
    loss : str
        Name of the loss; of "loss" the values are shares of the information, 0..1.
    k, limit : int and float
        As configured.
    records : int
        Training records that the search was about.
    points : tuple of TradeoffPoint
        By k, then by limit, ascending.
    """

    of: str
    loss: str
    k: int
    limit: float
    records: int
    points: tuple[TradeoffPoint, ...]

    def at(self, k: int, limit: float) -> TradeoffPoint:
        """Nearest searched point that is at least as strict.

        Beyond the largest k, the largest.
        """
        ks = sorted({one.k for one in self.points})
        limits = sorted({one.suppression_limit for one in self.points})
        found_k = next((one for one in ks if one >= k), ks[-1])
        found_limit = max((one for one in limits if one <= limit), default=limits[0])
        return next(one for one in self.points if (one.k, one.suppression_limit) == (found_k, found_limit))

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types; no cell value."""
        points = [one.to_json() | {"gap": one.gap if math.isfinite(one.gap) else None} for one in self.points]
        return asdict(self) | {"points": points}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TradeOff:
        """Read what :meth:`to_json` wrote."""
        known = [one | {"gap": math.inf if one["gap"] is None else one["gap"]} for one in content["points"]]
        return cls(**content | {"points": tuple(TradeoffPoint(**one) for one in known)})


def trade_off_of(
    config: RunConfig, ks: Sequence[int] = KS, limits: Sequence[float] = LIMITS, progress: Progress = silent
) -> TradeOff:
    """Search the least loss at every pair of k and suppression limit.

    Parameters
    ----------
    config : RunConfig
        As :func:`with_curve` gives it. All but k and the limit stays: models, hierarchies, protection of values.
    ks : sequence of int
        Class sizes, 1 or more; the configured one is added.
    limits : sequence of float
        Shares of records that may be left out, 0..1; the configured one is added.
    progress : Progress
        Called by the search.

    Raises
    ------
    HybridError
        As reading, splitting and protecting the table.
    """
    pipeline = Pipeline(config, progress=progress)
    stages = pipeline.anonymization
    assert stages is not None
    options, train = stages.options, stages.coarsened
    asked = sorted({*ks, options.k}), sorted({*limits, options.suppression_limit})
    points = tradeoff(train, stages.hierarchies, options, *asked, progress, stages.population)
    here = options.k, options.suppression_limit
    return TradeOff(basis(config), options.loss.name, *here, len(train), tuple(points))


def with_curve(config: RunConfig | LinkedConfig) -> RunConfig:
    """Configuration whose trade-off can be searched.

    Raises
    ------
    ConfigError
        It does not generalize one table by the exact global search, or is differentially private.
    """
    if isinstance(config, LinkedConfig) or config.privacy is not None or not config.has_tradeoff:
        raise ConfigError(
            "the trade-off is that of one table with engine: exact and recoding: global, without privacy.mode: dp",
            hint="hybrid compare runs a plan of any configurations",
        )
    return config


def basis(config: RunConfig) -> str:
    """Fingerprint of all that a trade-off depends on.

    Of the configuration but k and the limit, and of size and time of the files of data and hierarchies.
    """
    content = config.model_dump(mode="json")
    for key in ("roles", "publish", "policy", "evaluate", "synthesize", "nightly", "output"):
        content.pop(key, None)
    content["anonymize"] = {**(content["anonymize"] or {}), "k": None, "suppression_limit": None}
    files = [config.path(config.data.path)] if config.data.path else []
    files += [source for source in config.hierarchy_sources.values() if isinstance(source, Path)]
    known = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.is_file()]
    return fingerprint((content, known))
