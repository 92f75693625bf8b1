"""Attack outcome: success on training records against success on control records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import failure_ratio, independent_attempts, risk, simultaneous, wilson
from hybrid.evaluation.measure import Measure, NotComputable, Outcome, excesses

LEAST_HEADROOM = 0.01
"""Least difference between the success on a copy and on control where only a part of train is attacked."""


@dataclass(frozen=True)
class Attack:
    """Successes and attempts on train and on control; successes may be expectations over ties or random parts."""

    train: float
    control: float
    n_train: int
    n_control: int
    confidence: float
    reach: float = 1.0
    """Success rate on train if the table were a copy of it; below 1 where a part of train is attacked."""
    independent: tuple[float, float] | None = None
    """Independent attempts that those on train and on control are worth, where attempts depend on each other."""

    def measure(self, **details: Any) -> Measure:
        """Risk R = (r_T - r_C)/(reach - r_C), raw and signed.

        Rates and counts are in the details. With a reach of 1 this is Giomi et al.'s eq. 4; below 1 it is 1 for a copy
        of train all the same. The interval is the wider of the propagated one (Giomi et al. 2023), which is symmetric
        and too narrow for few attacks, and of :func:`failure_ratio`'s.
        """
        mine = wilson(self.train, self.n_train, self.confidence)
        other = wilson(self.control, self.n_control, self.confidence)
        excess = risk(mine, other)
        if excess is None:
            raise ZeroDivisionError
        shown = {
            "attacks": self.n_train,
            "successes": self.train,
            "train_rate": mine.value,
            "train_interval": [mine.value - mine.error, mine.value + mine.error],
            "control_attacks": self.n_control,
            "control_successes": self.control,
            "control_rate": other.value,
            "control_interval": [other.value - other.error, other.value + other.error],
        }
        copied = 1.0 if self.reach == 1 else wilson(self.reach * self.n_train, self.n_train, self.confidence).value
        scale = (1 - other.value) / (copied - other.value)
        bounds = [self._bounds(self.n_train, self.n_control)]
        if self.independent is not None:
            bounds.append(self._bounds(*self.independent))
        value, low, high = scale * excess.value, scale * min(b[0] for b in bounds), scale * max(b[1] for b in bounds)
        found = self.n_train, shown | details, (value, low, high)
        return Measure(value, low, high, 0.0, *found, unshrunk=self._observed())

    def _observed(self) -> tuple[float, float, float]:
        """Risk of the observed rates, with the bounds of :func:`failure_ratio`."""
        train, control = self.train / self.n_train, self.control / self.n_control
        mine, its = self.independent or (self.n_train, self.n_control)
        bounds = failure_ratio((train * mine, mine), (control * its, its), self.confidence)
        scale = (1 - control) / (self.reach - control)
        value, low, high = (scale * (1 - ratio) for ratio in ((1 - train) / (1 - control), bounds[1], bounds[0]))
        return value, min(low, value), max(high, value)

    def _bounds(self, n_train: float, n_control: float) -> tuple[float, float]:
        """Interval of (r_T - r_C)/(1 - r_C) if the rates came from so many independent attempts."""
        mine = self.train / self.n_train * n_train, n_train
        other = self.control / self.n_control * n_control, n_control
        spread = risk(wilson(*mine, self.confidence), wilson(*other, self.confidence))
        least, most = failure_ratio(mine, other, self.confidence)
        return (1 - most, 1 - least) if spread is None else (min(spread.low, 1 - most), max(spread.high, 1 - least))

    def printed(self) -> dict[str, Any]:
        """Risk as the papers print it, cut to 0..1, with the propagated interval of this one attack."""
        rates = wilson(self.train, self.n_train, self.confidence), wilson(self.control, self.n_control, self.confidence)
        value, low, high = risk(*rates) or (math.nan,) * 3
        return {"risk": min(max(value, 0.0), 1.0), "interval": [low, high], "successes": self.train}


def attacked(
    train: float,
    control: float,
    n_train: int,
    n_control: int,
    confidence: float,
    reach: float = 1.0,
    independent: tuple[float, float] | None = None,
) -> Attack | NotComputable:
    """The attack, if the control leaves headroom for a risk; ``reach`` and ``independent`` as in :class:`Attack`."""
    rate = wilson(control, n_control, confidence).value
    if rate > 1 - 1e-9 or control >= n_control:
        return NotComputable("the attack always succeeds on people never seen", lacks="headroom")
    if reach < 1 and reach - rate < LEAST_HEADROOM:
        return NotComputable("the control set is too small beside the training table for this attack", "too_few")
    return Attack(float(train), float(control), n_train, n_control, confidence, reach, independent)


def attacked_people(
    context: Context, train: Array, control: Array, rows: tuple[Array, Array] | None = None
) -> Attack | NotComputable:
    """The attack on records (by default those that searches query), with an interval of persons, not of records."""
    clusters = context.clusters(*(context.asked_people if rows is None else rows))
    worth = None
    if clusters is not None:
        worth = independent_attempts(train, clusters[0]), independent_attempts(control, clusters[1])
    sides = float(train.sum()), float(control.sum()), len(train), len(control)
    return attacked(*sides, context.options.confidence, independent=worth)


def measured(made: Attack | NotComputable, **details: Any) -> Outcome:
    return made if isinstance(made, NotComputable) else made.measure(**details)


def printed(made: Attack | NotComputable) -> dict[str, Any] | None:
    return None if isinstance(made, NotComputable) else made.printed()


def worst(attacks: Mapping[str, Attack | NotComputable], over: str, confidence: float, paper: bool = False) -> Outcome:
    """Risk of the attack with the highest lower bound, with an interval that holds for all of them at once (Sidak).

    A maximum is biased up: its lower bound, not its value, says whether there is a leak. The mean is in details, with
    ``paper`` also the largest risk with the interval of a single attack, as the thesis has it.
    """
    made = {name: attack for name, attack in attacks.items() if isinstance(attack, Attack)}
    if not made:
        return next(iter(attacks.values()), None) or NotComputable("nothing to attack")  # type: ignore[return-value]
    level = simultaneous(confidence, len(made))
    wide = {name: replace(attack, confidence=level).measure() for name, attack in made.items()}
    single = {name: attack.measure() for name, attack in made.items()}
    top = max(wide, key=lambda name: (wide[name].interval[1], single[name].value, name))
    each = {
        name: {"value": single[name].value, "low": wide[name].low, "high": wide[name].high}
        | {key: single[name].details[key] for key in ("attacks", "successes", "train_rate", "control_rate")}
        for name in made
    }
    details = single[top].details | {
        over: each,
        f"worst_{over}": top,
        "mean": float(np.mean([measure.value for measure in single.values()])),
        "interval": f"simultaneous over {len(made)}",
        "not_computable": {name: a.reason for name, a in attacks.items() if isinstance(a, NotComputable)},
    }
    if paper:
        details["paper"] = made[max(made, key=lambda name: (single[name].value, name))].printed()
    value, low, high = single[top].value, wide[top].low, wide[top].high
    assert low is not None and high is not None
    parts = excesses({name: one.unshrunk for name, one in wide.items() if one.unshrunk is not None}, wide[top].n)
    return Measure(value, low, high, 0.0, wide[top].n, details, (value, low, high), len(made), parts)
