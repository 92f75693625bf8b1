"""Options of anonymization."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import pandas as pd
from pydantic import Field, PositiveFloat, PositiveInt, StringConstraints, model_validator

from hybrid.anonymize.models import AnyModel
from hybrid.anonymize.models.households import Households
from hybrid.anonymize.models.l_diversity import LDiversity
from hybrid.anonymize.models.protocol import PopulationModel, SensitiveModel
from hybrid.anonymize.techniques.generalization import Generalization
from hybrid.anonymize.techniques.registry import Steps, generalizes, refuse_misfits
from hybrid.base.options import Options
from hybrid.base.resources import available_bytes
from hybrid.table import Table

_FREE_SHARE = 0.75
"""Share of the free memory that is used where no limit is set."""


class LossOptions(Options):
    """Options of the loss that the search minimizes."""

    name: Literal["loss", "association", "entropy", "aecs", "discernibility", "precision"] = "loss"
    """loss: share of the domain a cell covers. association: the same, and in equal parts what its level loses of the
    column's association with what the table is for. entropy: non-uniform entropy. aecs: average class size.
    discernibility: sum of squared class sizes. precision: height in the hierarchy."""
    mean: Literal["geometric", "arithmetic"] | None = None
    """How columns are averaged: loss and association (default geometric) and precision (default arithmetic)."""
    use: tuple[str, ...] = ()
    """association only: columns that the table is for. Not given: the targets; without targets, all columns."""
    normalized: bool = False
    """entropy only: divide each column by its own entropy and average, instead of summing bits."""
    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Importance of columns, 1 where not given; loss, association, entropy and precision."""
    gs_factor: float = Field(default=0.5, ge=0, le=1)
    """loss, association and precision: below 0.5 suppression counts less, above 0.5 generalization counts less."""

    @model_validator(mode="after")
    def _fits(self) -> LossOptions:
        if self.mean is not None and not self.of_cells:
            raise ValueError(f"mean does not apply to {self.name}")
        if self.normalized and self.name != "entropy":
            raise ValueError("normalized applies to entropy only")
        if self.weights and self.name in ("aecs", "discernibility"):
            raise ValueError(f"weights do not apply to {self.name}")
        if self.gs_factor != 0.5 and not self.of_cells:
            raise ValueError(f"gs_factor does not apply to {self.name}")
        if self.use and self.name != "association":
            raise ValueError(f"use does not apply to {self.name}")
        return self

    @property
    def of_cells(self) -> bool:
        """True if the loss adds up over cells, so that cells of one column may be on different levels."""
        return self.name in ("loss", "association", "precision")


