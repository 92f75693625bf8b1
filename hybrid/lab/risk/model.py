"""Risk models: series of tables whose leak is known or ordered, and the shares that leak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hybrid.base.options import Options

Scale = Literal["share", "order", "none"]


@dataclass(frozen=True)
class Level:
    """One position of a dial."""

    value: float
    """As the dial shows it."""
    settings: Mapping[str, Any]
    """Dotted keys of the run configuration that make the table."""


@dataclass(frozen=True)
class Series:
    """Levels of one dial, from the least leak to the largest."""

    name: str
    """Distinguishes the series of a risk model, such as the generator; empty where there is one."""
    dial: str
    """Name of the dial."""
    scale: Scale
    """share: values of the dial are shares of leaked records; order: only the order of the levels is known; none: no
    level is known to leak more than another, and there is no verdict."""
    levels: tuple[Level, ...]
    """In order; the first one is without a leak, but for ``none``."""


class RiskModel:
    """Source of tables with a known leak.

    ``name`` is its key in a plan, ``title`` its heading, ``sentence`` its explanation, ``Options`` its section of a
    plan, and ``series`` turns that section into trials.
    """

    name: str
    title: str
    sentence: str
    Options: type[Options]

    def series(self, options: Any) -> tuple[Series, ...]:
        """Series of trials of a section of the plan."""
        raise NotImplementedError


def leak(share: float, **keys: Any) -> dict[str, Any]:
    """Settings of a table with this share of training records."""
    return {"synthesize.generator": "none", "risk": {"model": "leaky", "leak": share, **keys}}


NO_LEAK = Level(0.0, leak(0.0))
"""Fresh records alone: the first level of every dial."""


LEAKS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Fine near 0, where sensitivity is decided."""


def _from_none(shares: tuple[float, ...]) -> tuple[float, ...]:
    if shares[0] != 0 or any(a >= b for a, b in pairwise(shares)):
        raise ValueError("levels begin with 0 and rise")
    return shares


Share = Annotated[float, Field(ge=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(min_length=2), AfterValidator(_from_none)]
