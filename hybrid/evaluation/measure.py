"""Results of metrics: a value with its interval, or a reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Direction = Literal["lower", "higher"]
Family = Literal["privacy", "utility", "fidelity"]
Subject = Literal["original", "anonymized", "synthetic", "baseline"]
MayLack = Literal[
    "quasi_identifiers",
    "trainings",
    "persons",
    "several_rows",
    "single_rows",
    "weight",
    "target",
    "secret",
    "sensitive",
    "identifiers",
    "signal",
    "lone_values",
    "lone_records",
    "constraints",
    "tied_dates",
    "linked_columns",
    "parents",
    "numbers",
    "register",
]
"""What a table or a configuration need not have: a rule of a policy may apply only where it is there."""
Lacking = Literal[
    MayLack,
    "control",
    "retraining",
    "order",
    "origin",
    "headroom",
    "matches",
    "encoder",
    "privacy_score",
    "model",
]
"""What a metric may lack: control records, declared columns, the person of a row, persons with several different rows,
the order of a person's rows, sampling weights, the record that each row was made from, a column that names single
records, a signal, people never seen of whom an attack fails (headroom), rows that match a training record on what the
attacker knows (matches), values that one row of the table holds alone, records or parts of them that one person has
alone, declared constraints, dates of a row that lie close together, columns of which one says something about another,
an encoder, a parent table, the instance privacy score; trainings: a way from records to the table that can be repeated
in minutes; numbers: numbers, or those with so many digits that a copy stands out; model: a kept model that can be asked
about single records; single_rows: persons with one row each; register: a table of people that an attacker holds."""


@dataclass(frozen=True)
class Measure:
    """A number and what one needs to judge it."""

    value: float
    """Finite."""
    low: float | None = None
    high: float | None = None
    """Both bounds of the interval (95 % unless ``details`` says otherwise); None where there is none."""
    reference: float | None = None
    """What the control set, or real data, scores in the same place."""
    n: int = 0
    """Records, attacks or cells behind the number."""
    details: dict[str, Any] = field(default_factory=dict)
    """Aggregates that explain the number; never a record. ``said``: what it is the worst of, in words, for verdicts."""
    excess: tuple[float, float, float] | None = None
    """Value, low and high of what this number is above what people never seen score: 0 without a leak, larger is
    worse, whatever the metric's own scale and direction. None: there is nothing to compare with (no control set,
    or no privacy metric)."""
    together: int = 1
    """Number of intervals, the excess's among them, that hold together (Sidak): those of the subgroups, secrets or
    columns that the number is the worst of."""
    parts: Mapping[str, Measure] | None = field(default=None, compare=False, repr=False)
    """What the number is the worst of, by name, each with its own interval; None: it is no worst, or one of a kind that
    no policy judges by its excess. Of several tables the parts are pooled, and then the worst is taken."""
    unshrunk: tuple[float, float, float] | None = field(default=None, compare=False, repr=False)
    """The excess of the observed rates, with its own ends, where ``excess`` is one of the centres of Wilson's
    intervals: these lie nearer to 1/2 the fewer people there are, which does not average out over several tables. None:
    the excess is one of observed numbers."""
    chance: float | None = field(default=None, compare=False, repr=False)
    """Chance of a share that :func:`hybrid.evaluation.attacks.closeness.centred` moved to where it is 1/2, with another
    slope on either side; shares of several tables are averaged before. None: the number was not moved."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError("a Measure is finite; use NotComputable for what is not")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has both ends: its JSON form keeps none of one alone")

    @property
    def interval(self) -> tuple[float, float, float]:
        """Value, low and high; the value alone where there are no bounds."""
        if self.low is None or self.high is None:
            return self.value, self.value, self.value
        return self.value, self.low, self.high

    def above(self, reference: float) -> Measure:
        """Set the excess to value and interval minus a constant reference."""
        value, low, high = self.interval
        return replace(self, excess=(value - reference, low - reference, high - reference))


def excesses(found: Mapping[str, tuple[float, float, float]], n: int) -> dict[str, Measure]:
    """Parts of a worst that are excesses themselves: value, low and high of each, which hold together."""
    return {name: Measure(*ends, 0.0, n, {"part": name}, ends, len(found)) for name, ends in found.items()}


@dataclass(frozen=True)
class NotComputable:
    """Reason for a missing number, without which a gate that needs it does not pass."""

    reason: str
    state: Literal["not_applicable", "too_few", "failed", "timed_out"] = "not_applicable"
    lacks: Lacking | None = None
    """What the configuration or the table does not have, where that alone is the reason."""


NOTHING_TO_LEAK: frozenset[Lacking] = frozenset({"headroom", "matches"})
"""What is lacking where nothing can leak: an attack that always succeeds on people never seen tells no more of training
people, and nor does one that no row serves. There is then known to be no excess, though not its number."""
Outcome = Measure | NotComputable
_ABOUT = ("family", "name", "stage", "column", "table")
_COLUMNS = [*_ABOUT, "value", "low", "high", "reference", "direction", "n", "state", "reason"]
"""Columns of the frame of an evaluation."""


