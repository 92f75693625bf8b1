"""Plan of the trials on a table from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hybrid.base.errors import ConfigError
from hybrid.base.options import Options
from hybrid.base.rng import rng_for
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.planted_leaks import LEAKS, Leak, LeakName
from hybrid.evaluation.run_metrics import metrics_of
from hybrid.jobs.audit import Audited
from hybrid.lab.risk import PLANTED, RiskModel
from hybrid.table import Table
from hybrid.table.persons import person_groups
from hybrid.table.schema import concat_tables


@dataclass(frozen=True)
class Amount:
    """Number and sizes of the trials."""

    levels: tuple[float, ...]
    """Shares of the table's rows that leak; leaks of people have sizes of their own."""
    seeds: tuple[int, ...]
    """Every level of every leak is planted once with each."""
    null_seeds: int
    """Further trials without a leak."""
    rows: int | None = None
    """Rows of every table, at most."""
    leaks: tuple[LeakName, ...] = tuple(LEAKS)
    """Kinds of leak."""


SCALES: dict[str | None, Amount] = {
    None: Amount((0.01, 0.02, 0.05, 0.1, 0.2), (1, 2, 3), 20),
    "quick": Amount((0.02, 0.05, 0.2), (1, 2, 3), 20, 2_000, ("copy", "near", "splice", "exposed", "secrets")),
    "full": Amount((0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5), (1, 2, 3, 4, 5), 40),
}
"""Amounts by the name of the scale; None: where none is named."""
FIRST_NULL_SEED = 1_000_000
"""Trials without a leak have seeds from here on."""


@dataclass(frozen=True)
class TablesPlan:
    """Trials on one table from elsewhere.

    Parameters
    ----------
    name : str
        What the synthetic table is called.
    audited : Audited
        The tables.
    evaluate : EvaluateOptions
        How the metrics are computed, and which if it names any.
    scale : str or None
        Key of :data:`SCALES`.
    """

    name: str
    audited: Audited
    evaluate: EvaluateOptions
    scale: str | None = None
    not_planted: Mapping[str, str] = field(default_factory=dict)
    """Why kinds of leak cannot be planted, by their name and way."""

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            named = ", ".join(name for name in SCALES if name is not None)
            raise ConfigError(f"no scale {self.scale!r} for tables", hint=f"one of: {named}; or none")

    @property
    def amount(self) -> Amount:
        """Number and sizes of the trials."""
        return SCALES[self.scale]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the trials with leaks."""
        return self.amount.seeds

    @property
    def null_seeds(self) -> int:
        """Number of further trials without a leak."""
        return self.amount.null_seeds

    @property
    def null_seed_numbers(self) -> tuple[int, ...]:
        """Seeds of those trials."""
        return tuple(range(FIRST_NULL_SEED, FIRST_NULL_SEED + self.null_seeds))

    @property
    def risk_models(self) -> dict[str, tuple[RiskModel, Options]]:
        """Kinds of leak that can be planted, in at least one way."""
        return {leak.name: (PLANTED[leak.name], Options()) for leak in self.planted}

    @property
    def planted(self) -> list[Leak]:
        """Leaks that can be planted, every way apart."""
        ways = (way for name in self.amount.leaks for way in LEAKS[name].ways)
        return [way for way in ways if way.label not in self.not_planted]

    @property
    def metrics(self) -> list[Metric]:
        """Metrics that are tried, those of persons only where the rows have some."""
        alone = self.audited.train.persons is None
        own = (each for each in metrics_of(self.options) if not (alone and "persons" in each.needs))
        return [each for each in own if each.pillar in ("indicator", "attack")]

    @property
    def options(self) -> EvaluateOptions:
        """Options of the metrics, privacy alone."""
        return self.evaluate.model_copy(update={"families": ("privacy",), "retrain": None})

    def records(self, table: str) -> int | None:  # noqa: ARG002
        """Records of the synthetic table."""
        return len(self.synthetic)

    @cached_property
    def synthetic(self) -> Table:
        """The judged table, or the rows of it that are used."""
        return _at_most(self.audited.synthetic, self.amount.rows, "synthetic")

    @cached_property
    def originals(self) -> tuple[Table, Table | None]:
        """Training and control records, or those of them that are used."""
        train, control = self.audited.train, self.audited.control
        used = None if control is None else _at_most(control, self.amount.rows, "control")
        return _at_most(train, self.amount.rows, "train"), used

    @cached_property
    def everybody(self) -> Table:
        """Training and control records together."""
        train, control = self.originals
        return train if control is None else concat_tables(train, control)

    @property
    def control_share(self) -> float:
        """Share of everybody that is control."""
        control = self.originals[1]
        return 0.5 if control is None else len(control) / len(self.everybody)


def _at_most(table: Table, rows: int | None, role: str) -> Table:
    """So many rows at most, persons whole, by chance."""
    if rows is None or len(table) <= rows:
        return table
    groups = np.arange(len(table)) if table.persons is None else person_groups(table.persons)
    rank = rng_for(0, "lab", "rows", role).permutation(int(groups.max()) + 1)[groups]
    order = np.argsort(rank, kind="stable")
    return table.take(np.sort(order[: np.searchsorted(rank[order], rank[order][rows])]))
