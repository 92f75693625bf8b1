"""Every metric as a function of tables of any library, made from the registry of metrics.

``hybrid.metrics.dcr_share(train=real, synthetic=made, control=held_out)`` is a number with its interval. ``dir()``
lists all, ``help(hybrid.metrics.dcr_share)`` has range, direction, unit and what perfect data and a copy would score.
Metrics that repeat the training, or ask a kept model, have no function here: :func:`hybrid.synthesize` computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from hybrid.python.functions import REQUIRED, docstring, function, parameter

if TYPE_CHECKING:
    from hybrid.evaluation.measure import MetricResult
    from hybrid.evaluation.metric import Metric
    from hybrid.python.frames import AnyTable

NEVER = frozenset({"retraining", "trainings", "model", "origin", "parents", "order", "weight"})
"""Needs that tables alone do not meet."""
_PER = {
    "target": "targets",
    "secret": "sensitive",
    "declared_secret": "sensitive",
    "sensitive": "sensitive",
}
_MEANINGS = {
    "quasi_identifiers": "Columns that an attacker may know already.",
    "sensitive": "Columns that an attacker wants to learn.",
    "targets": "Columns that users will predict.",
}


class Score(float):
    """Number of a metric with what one needs to judge it; NaN where it could not be computed, with the reason.

    Parameters
    ----------
    found : MetricResult
        The metric's result.
    """

    def __new__(cls, found: MetricResult) -> Score:
        """Take the value of a result."""
        return super().__new__(cls, getattr(found.outcome, "value", float("nan")))

    def __init__(self, found: MetricResult) -> None:
        self._found = found

    @property
    def low(self) -> float | None:
        """Low end of the interval (95 %, unless :attr:`details` says otherwise); None without one."""
        return getattr(self._found.outcome, "low", None)

    @property
    def high(self) -> float | None:
        """High end of the interval; None without one."""
        return getattr(self._found.outcome, "high", None)

    @property
    def reference(self) -> float | None:
        """Score of the control records, or of real data, in the same place; None without one."""
        return getattr(self._found.outcome, "reference", None)

    @property
    def excess(self) -> tuple[float, float, float] | None:
        """Value, low and high of what is above the score of people never seen: 0 without a leak, larger is worse."""
        return getattr(self._found.outcome, "excess", None)

    @property
    def n(self) -> int:
        """Records, attacks or cells behind the number."""
        return int(getattr(self._found.outcome, "n", 0))

    @property
    def reason(self) -> str:
        """Reason for a missing number; empty where there is one."""
        return str(getattr(self._found.outcome, "reason", ""))

    @property
    def direction(self) -> str:
        """Direction that is better: lower or higher."""
        return self._found.direction

    @property
    def details(self) -> dict[str, Any]:
        """Aggregates that explain the number."""
        return dict(getattr(self._found.outcome, "details", {}))

    def __repr__(self) -> str:
        if self.reason:
            return f"{self._found.name}: no number: {self.reason}"
        interval = "" if self.low is None else f" ({self.low:.4g} to {self.high:.4g})"
        beside = "" if self.reference is None else f", reference {self.reference:.4g}"
        return f"{float(self):.4g}{interval}{beside}"

    def __reduce__(self) -> tuple[type[Score], tuple[MetricResult]]:
        return Score, (self._found,)


def _measured(
    metric: Metric,
    train: AnyTable,
    synthetic: AnyTable,
    control: AnyTable | None = None,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    targets: Sequence[str] = (),
    person: str | Sequence[str] | None = None,
    options: dict[str, Any] | None = None,
    seed: int = 0,
) -> Score | dict[str, Score]:
    from hybrid.base.config_files import validated
    from hybrid.base.errors import DataError
    from hybrid.evaluation.frames import measure
    from hybrid.evaluation.options import EvaluateOptions
    from hybrid.python.frames import plain

    chosen = dict(options or {}) | ({"secrets": list(sensitive)} if sensitive else {})
    tables = [None if one is None else plain(one) for one in (train, control, synthetic)]
    named = [person] if isinstance(person, str) else list(person or ())
    about = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "targets": targets, "person": named}
    given = validated(EvaluateOptions, chosen, "options")
    try:
        found = measure(metric.name, *tables, options=given, seed=seed, **about)
    except ValueError as error:
        raise DataError(str(error), hint="give train, synthetic and control the same columns") from None
    if metric.per is None:
        return Score(found[0])
    return {one.column or "": Score(one) for one in found}


@cache
def _made(name: str) -> Callable[..., Any]:
    from hybrid.evaluation.registry import REGISTRY

    metric = REGISTRY[name]
    needed = {_PER[metric.per]} if metric.per is not None else set()
    needed |= {"quasi_identifiers"} & set(metric.needs)
    control = REQUIRED if "control" in metric.needs else None
    parameters = [
        parameter("train", "table"),
        parameter("synthetic", "table"),
        parameter("control", "table", control),
        *(parameter(one, "Sequence[str]", REQUIRED if one in needed else ()) for one in _MEANINGS),
        parameter("person", "str | None", None),
        parameter("options", "dict[str, object] | None", None),
        parameter("seed", "int", 0),
    ]
    returns = "dict[str, Score]" if metric.per is not None else "Score"
    given = sorted(parameters, key=lambda one: one.default is not REQUIRED)
    return function(name, __name__, lambda **given: _measured(metric, **given), given, returns, _doc(metric))


def _doc(metric: Metric) -> str:
    said = [("no leak", metric.no_leak), ("a copy of the training rows", metric.copy)]
    scores = "; ".join(f"{what} scores {value:g}" for what, value in said if value is not None)
    low, high = ("unbounded" if end is None else f"{end:g}" for end in (metric.low, metric.high))
    unit = f", unit: {metric.unit}" if metric.unit else ""
    facts = f"Range {low} to {high}{unit}; {metric.direction} is better. {scores[:1].upper()}{scores[1:]}".strip()
    threat = [metric.pillar, metric.risk, metric.mechanism]
    stands = ", ".join(str(one).replace("_", "-") for one in threat if one)
    own = getdoc(metric.compute) or ""
    is_own = bool(own) and not own.startswith(("partial(", "Create a new function", "lambda"))
    single = "The number, NaN where ``.reason`` says why there is none."
    return docstring(
        metric.sentence,
        (f"{facts}.", f"Stands for: {stands}." if stands else "", own if is_own else ""),
        [
            ("train", "table, n rows", "Records that the generator learned from: a DataFrame, an Arrow table, a path."),
            ("synthetic", "table, m rows", "Records to judge, with the same columns in any order."),
            ("control", "table", "Records of the same population that no generator saw."),
            *((name, "sequence of str", text) for name, text in _MEANINGS.items()),
            ("person", "str", "The column that says whose a row is; by default each row is another person."),
            ("options", "dict", "Section ``evaluate`` of a configuration."),
            ("seed", "int", "Of every random choice."),
        ],
        (
            "Score" if metric.per is None else "dict of str to Score",
            single if metric.per is None else f"The number of each column ({str(metric.per).replace('_', ' ')}).",
        ),
        {
            "DataError": "Tables cannot be read, or do not have the same columns.",
            "ConfigError": "An option or a role names a column that does not exist.",
        },
    )


def _names() -> list[str]:
    from hybrid.evaluation.registry import REGISTRY

    return [name for name, metric in REGISTRY.items() if not NEVER & set(metric.needs)]


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name not in _names():
        raise AttributeError(f"module 'hybrid.metrics' has no attribute {name!r}; dir(hybrid.metrics) lists all")
    return _made(name)


def __dir__() -> list[str]:
    return sorted([*_names(), "Score"])
