"""Plan of the laboratory: tables, risk models, metrics, seeds, budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from hybrid.base.config_files import read_yaml, validated
from hybrid.base.options import Options, composed_options
from hybrid.comparison.plan import chosen_scale
from hybrid.demo import write_demo
from hybrid.evaluation import REGISTRY as METRICS
from hybrid.evaluation.metric import SWITCHED
from hybrid.lab.risk import REGISTRY, RiskModel

FIRST_NULL_SEED = 1_000_000
"""Null trials have seeds from here on: their splits differ from those of all other trials."""

if TYPE_CHECKING:
    from hybrid.lab.tables import TablesPlan

    class RiskSections(Options):
        """Risk models of a plan, one key per model of the registry."""

else:
    _sections = {
        model.name: (model.Options | None, Field(default=None, description=f"{model.sentence} null: not tried."))
        for model in REGISTRY.values()
    }
    RiskSections = composed_options(
        "RiskSections", Options, _sections, __name__, "Risk models of a plan, one key per model of the registry."
    )


class DataChoice(Options):
    """A table to try metrics on."""

    base: str
    """A run configuration that names the table and its columns, relative to the plan."""
    rows: int | None = Field(default=None, ge=30)
    """Use no more than so many records, drawn anew with every seed."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Dotted keys of the run configuration with other values."""


class SplitShares(Options):
    """Shares of the records that are no training records."""

    release: float = Field(default=0.333, gt=0, lt=1)
    """Fresh people, of whom tables without a leak are made."""
    control: float = Field(default=0.333, gt=0, lt=1)
    """People whom no table holds, the yardstick of the metrics."""


class ByPillar(Options):
    """Choice of metrics by their pillar."""

    pillar: Literal["indicator", "attack"]
    """indicator: statistics without an adversary; attack: those with one."""


class LabScale(Options):
    """Changes of one budget in the plan."""

    rows: int | None = Field(default=None, ge=30)
    """Records of every table."""
    risk: RiskSections | None = None
    """Other risk models, in the place of the plan's."""
    metrics: Literal["default"] | tuple[str, ...] | ByPillar | None = None
    """Other metrics."""
    seeds: tuple[int, ...] | None = Field(default=None, min_length=1)
    """Other seeds."""
    null_seeds: int | None = Field(default=None, ge=0)
    """Another number of null trials."""


