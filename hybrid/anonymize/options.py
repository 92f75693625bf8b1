"""What a user can set for anonymization."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from hybrid.base.options import Options


class LDiversity(Options):
    """Every class has l well-represented sensitive values.

    Machanavajjhala et al. 2007, doi 10.1145/1217299.1217302.
    """

    model: Literal["l_diversity"]
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    """distinct: at least l values. entropy: the values' Shannon entropy is at least log(l). recursive: the most
    frequent value is rarer than c times all but the l - 1 most frequent ones together."""
    l: float = Field(default=2, ge=1)  # noqa: E741
    """How many values; a whole number unless kind is entropy."""
    c: PositiveFloat | None = None
    """The factor of recursive (c,l)-diversity; larger is weaker."""
    attribute: str
    """The sensitive column."""

    @model_validator(mode="after")
    def _fits(self) -> LDiversity:
        if self.kind != "entropy" and not float(self.l).is_integer():
            raise ValueError("l must be a whole number unless kind is entropy")
        if (self.kind == "recursive") != (self.c is not None):
            raise ValueError("c is set if and only if kind is recursive")
        return self


class TCloseness(Options):
    """The distribution of a sensitive column in every class is near its distribution in the whole table.

    Li, Li and Venkatasubramanian 2007, doi 10.1109/ICDE.2007.367856.
    """

    model: Literal["t_closeness"]
    t: float = Field(ge=0, le=1)
    """Largest earth mover's distance, 0..1."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """equal: any two values are equally far apart. ordered: by rank. hierarchical: by the height of the lowest
    common node in the column's hierarchy."""
    attribute: str
    """The sensitive column."""


class AlphaK(Options):
    """No sensitive value makes up more than alpha of a class (Wong et al. 2006, doi 10.1145/1150402.1150499)."""

    model: Literal["alpha_k"]
    alpha: float = Field(gt=0, le=1)
    """Largest relative frequency of any one value in a class."""
    attribute: str
    """The sensitive column."""


class BetaLikeness(Options):
    """No sensitive value is much more frequent in a class than overall.

    Cao and Karras 2012, doi 10.14778/2350229.2350255.
    """

    model: Literal["beta_likeness"]
    beta: PositiveFloat
    """Largest relative gain (q - p) / p of a value with frequency q in the class and p overall."""
    kind: Literal["basic", "enhanced"] = "enhanced"
    """enhanced: the gain is also at most -ln(p), so that frequent values are protected too."""
    attribute: str
    """The sensitive column."""


class KMap(Options):
    """Every class matches k people of a population table (Sweeney 2001); needs ``population``."""

    model: Literal["k_map"]
    k: PositiveInt
    """How many people of the population share the labels of a record."""


ModelOptions = Annotated[LDiversity | TCloseness | AlphaK | BetaLikeness | KMap, Field(discriminator="model")]
"""A privacy model beside k-anonymity."""


class LossOptions(Options):
    """What the search minimizes."""

    name: Literal["loss", "entropy", "aecs", "discernibility", "precision"] = "loss"
    """loss: share of the domain a cell covers. entropy: non-uniform entropy. aecs: average class size.
    discernibility: sum of squared class sizes. precision: height in the hierarchy."""
    mean: Literal["geometric", "arithmetic"] | None = None
    """How columns are averaged: loss (default geometric) and precision (default arithmetic)."""
    normalized: bool = False
    """entropy only: divide each column by its own entropy and average, instead of summing bits."""
    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Importance of columns, 1 where not given; loss, entropy and precision."""
    gs_factor: float = Field(default=0.5, ge=0, le=1)
    """loss and precision: below 0.5 suppression counts less, above 0.5 generalization counts less."""

    @model_validator(mode="after")
    def _fits(self) -> LossOptions:
        if self.mean is not None and self.name not in ("loss", "precision"):
            raise ValueError(f"mean does not apply to {self.name}")
        if self.normalized and self.name != "entropy":
            raise ValueError("normalized applies to entropy only")
        if self.weights and self.name in ("aecs", "discernibility"):
            raise ValueError(f"weights do not apply to {self.name}")
        if self.gs_factor != 0.5 and self.name not in ("loss", "precision"):
            raise ValueError(f"gs_factor does not apply to {self.name}")
        return self


class AnonymizeOptions(Options):
    """How quasi-identifiers are generalized."""

    engine: Literal["exact", "anjana"] = "exact"
    """exact: the least loss over all combinations of levels, proven. anjana: the greedy search of that package."""
    recoding: Literal["global", "local"] = "global"
    """global: one level per column. local: the level may differ from row to row; about a third to a half of the
    loss, but a column then mixes levels."""
    k: PositiveInt = 5
    """Records with equal quasi-identifiers, at least."""
    models: tuple[ModelOptions, ...] = ()
    """Privacy models beside k; all hold together."""
    suppression_limit: float = Field(default=0.02, ge=0, le=1)
    """Share of records that may be left out, 0..1. Local recoding leaves none out."""
    loss: LossOptions = LossOptions()
    """What the search minimizes."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Levels fixed beforehand, independent of the data; the search chooses the others. Global recoding only."""
    time_limit: PositiveFloat = 60.0
    """Seconds for lattices of more than a million combinations; then the best one found, and how far it can be
    from the optimum."""
    population: str | None = None
    """Path of the population table of k_map, relative to the config file; it has the quasi-identifiers' columns."""
    memory_limit: PositiveFloat | None = None
    """GiB that streaming a Parquet file (`hybrid anonymize`) may take; default: three quarters of what is free."""

    @model_validator(mode="after")
    def _fits(self) -> AnonymizeOptions:
        if self.recoding == "local":
            if self.levels:
                raise ValueError("levels are fixed for global recoding only")
            if self.loss.name not in ("loss", "precision"):
                raise ValueError(f"local recoding minimizes loss or precision, not {self.loss.name}")
        if self.engine == "anjana" and (self.recoding == "local" or self.levels or self._foreign_models):
            raise ValueError(
                "engine anjana knows global recoding without fixed levels, k and distinct l-diversity of one attribute"
            )
        return self

    @property
    def _foreign_models(self) -> bool:
        known = [model for model in self.models if isinstance(model, LDiversity) and model.kind == "distinct"]
        return len(known) != len(self.models) or len(known) > 1

    @property
    def attributes(self) -> list[str]:
        """The sensitive columns that the models look at, in alphabetical order."""
        return sorted({model.attribute for model in self.models if not isinstance(model, KMap)})

    def allowed(self, n_records: int) -> int:
        """How many of ``n_records`` may be suppressed."""
        return math.floor(self.suppression_limit * n_records + 1e-9)
