"""Metrics: description, requirements and fail-safe computation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from hybrid.base.errors import HybridError
from hybrid.base.resources import cpu_seconds
from hybrid.base.sentence import sentence
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.threads import one_thread
from hybrid.evaluation.measure import Direction, Family, Lacking, Measure, MetricResult, NotComputable, Outcome
from hybrid.evaluation.options import EvaluateOptions
from hybrid.table import Role

Per = Literal["target", "secret", "declared_secret", "sensitive"]
Pillar = Literal["property", "indicator", "attack"]
Risk = Literal["singling out", "linkability", "inference", "membership", "propensity"]
Mechanism = Literal["exact", "uniqueness", "distance", "density", "learned model", "embedding", "shadow", "canary"]
Access = Literal["no_box", "black_box", "white_box"]
Knows = Literal[
    "nothing",
    "quasi-identifiers",
    "columns that are no quasi-identifiers",
    "all columns but the secret",
    "two halves of the columns",
    "a reference sample",
    "a register of people",
    "own people and the generator",
]
Unit = Literal["share of rows", "share of people", "risk", "AUC", "distance", "records", "values"]
SWITCHED: dict[Lacking, str] = {
    "retraining": "retrain",
    "encoder": "encoder",
    "privacy_score": "privacy_score",
    "register": "attacker_register",
}
"""Needs that a section of the options switches on, and the section."""
REASONS: dict[Lacking, tuple[Callable[[Context], bool], str]] = {
    "parents": (lambda of: of.making.parentage is not None, "the table has no parent table"),
    "weight": (lambda of: bool(of.schema.having(Role.WEIGHT)), "no column has the role weight"),
    "control": (lambda of: of.control is not None, "needs a control set: records that the generator has not seen"),
    "quasi_identifiers": (lambda of: bool(of.schema.quasi_identifiers), "needs columns with role: quasi_identifier"),
    "order": (lambda of: of.schema.order is not None, "needs a column that orders the rows of a person: data.order"),
    "origin": (
        lambda of: of.making.origin is not None,
        "which record each row was made from is known of tables with a known leak alone (risk)",
    ),
    "model": (lambda of: of.making.model is not None, "no trained model of this table is kept"),
}
"""Needs that a table or its making meets, in the order in which they are asked, and what is said where it does not."""
UNDECLARED: dict[Lacking, str] = {
    "target": "no target column is declared",
    "secret": "no secret column is declared",
    "sensitive": "no sensitive column is declared",
}
"""Columns that a metric is repeated for, and what is said where there is none."""
MIN_ROWS = 10
"""Tables with fewer rows are not measured."""


@dataclass(frozen=True)
class Metric:
    """A metric: meaning, requirements and the function that computes it."""

    name: str
    """As in ``evaluation.json`` and in policies."""
    family: Family
    direction: Direction
    """Which way is better."""
    sentence: str
    """One plain sentence for a data protection officer."""
    low: float | None
    high: float | None
    """Range of the value; None is unbounded."""
    no_leak: float | None
    """What a fresh sample of the same population scores (perfect data without copies); None if it depends."""
    copy: float | None
    """What an exact copy of the training rows scores; None if it depends."""
    compute: Callable[..., Outcome]
    """``compute(context)``, or ``compute(context, column)`` for a metric per column."""
    needs: tuple[Lacking, ...] = ()
    """What must be there."""
    per: Per | None = None
    """Which columns it is repeated for."""
    pillar: Pillar | None = None
    """A property of the table (k-anonymity), a statistic without an adversary, or an attack. Every privacy metric has a
    pillar and a unit; an indicator and an attack also have a risk, a mechanism, access and knows."""
    risk: Risk | None = None
    """Criterion of Opinion 05/2014 (WP29): singling out, linkability, inference; or membership. Propensity: an
    indicator, which measures none of them."""
    mechanism: Mechanism | None = None
    """What success rests on."""
    access: Access | None = None
    """The attacker has the table alone, can run the training, or sees the model's weights."""
    knows: Knows | None = None
    """What the attacker has besides."""
    unit: Unit | None = None
    """Unit of the value."""
    headline: bool = False
    """Whether it represents its family where not all metrics can be shown. Every run computes it."""
    leakage: bool = False
    """Whether its risk counts for the strongest attack of a comparison."""
    decides: int | None = None
    """Rank in a recommendation, 1 first: of the metrics of privacy, and of the others, the first measured decides."""
    predictor: bool = False
    """Whether it is about a model; the reference is then a model trained on real data."""
    by_default: bool = True
    """Whether ``evaluate.also: all`` asks for it; else only its name in ``evaluate.metrics`` or ``evaluate.also`` does,
    or a policy that judges it. False: heavy, or a paper's form of what a default metric says already."""
    printed: tuple[str, ...] = ()
    """Numbers of ``details["paper"]`` that papers print as this metric, larger being worse; they are there with
    ``evaluate.paper``. The laboratory tries each beside the metric itself."""
    printed_safe: tuple[str, ...] = ()
    """The same, larger being safer."""
    experimental: bool = False
    """Whether no policy may judge it."""
    of_many_rows: bool = False
    """Whether a metric that needs persons is also about people of one row each, if the table has more rows than there
    are training records: several tables of one release copy more people than one, at the same share of rows."""

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "compute"}

    def printed_numbers(self, outcome: Outcome) -> dict[str, float]:
        """Numbers of papers in an outcome's details, by name; empty without ``evaluate.paper``."""
        found = outcome.details.get("paper") if isinstance(outcome, Measure) else None
        numbers = {name: (found or {}).get(name) for name in (*self.printed, *self.printed_safe)}
        return {name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)}

    def columns(self, context: Context) -> list[str | None]:
        """Columns that it is computed for, ``[None]`` for a metric of the whole table."""
        if self.per is None:
            return [None]
        chosen: dict[Per, list[str]] = {
            "target": context.targets,
            "secret": context.secrets,
            "declared_secret": context.declared_secrets,
            "sensitive": context.schema.sensitive,
        }
        return list(chosen[self.per]) or [None]

    def switched_off(self, options: EvaluateOptions) -> Lacking | None:
        """A need that no section of the options switches on; None where nothing is missing."""
        off = (need for need, section in SWITCHED.items() if getattr(options, section) is None)
        return next((need for need in off if need in self.needs), None)

    def measure(self, context: Context, column: str | None = None) -> MetricResult:
        """Compute the metric; an error becomes a state with a reason, never a number or an exception."""
        started, cpu = time.perf_counter(), cpu_seconds()
        outcome = self._missing(context, column) or self._attempt(context, column)
        spent = time.perf_counter() - started, cpu_seconds() - cpu
        return MetricResult(self.name, self.family, context.stage, self.direction, outcome, column, *spent)

    def late(self, context: Context, column: str | None, budget: float) -> MetricResult:
        """Result of a metric without time left in its family's budget."""
        outcome = NotComputable(sentence("metric.time.family", s=budget, family=self.family), "timed_out")
        return MetricResult(self.name, self.family, context.stage, self.direction, outcome, column)

    def _missing(self, context: Context, column: str | None) -> NotComputable | None:
        many = self.of_many_rows and len(context.table) > len(context.train)
        if "persons" in self.needs and context.train.rows_are_persons and not many:
            return NotComputable("each row is taken for another person: data.person names no column", lacks="persons")
        for need, (is_there, reason) in REASONS.items():
            if need in self.needs and not is_there(context):
                return NotComputable(reason, lacks=need)
        if (off := self.switched_off(context.options)) is not None:
            return NotComputable(sentence("metric.off", section=SWITCHED[off]), lacks=off)
        if "trainings" in self.needs and context.making.untried and context.options.retrain is None:
            return NotComputable(context.making.untried, lacks="trainings")
        if {"retraining", "trainings"} & set(self.needs) and context.making.again is None:
            return NotComputable("nothing is known about how this table was made", lacks="trainings")
        if self.per is not None and column is None:
            kind: Lacking = "secret" if self.per == "declared_secret" else self.per
            return NotComputable(UNDECLARED[kind], lacks=kind)
        control = context.control if "control" in self.needs else None
        tables = {"training table": context.train, "control set": control, "table": context.table}
        for what, table in tables.items():
            if table is not None and len(table) < MIN_ROWS:
                reason = sentence("metric.few.rows", table=what, n=len(table), least=MIN_ROWS)
                return NotComputable(reason, "too_few")
        return None

    def _attempt(self, context: Context, column: str | None) -> Outcome:
        try:
            with one_thread(len(context.train) + len(context.table)):
                context.asked_about.clear()
                outcome = self.compute(context) if self.per is None else self.compute(context, column)
            notes = {"excluded_columns": context.encoding.excluded, "sampled": context.sampled()}
            said = {name: note for name, note in notes.items() if note}
            if isinstance(outcome, Measure) and said:
                return replace(outcome, details=outcome.details | said)
            return outcome
        except HybridError as error:
            return NotComputable(sentence("metric.failed", reason=error.problems[0].message), "failed")
        except Exception as error:  # noqa: BLE001  one failing metric must not stop the others
            return NotComputable(f"failed with {type(error).__name__}", "failed")
