"""The outcome of an attack: success on the people at risk beside success on people never seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hybrid.evaluation.engine.intervals import failure_ratio, risk, simultaneous, wilson
from hybrid.evaluation.measure import Measure, NotComputable, Outcome


@dataclass(frozen=True)
class Attack:
    """Successes and attempts on train and on control.

    ``successes`` may be fractional: an expectation over ties or an average over subsamples.
    """

    train: float
    control: float
    n_train: int
    n_control: int
    confidence: float

    def measure(self, **details: Any) -> Measure:
        """The risk R = (r_T - r_C)/(1 - r_C), raw and signed; rates and counts in details.

        The interval is the wider of the propagated one (Giomi et al. 2023), which is symmetric and too narrow for few
        attacks, and of :func:`failure_ratio`'s.
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
        least, most = failure_ratio((self.train, self.n_train), (self.control, self.n_control), self.confidence)
        low, high = min(excess.low, 1 - most), max(excess.high, 1 - least)
        return Measure(excess.value, low, high, 0.0, self.n_train, shown | details)

    def printed(self) -> dict[str, object]:
        """The risk as the papers print it, cut to 0..1, with the propagated interval of this one attack."""
        rates = wilson(self.train, self.n_train, self.confidence), wilson(self.control, self.n_control, self.confidence)
        value, low, high = risk(*rates) or (math.nan,) * 3
        return {"risk": min(max(value, 0.0), 1.0), "interval": [low, high], "successes": self.train}


def attacked(train: float, control: float, n_train: int, n_control: int, confidence: float) -> Attack | NotComputable:
    """The attack, if the control leaves headroom for a risk."""
    if wilson(control, n_control, confidence).value > 1 - 1e-9 or control >= n_control:
        return NotComputable("no headroom: the attack always succeeds on people never seen")
    return Attack(float(train), float(control), n_train, n_control, confidence)


def worst(attacks: Mapping[str, Attack | NotComputable], over: str, confidence: float, paper: bool = False) -> Outcome:
    """The largest risk of several attacks, with an interval that holds for all of them at once (Sidak).

    A maximum is biased up: its lower bound, not its value, says whether there is a leak. The mean is in details;
    with ``paper`` also the maximum with the interval of a single attack, as the thesis has it.
    """
    made = {name: attack for name, attack in attacks.items() if isinstance(attack, Attack)}
    if not made:
        return next(iter(attacks.values()), None) or NotComputable("nothing to attack")  # type: ignore[return-value]
    level = simultaneous(confidence, len(made))
    wide = {name: replace(attack, confidence=level).measure() for name, attack in made.items()}
    single = {name: attack.measure() for name, attack in made.items()}
    top = max(wide, key=lambda name: (single[name].value, name))
    each = {
        name: {"value": single[name].value, "low": wide[name].low, "high": wide[name].high, **_rates(single[name])}
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
        details["paper"] = made[top].printed()
    return Measure(single[top].value, wide[top].low, wide[top].high, 0.0, wide[top].n, details)


def _rates(measure: Measure) -> dict[str, Any]:
    return {name: measure.details[name] for name in ("attacks", "successes", "train_rate", "control_rate")}
