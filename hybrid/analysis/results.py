"""The results of a comparison as matrices, configurations by seeds, one per metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.display import Range
from hybrid.evaluation.measure import Direction, Family, Subject
from hybrid.evaluation.metric import Metric

Concern = Literal["usefulness", "privacy", "closeness"]
"""What a choice of a configuration is about. In this order where the user has none: the gate has already said which are
safe enough."""
CONCERNS: tuple[Concern, ...] = get_args(Concern)
STAGES: tuple[str, ...] = get_args(Subject)
"""The tables that are measured; baseline is the generator alone."""
BESIDE = ("low", "high", "reference")
EXCESS = ("excess", "excess_low", "excess_high")
"""Columns beside a metric's value, and those of its excess over people never seen."""
COUNTS = ("records", "control_records")
"""Columns of sizes: records of the whole table, and of a run's control set."""
MARGIN = 0.02
"""Default of the largest difference that counts as none."""
PRINTED = "printed."
"""Begins the columns of numbers as papers print them."""
PART, LOW_OF_PART = "part.", "part_low."
"""Begin the columns of the parts of a number that is their worst, and of the low ends of their intervals."""
STRONGEST = "strongest_attack"
"""The leakage of the attack that gets most, as a metric of its own."""


@dataclass(frozen=True)
class ResultColumn:
    """One measured column of the results, ``<stage>.<metric>[.<column it is about>]``."""

    name: str
    stage: str
    metric: str
    about: str
    family: Family
    direction: Direction
    range: Range = (None, None)

    @property
    def sign(self) -> int:
        return 1 if self.direction == "higher" else -1

    def at_stage(self, stage: str) -> str:
        return f"{stage}{self.name[len(self.stage) :]}"


@dataclass(frozen=True)
class Results:
    """Configurations and scores of a comparison."""

    table: pd.DataFrame
    """One row per configuration and seed: ``configuration``, a column per factor, ``seed``, ``status`` ("ok" or not),
    ``reason``, ``verdict``, and per measured column the value and, where it has them, the same name with ``_low``,
    ``_high``, ``_reference`` and those of :data:`EXCESS`."""
    factors: Sequence[str]
    """Columns that say what was varied."""
    facets: Mapping[str, Mapping[str, str]]
    """Per configuration what the thesis varied (k, sampling, transition, ...); empty where that is not known."""
    metrics: Mapping[str, Metric]
    """What is known about the metrics."""
    margin: float = MARGIN
    """Largest difference of a metric that counts as none, in the metric's unit."""
    prefer: Mapping[Concern, float] = field(default_factory=dict)
    """The user's concerns in their order, each with its own margin. Those that are not named follow with ``margin``."""

    @property
    def concerns(self) -> dict[Concern, float]:
        """All concerns in the user's order, with their margins."""
        return {**self.prefer, **{each: self.margin for each in CONCERNS if each not in self.prefer}}

    @cached_property
    def overlap(self) -> float:
        """Correlation of two seeds, 0 to below 1: the share of the table's records that one seed takes for control.

        That is the expected share of a control set that another seed's holds as well. 0 where it is not known:
        intervals are then about this table alone.
        """
        if not set(COUNTS) <= set(self.ok.columns):
            return 0.0
        table, control = (self.ok[name] for name in COUNTS)
        return float((control / table).max()) if len(table) and table.notna().all() else 0.0

    @cached_property
    def columns(self) -> dict[str, ResultColumn]:
        """Measured columns by name, the strongest attack first."""
        found: dict[str, ResultColumn] = {}
        for name in metric_names(self.table.columns):
            stage, _, rest = name.partition(".")
            metric, _, about = rest.partition(".")
            if metric == STRONGEST:
                found[name] = ResultColumn(name, stage, metric, about, "privacy", "lower", (0.0, 1.0))
            elif metric in self.metrics:
                known = self.metrics[metric]
                found[name] = ResultColumn(
                    name, stage, metric, about, known.family, known.direction, (known.low, known.high)
                )
        return dict(sorted(found.items(), key=lambda item: item[1].metric != STRONGEST))

    @cached_property
    def ok(self) -> pd.DataFrame:
        return self.table[self.table["status"] == "ok"]

    @cached_property
    def configurations(self) -> pd.DataFrame:
        """Factor levels as text, by configuration in the order of the plan; shape (n_configurations, n_factors)."""
        first = self.table.drop_duplicates("configuration").set_index("configuration")
        return first[list(self.factors)].map(level_text)

    @cached_property
    def seeds(self) -> list[int]:
        return list(dict.fromkeys(self.table["seed"]))

    def matrix(self, column: str, what: str = "") -> Array:
        """Values of a column, or its ``what`` (low, high, reference): (n_configurations, n_seeds), NaN for none."""
        name = f"{column}_{what}" if what else column
        values: Array = np.full((len(self.configurations), len(self.seeds)), np.nan)
        if name in self.ok.columns:
            values[self._places] = self.ok[name].to_numpy(float, na_value=np.nan)
        return values

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        rows = self.configurations.index.get_indexer(pd.Index(self.ok["configuration"]))
        return rows, pd.Index(self.seeds).get_indexer(pd.Index(self.ok["seed"]))

    def facet_table(self) -> pd.DataFrame:
        """Facets as text, by configuration; without columns where they are not known."""
        rows = {name: dict(self.facets.get(name, {})) for name in self.configurations.index}
        return pd.DataFrame.from_dict(rows, orient="index").reindex(self.configurations.index).fillna("")