@dataclass(frozen=True)
class MetricResult:
    """One metric of one table, as in ``evaluation.json``."""

    name: str
    family: Family
    stage: Subject
    direction: Direction
    outcome: Outcome
    column: str | None = None
    """The column it is about (a target, a secret), if it is about one."""
    seconds: float = 0.0
    """Wall clock."""
    cpu_seconds: float = field(default=0.0, compare=False)
    """Processor time of the whole process meanwhile; with that of other tables measured at the same time."""
    table: str | None = None
    """Table it is about, of several linked ones; None for a single table."""

    def to_json(self) -> dict[str, Any]:
        """JSON form: name, family, stage, value, ci, direction, details, seconds and more."""
        base: dict[str, Any] = {
            "name": self.name,
            "family": self.family,
            "stage": self.stage,
            "direction": self.direction,
            "column": self.column,
            "seconds": round(self.seconds, 4),
        }
        if self.table is not None:
            base["table"] = self.table
        outcome = self.outcome
        if isinstance(outcome, NotComputable):
            base |= dict.fromkeys(("value", "ci", "reference", "excess")) | {"together": 1, "n": 0}
            return base | {"state": outcome.state, "details": {"reason": outcome.reason, "lacks": outcome.lacks}}
        ci = None if outcome.low is None or outcome.high is None else [outcome.low, outcome.high]
        return base | {
            "value": outcome.value,
            "ci": ci,
            "reference": outcome.reference,
            "excess": None if outcome.excess is None else list(outcome.excess),
            "together": outcome.together,
            "n": outcome.n,
            "state": "ok",
            "details": outcome.details,
        }


@dataclass(frozen=True)
class AllRows:
    """Counts on all rows of a table judged by a sample: of train and control records, so many equal one of them."""

    rows: int
    judged: int
    train: int
    train_found: int
    control: int = 0
    control_found: int = 0


@dataclass(frozen=True)
class Crossed:
    """Share of copies in a released table, beside the tables of the folds by which it was judged."""

    metric: str
    folds: int
    released: float
    low: float
    """Share in the released table, with the low end of its interval."""
    of_folds: float
    high: float
    """Largest share of a fold's table, with the high end of that interval."""
    table: str | None = None
    """Table it is about, of several linked ones; None for a single table."""


@dataclass(frozen=True)
class Evaluation:
    """All metrics of one run, in the order of their computation: the content of ``evaluation.json``."""

    metrics: tuple[MetricResult, ...]
    all_rows: AllRows | None = None
    """What was counted on all rows of a synthetic table of which a sample was judged; None: all rows were."""
    crossed: tuple[Crossed, ...] = ()
    """Counts of copies in the released table and in those of the folds; none without ``split.control: cross``."""

    def find(
        self, name: str, stage: Subject, column: str | None = None, table: str | None = None
    ) -> MetricResult | None:
        """Metric of this name and stage, and of a column and table where they are given; None if there is none."""
        for metric in self.of_stage(name, stage):
            if column in (None, metric.column) and table in (None, metric.table):
                return metric
        return None

    def of_stage(self, name: str, stage: Subject) -> tuple[MetricResult, ...]:
        """All metrics of this name and stage: those about each column."""
        return tuple(self._named.get((name, stage), ()))

    @cached_property
    def stages(self) -> tuple[Subject, ...]:
        """Stages that were measured, in the order of the metrics."""
        return tuple(dict.fromkeys(metric.stage for metric in self.metrics))

    @cached_property
    def _named(self) -> dict[tuple[str, Subject], list[MetricResult]]:
        """Metrics by name and stage: wide tables have thousands."""
        named: dict[tuple[str, Subject], list[MetricResult]] = {}
        for metric in self.metrics:
            named.setdefault((metric.name, metric.stage), []).append(metric)
        return named

    def of_table(self, table: str) -> Evaluation:
        """The metrics as those of one of several tables; as they are for the only one, which has no name."""
        if not table:
            return self
        crossed = tuple(replace(one, table=table) for one in self.crossed)
        return Evaluation(tuple(replace(metric, table=table) for metric in self.metrics), crossed=crossed)

    def to_frame(self) -> pd.DataFrame:
        """Metrics as a DataFrame, one row each.

        Columns: family, name, stage (the judged table), column, table (of linked ones), value, low, high, reference,
        direction, n, state, reason.
        """
        import pandas as pd

        return pd.DataFrame([_row(metric) for metric in self.metrics], columns=_COLUMNS)

    def __repr__(self) -> str:
        families = Counter(metric.family for metric in self.metrics)
        counted = ", ".join(f"{count} {family}" for family, count in families.items())
        said = (
            f"Evaluation: {len(self.metrics)} numbers ({counted}) of {', '.join(self.stages)}"
            if self.stages
            else "Evaluation"
        )
        return f"{said}; .to_frame() lists them"

    def _repr_html_(self) -> str:
        return str(self.to_frame()._repr_html_())

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        found: dict[str, Any] = {"metrics": [metric.to_json() for metric in self.metrics]}
        if self.all_rows is not None:
            found["all_rows"] = asdict(self.all_rows)
        if self.crossed:
            found["crossed"] = [asdict(one) for one in self.crossed]
        return found


def _row(metric: MetricResult) -> dict[str, Any]:
    outcome, about = metric.outcome, {name: getattr(metric, name) for name in _ABOUT}
    if isinstance(outcome, NotComputable):
        return about | {"direction": metric.direction, "n": 0, "state": outcome.state, "reason": outcome.reason}
    found = {name: getattr(outcome, name) for name in ("value", "low", "high", "reference", "n")}
    return about | found | {"direction": metric.direction, "state": "ok", "reason": ""}