class LabPlan(Options):
    """Plan of the laboratory."""

    version: Literal[1] = 1
    """Version of this format."""
    name: str = "laboratory"
    """Title of the report."""
    data: dict[str, DataChoice] = Field(min_length=1)
    """Tables by name. What two of them agree on is more than a property of one."""
    split: SplitShares = SplitShares()
    """Parts of every table; the rest is trained on."""
    risk: RiskSections
    """How tables with a known leak are made."""
    metrics: Literal["default"] | tuple[str, ...] | ByPillar = "default"
    """default: every default privacy metric that compares with people never seen and is not off; or names; or those of
    a pillar. Metrics `cl_*` that are named have an untrained encoder, unless
    ``set: {evaluate.encoder: ...}`` of the table says otherwise."""
    paper: bool = True
    """Try the numbers as papers print them, too: beside the metric, as "NAME (printed FORM)"."""
    seeds: tuple[int, ...] = Field(default=(1, 2, 3, 4, 5), min_length=1)
    """Every level of every series runs once with each seed; all levels of a seed share the split."""
    null_seeds: int = Field(default=40, ge=0)
    """Further trials without a leak, each with a split of its own: false alarms need many."""
    scale: str | None = None
    """Which of the scales applies; none: the plan as it is."""
    scales: dict[str, LabScale] = Field(default_factory=dict)
    """Budgets by name."""
    store: str | None = None
    """Where stage results are kept: a folder, an address, or memory. They hold real records. Not given: a private
    folder beside the results, removed at the end; with a kept store, a further metric trains nothing anew."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.split.release + self.split.control >= 1:
            raise ValueError("split.release and split.control together leave nothing to train on")
        if not self.risk_models:
            raise ValueError(f"risk: name one of {', '.join(REGISTRY)}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a seed is listed twice")
        if any(seed >= FIRST_NULL_SEED for seed in self.seeds):
            raise ValueError(f"seeds from {FIRST_NULL_SEED:,} on are those of the null trials")
        unknown = [name for name in self.metrics if name not in METRICS] if isinstance(self.metrics, tuple) else []
        if unknown:
            raise ValueError(f"no such metric: {', '.join(unknown)}")
        return self

    @property
    def risk_models(self) -> dict[str, tuple[RiskModel, Options]]:
        sections = {name: getattr(self.risk, name) for name in REGISTRY}
        return {name: (REGISTRY[name], options) for name, options in sections.items() if options is not None}

    @property
    def null_seed_numbers(self) -> tuple[int, ...]:
        return tuple(range(FIRST_NULL_SEED, FIRST_NULL_SEED + self.null_seeds))

    def records(self, table: str) -> int | None:
        """Records to train on, as many as a table with a leak has; None where the plan uses the whole table."""
        rows = self.data[table].rows
        return None if rows is None else round(rows * (1 - self.split.release - self.split.control))

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Metrics that are tried, in the order of the registry."""
        chosen = self.metrics
        if isinstance(chosen, tuple):
            return tuple(name for name in METRICS if name in chosen)
        heavy = {*SWITCHED, "persons"}
        privacy = (metric for metric in METRICS.values() if metric.family == "privacy" and metric.by_default)
        usual = (metric for metric in privacy if not heavy & set(metric.needs))
        if isinstance(chosen, ByPillar):
            return tuple(metric.name for metric in usual if metric.pillar == chosen.pillar)
        return tuple(metric.name for metric in usual if metric.pillar in ("indicator", "attack"))


def load_plan(path: Path, scale: str | None = None) -> LabPlan:
    """Read a plan of the laboratory, with a budget instead of the plan's own choice if one is named."""
    plan = validated(LabPlan, read_yaml(path))
    name = plan.scale if scale is None else scale
    if name is None:
        return plan
    budget = chosen_scale(path, plan.scales, name)
    changes = {key: getattr(budget, key) for key in ("risk", "metrics", "seeds", "null_seeds")}
    changes = {key: value for key, value in changes.items() if value is not None}
    if budget.rows is not None:
        changes["data"] = {key: each.model_copy(update={"rows": budget.rows}) for key, each in plan.data.items()}
    return plan.model_copy(update=changes | {"scale": name})


LabDesign: TypeAlias = "LabPlan | TablesPlan"
"""Plan of a laboratory, whether its tables are made or given."""


@dataclass(frozen=True)
class GivenTable:
    """A table from elsewhere, into which leaks were planted."""

    rows: Mapping[str, int]
    """Rows that were used of train, control (where it is given) and synthetic."""
    excesses: Mapping[str, tuple[float, float, float]]
    """Excess of each metric on the table as it is, with its interval; empty without control records."""
    not_planted: Mapping[str, str] = field(default_factory=dict)
    """Why kinds of leak could not be planted."""
    not_computable: Mapping[str, str] = field(default_factory=dict)
    """Why metrics gave no number."""
    notes: Sequence[str] = ()

    @property
    def has_control(self) -> bool:
        return "control" in self.rows


SEED = 20240501


def demo_plan(scale: str | None = None) -> LabPlan:
    return load_plan(Path(str(resources.files("hybrid.lab") / "demo.yaml")), scale)


def write_table(plan: LabPlan, folder: Path) -> None:
    """Write as many simulated admissions as the plan uses, and their configuration."""
    rows = max(choice.rows or 0 for choice in plan.data.values())
    write_demo(folder, rows=rows, seed=SEED, several=False)