def results(
    table: pd.DataFrame,
    factors: Sequence[str],
    facets: Mapping[str, Mapping[str, str]] | None = None,
    metrics: Mapping[str, Metric] = REGISTRY,
    margin: float = MARGIN,
    prefer: Mapping[Concern, float] | None = None,
) -> Results:
    """Results with the strongest attack of every run, a column per stage; parameters as :class:`Results`."""
    leaks = {f"{stage}.{STRONGEST}": _strongest(table, stage, metrics) for stage in STAGES}
    known = pd.DataFrame({name: values for name, values in leaks.items() if values.notna().any()}, index=table.index)
    return Results(pd.concat([table, known], axis=1), factors, facets or {}, metrics, margin, prefer or {})


def metric_names(columns: Iterable[str]) -> list[str]:
    """Columns, or keys of a row, with values of metrics."""
    names = [name for name in columns if name.partition(".")[0] in STAGES]
    beside = {f"{name}_{what}" for name in names for what in (*BESIDE, *EXCESS)}
    return [name for name in names if name not in beside]


def printed_column(form: str, name: str) -> str:
    """Column of a number as printed: ``printed.<form>.<metric's column>``."""
    return f"{PRINTED}{form}.{name}"


def level_text(value: object) -> str:
    """A level as it is shown: 5.0 (a column with gaps, read from CSV) is 5."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _strongest(table: pd.DataFrame, stage: str, metrics: Mapping[str, Metric]) -> pd.Series:
    """Per run the largest leakage, 0..1.

    0 is what people outside the data score, or less, 1 what an exact copy scores.

    (value - clean) / (copy - clean), where clean is the score without any leak or, where that depends on the data,
    what the control set scores. The largest of several noisy numbers is biased upwards, for every run alike.
    """
    leaks = []
    for name in (name for name in table.columns if name.partition(".")[0] == stage):
        metric = metrics.get(name.split(".")[1])
        reference = f"{name}_reference"
        if metric is None or not metric.leakage or metric.copy is None:
            continue
        if metric.no_leak is None and reference not in table.columns:
            continue
        clean = table[reference] if metric.no_leak is None else metric.no_leak
        leaks.append((table[name] - clean) / (metric.copy - clean))
    return pd.concat(leaks, axis=1).max(axis=1).clip(0.0, 1.0) if leaks else pd.Series(np.nan, index=table.index)
