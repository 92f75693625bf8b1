"""Risk model "outliers": training without the most unusual people."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hybrid.base.options import Options
from hybrid.lab.risk.model import Level, RiskModel, Series
from hybrid.lab.risk.overfit import trained

By = Literal["lof", "vulnerability", "random"]
Measured = Literal["all", "kept"]
WAYS: dict[By, str] = {"lof": "local outlier factor", "vulnerability": "vulnerability", "random": "chance"}
WHOM: dict[Measured, str] = {"all": "all people", "kept": "the people left"}
CONTROL: By = "random"


def _rising(shares: tuple[float, ...]) -> tuple[float, ...]:
    if shares[0] != 0 or any(a >= b for a, b in pairwise(shares)):
        raise ValueError("shares begin with 0 and rise")
    return shares


class OutliersOptions(Options):
    """Section ``risk.outliers`` of a plan."""

    generators: dict[str, dict[str, Any]] = Field(
        default={"cart": {"min_leaf": 5, "smoothing": 0}}, min_length=1, validate_default=True
    )
    """Generators by name, and their options; one that remembers shows most."""
    remove: Annotated[tuple[Annotated[float, Field(ge=0, le=0.5)], ...], AfterValidator(_rising)] = Field(
        default=(0.0, 0.01, 0.05, 0.1), min_length=2
    )
    """Shares of the people that are removed before training, from 0."""
    by: tuple[By, ...] = Field(default=("lof", "vulnerability", CONTROL), min_length=1)
    """What makes them unusual; chance is the control."""
    measured: tuple[Measured, ...] = Field(default=("all", "kept"), min_length=1)
    """Whom the metrics take for the people at risk: all of them, or those that were learned."""


class Outliers(RiskModel):
    """Generators that never see the most unusual people (thesis, section 4.4.2)."""

    name = "outliers"
    title = "Training without outliers"
    sentence = "A generator learns without the most unusual people: what that changes beyond a removal by chance."
    Options = OutliersOptions

    def series(self, options: OutliersOptions) -> tuple[Series, ...]:
        """One series over the shares per generator, way, and people at risk."""
        return tuple(
            Series(
                series_name(generator, by, whom),
                "share of the people removed before training",
                "none",
                tuple(Level(share, _settings(generator, own, share, by, whom)) for share in options.remove),
            )
            for generator, own in options.generators.items()
            for by in options.by
            for whom in options.measured
        )


def series_name(generator: str, by: By, whom: Measured) -> str:
    """Name of a series."""
    return f"{generator}, by {WAYS[by]}, {WHOM[whom]}"


def _settings(generator: str, own: dict[str, Any], share: float, by: By, whom: Measured) -> dict[str, Any]:
    settings = trained(generator, own)
    if share:
        settings["risk"] = {"model": "outliers", "remove": share, "by": by, "measured": whom}
    return settings


OUTLIERS = Outliers()
