"""Options of a known leak, or of removed outliers: the section ``risk``, and the door to who makes such tables.

The laboratory makes them. No configuration for a release has the section, so that nothing here knows the laboratory:
an entry point of the group ``hybrid.risk`` has the name of a model and its maker.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.base.options import Options, composed_options
from hybrid.table import Table

GROUP = "hybrid.risk"
"""Group of entry points, whose names are those of ``risk.model``. Each is a function: of a known leak
``make(train, fresh, options, seed)``, a :class:`KnownLeak`; of a removal ``make(train, options, seed)``, the table that
is left."""

Scale = Literal["relative", "sd", "raw"]
_LAMBDA: dict[str, Any] = {
    "lambda": (
        float,
        Field(
            default=0.0,
            ge=0,
            le=1,
            description="Noise of whole numbers and dates: the mean of a Poisson number of steps up or down.",
        ),
    )
}
"""A key that is a word of Python and cannot be written as a field."""


class RiskOptions(composed_options("_Steps", Options, _LAMBDA, __name__)):  # type: ignore[misc]
    """Options of a table with a known leak.

    It takes the place of the generator: it holds training records, so that nothing made from it is ever released.
    """

    model: Literal["leaky", "noisy"]
    """leaky: training records as they are among records that no metric has seen (``split.release``); noisy: the same
    with noise on the training records."""
    leak: float = Field(ge=0, le=1)
    """Share of the table's records (0..1) that are training records; 0: no leak."""
    size: float = Field(default=1.0, gt=0, le=10)
    """Records of the table, as a multiple of those there are to train on (or to set aside, if these are fewer)."""
    sigma: float = Field(default=0.0, ge=0, le=1)
    """Noise of measured numbers: the standard deviation of a normal draw."""
    p: float = Field(default=0.0, ge=0, le=1)
    """Noise of categories: the probability of another draw."""
    scale: Scale = "relative"
    """relative: numbers times 1 + noise, categories by their frequency among the leaked records; sd: noise in standard
    deviations of the column, categories evenly from the other ones; raw: noise in the column's unit, categories
    evenly from all."""

    @model_validator(mode="after")
    def _noise_has_a_place(self) -> Self:
        if self.model == "leaky" and (self.sigma or self.steps or self.p):
            raise ValueError("risk.model leaky has no noise: use noisy, or leave sigma, lambda and p out")
        return self

    @property
    def steps(self) -> float:
        """Mean number of steps of the noise: the key ``lambda``."""
        return float(getattr(self, "lambda"))


class RemovalOptions(Options):
    """Options of training without the most unusual people.

    The generator learns the others; nothing made from it is ever released.
    """

    model: Literal["outliers"]
    """outliers: the generator learns from the training records that are left."""
    remove: float = Field(ge=0, le=0.5)
    """Share of the people in the training records (0..0.5) that are removed."""
    by: Literal["lof", "encoder", "vulnerability", "random"] = "lof"
    """lof: the largest local outlier factors (20 neighbours; standardized numbers, one-hot categories); encoder: those
    among the points of a contrastive encoder that is trained on these records, which needs torch; vulnerability: the
    largest mean distance to five nearest records (Meeus et al. 2023); random: anybody, as a control."""
    measured: Literal["all", "kept"] = "all"
    """all: metrics take all training records for the people at risk; kept: those that were learned."""


AnyRisk = Annotated[RiskOptions | RemovalOptions, Field(discriminator="model")]
"""Whatever the laboratory tries."""


def leak_of(risk: RiskOptions | RemovalOptions | None) -> RiskOptions | None:
    """Known leak of a section; None where a generator makes the table."""
    return risk if isinstance(risk, RiskOptions) else None


def removal_of(risk: RiskOptions | RemovalOptions | None) -> RemovalOptions | None:
    """Removal of a section; None where all people are learned."""
    return risk if isinstance(risk, RemovalOptions) else None


class KnownLeak(NamedTuple):
    """A table and the origin of its rows."""

    table: Table
    provenance: Array
    """Shape (n_rows,), int: training row that each row came from, -1 for fresh ones. Private."""
    people: Array
    """Shape (n_rows,), int: number of the person that each row is of, also of fresh ones. Private."""


def with_known_leak(train: Table, fresh: Table | None, options: RiskOptions | None, seed: int) -> KnownLeak:
    """Training records among fresh ones, in the place of a generator's table."""
    if options is None or fresh is None:
        raise ConfigError("risk needs fresh records", hint="set split.release")
    made: KnownLeak = _maker(options.model)(train, fresh, options, seed)
    return made


def without_removed(train: Table, options: RemovalOptions | None, seed: int) -> Table:
    """Training records that a removal leaves; all without one."""
    if options is None:
        return train
    left: Table = _maker(options.model)(train, options, seed)
    return left


def _maker(model: str) -> Any:
    for entry in entry_points(group=GROUP, name=model):
        return entry.load()
    raise ConfigError(
        f"risk.model {model}: no installed package makes such tables", hint="install hybrid-release with its laboratory"
    )
