"""Entries of metrics: what the metrics of a family share, so that each entry says only what is its own.

Every entry begins with the function that computes the metric, whose name is the metric's, and its sentence. Whatever
else a metric has of its own is named as in :class:`hybrid.evaluation.metric.Metric`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

from hybrid.evaluation.measure import Direction, Lacking, Outcome
from hybrid.evaluation.metric import Access, Knows, Mechanism, Metric, Per, Risk, Unit

_OF_RISK: dict[Risk, Mapping[str, Any]] = {
    "membership": {"knows": "a reference sample", "unit": "AUC", "low": 0, "no_leak": 0.5},
    "inference": {"knows": "all columns but the secret"},
    "linkability": {"knows": "two halves of the columns"},
    "singling out": {"knows": "nothing"},
}


class Own(TypedDict, total=False):
    """Keys of an entry that may differ from those of its family."""

    name: str
    direction: Direction
    low: float | None
    high: float | None
    no_leak: float | None
    copy: float | None
    needs: tuple[Lacking, ...]
    per: Per
    mechanism: Mechanism
    access: Access
    knows: Knows
    unit: Unit
    headline: bool
    leakage: bool
    decides: int
    by_default: bool
    printed: tuple[str, ...]
    printed_safe: tuple[str, ...]
    experimental: bool
    of_many_rows: bool


def attack(compute: Callable[..., Outcome], risk: Risk, sentence: str, **own: Unpack[Own]) -> Metric:
    """Entry of an attack on the table alone, by distances, judged beside a control set.

    Its value is the excess of success over people never seen (0 without a leak, 1 at most), that of membership an AUC
    (.5 without a leak). What an exact copy scores depends.
    """
    defaults: dict[str, Any] = {"mechanism": "distance", "access": "no_box", "needs": ("control",), "unit": "risk"}
    defaults |= {"low": None, "no_leak": 0.0, "copy": None, **_OF_RISK[risk]}
    return _entry(compute, sentence, own, family="privacy", pillar="attack", risk=risk, **defaults)


def attack_with_trainings(compute: Callable[..., Outcome], risk: Risk, sentence: str, **own: Unpack[Own]) -> Metric:
    """Entry of an attack that repeats the training with people of its own."""
    own.setdefault("mechanism", "shadow")
    own.setdefault("access", "black_box")
    own.setdefault("knows", "own people and the generator")
    own.setdefault("needs", ("control", "retraining"))
    return attack(compute, risk, sentence, **own)


def indicator(compute: Callable[..., Outcome], sentence: str, **own: Unpack[Own]) -> Metric:
    """Entry of a statistic without an adversary: a share of rows by distance, beside a control set; 1 for a copy."""
    shared: dict[str, Any] = {"pillar": "indicator", "risk": "propensity", "knows": "nothing", "access": "no_box"}
    shared |= {"mechanism": "distance", "unit": "share of rows", "copy": 1.0, "needs": ("control",)}
    return _entry(compute, sentence, own, family="privacy", **shared)


def attained(compute: Callable[..., Outcome], sentence: str, risk: Risk | None = None, **own: Unpack[Own]) -> Metric:
    """Entry of a property of the table with respect to its quasi-identifiers, 1 or more, higher being better."""
    shared: dict[str, Any] = {"pillar": "property", "risk": risk, "needs": ("quasi_identifiers",)}
    shared |= {"direction": "higher", "low": 1, "high": None, "copy": None}
    return _entry(compute, sentence, own, family="privacy", **shared)


def utility(compute: Callable[..., Outcome], sentence: str, **own: Unpack[Own]) -> Metric:
    """Entry of a metric of usefulness, 0 to 1, measured on the control set; a metric per target is about a model."""
    return _entry(compute, sentence, own, family="utility", needs=("control",), predictor=own.get("per") == "target")


def fidelity(compute: Callable[..., Outcome], sentence: str, **own: Unpack[Own]) -> Metric:
    """Entry of a distance to the real table, 0 to 1, or with ``direction="higher"`` of a likeness."""
    return _entry(compute, sentence, own, family="fidelity")


def _entry(compute: Callable[..., Outcome], sentence: str, own: Own, **shared: Any) -> Metric:
    stated = {"direction": "lower", **shared, **own}
    perfect = 0.0 if stated["direction"] == "lower" else 1.0
    bounds = {"low": 0, "high": 1, "no_leak": None, "copy": perfect}
    name = own.get("name") or compute.__name__
    return Metric(compute=compute, sentence=sentence, **{**bounds, **stated, "name": name})