class AnonymizeOptions(Options):
    """Options of the anonymization of quasi-identifiers."""

    technique: Steps = (Generalization(),)
    """What makes the table: the name of a technique, its options (``name: ...``), or a list of steps on disjoint
    columns. Engine, recoding, suppression_limit, loss, levels and time_limit are about generalization and suppression.
    k-anonymity is promised where one step that makes groups masks all quasi-identifiers, and nowhere else."""
    engine: Literal["exact", "anjana"] = "exact"
    """exact: the least loss over all combinations of levels, proven. anjana: the greedy search of that package."""
    recoding: Literal["global", "local"] = "global"
    """global: one level per column. local: the level may differ from row to row; about a third to a half of the
    loss, but a column then mixes levels."""
    k: PositiveInt = 5
    """Persons with equal quasi-identifiers, at least (`data.person`); records, where each is another person."""
    models: tuple[AnyModel, ...] = ()
    """Privacy models beside k; all hold together."""
    suppression_limit: float = Field(default=0.02, ge=0, le=1)
    """Share of records that may be left out, 0..1, and of persons who may lose all their records. Local recoding
    leaves none out."""
    suppressed: Literal["leave_out", "coarsen"] = "leave_out"
    """What becomes of records in classes that are too small at the levels found, at most ``suppression_limit`` of them.
    leave_out: they are suppressed. coarsen: they get coarser labels in classes of their own, of k persons, and the
    transition learns from the others alone; nobody is left out. Global recoding without fixed levels."""
    loss: LossOptions = LossOptions()
    """What the search minimizes."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Levels fixed beforehand, independent of the data; the search chooses the others. Global recoding only."""
    beforehand: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)] | None = None
    """Where hierarchies, levels, k and the share of a sample come from, if not from these records, such as: code book
    of 2019, decided by J. Smith. Differential privacy of a sample's labels rests on this statement; it is published."""
    time_limit: PositiveFloat = 60.0
    """Seconds for lattices of more than a million combinations; then the best one found, and how far it can be
    from the optimum."""
    known_rows: Literal[1, 2] = 1
    """Rows of one person that an attacker may know. 2: any two rows of a person are in classes that k persons share in
    the same way, reached by leaving out rows within the suppression limit. Needs `data.person`."""
    population: str | None = None
    """Path of the population table of k_map, relative to the config file; it has the quasi-identifiers' columns."""
    memory_limit: PositiveFloat | None = None
    """GiB that a table may take in memory. The rows of a larger one stay in their source: DuckDB counts those of files,
    and it and the search take no more. Default: three quarters of what is free."""

    @model_validator(mode="after")
    def _fits(self) -> AnonymizeOptions:
        if self.recoding == "local":
            if self.levels:
                raise ValueError("levels are fixed for global recoding only")
            if not self.loss.of_cells:
                raise ValueError(f"local recoding minimizes loss, association or precision, not {self.loss.name}")
        if self.suppressed == "coarsen":
            self._refuse_coarser_labels()
        if self.engine == "anjana" and self.known_rows > 1:
            raise ValueError("engine anjana counts records: known_rows needs engine exact")
        if self.engine == "anjana" and (self.recoding == "local" or self.levels or self._foreign_models):
            raise ValueError(
                "engine anjana knows global recoding without fixed levels, k and distinct l-diversity of one attribute"
            )
        refuse_misfits(self)
        return self

    def _refuse_coarser_labels(self) -> None:
        if self.recoding == "local" or self.engine != "exact" or not self.generalizes:
            raise ValueError("suppressed: coarsen needs technique: generalization, recoding: global and engine: exact")
        if self.levels:
            raise ValueError("suppressed: coarsen gives some records other levels: leave out levels")
        if self.known_rows > 1:
            raise ValueError("suppressed: coarsen leaves nobody out, and known_rows: 2 leaves out rows")
        if not self.loss.of_cells:
            raise ValueError(f"suppressed: coarsen minimizes loss, association or precision, not {self.loss.name}")

    @property
    def generalizes(self) -> bool:
        """True if all quasi-identifiers are generalized, and nothing else is done."""
        return generalizes(self)

    @property
    def memory_bytes(self) -> float:
        """Memory for a table, or for the search on one elsewhere: the limit set, or three quarters of what is free."""
        return _FREE_SHARE * available_bytes() if self.memory_limit is None else self.memory_limit * 2**30

    @property
    def _foreign_models(self) -> bool:
        known = [model for model in self.models if isinstance(model, LDiversity) and model.kind == "distinct"]
        return len(known) != len(self.models) or len(known) > 1

    @property
    def attributes(self) -> list[str]:
        """The sensitive columns that the models look at, in alphabetical order."""
        return sorted({model.attribute for model in self.models if isinstance(model, SensitiveModel)})

    def sensitive_values(self, table: Table) -> dict[str, pd.Series]:
        """Value of each row of the columns that the models look at; raises as their :meth:`~SensitiveModel.values`."""
        models = {model.attribute: model for model in self.models if isinstance(model, SensitiveModel)}
        return {name: models[name].values(table) for name in self.attributes}

    def with_households(self, released: pd.DataFrame, originals: Table) -> pd.DataFrame:
        """Released rows with what models look at and no column has."""
        beside = [model for model in self.models if isinstance(model, Households)]
        return released.assign(**{model.attribute: model.values(originals) for model in beside})

    @property
    def population_k(self) -> int:
        """People of the population that every class matches, at least; 0 if no model asks for any."""
        return max((model.k for model in self.models if isinstance(model, PopulationModel)), default=0)

    def allowed(self, n_records: int) -> int:
        return math.floor(self.suppression_limit * n_records + 1e-9)
