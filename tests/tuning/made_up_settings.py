"""Settings with made-up numbers."""

from __future__ import annotations

from hybrid.tuning.measured import Auc, Measured, UtilityLosses


def measured(name: str, auc: float, usefulness: float, *, half: float = 0.03, error: float = 0.0) -> Measured:
    """A setting with this success of the attack on both groups, .6 allowed, and this usefulness."""
    attack = Auc(auc, auc - half, auc + half, 0.6)
    fall = 1 - usefulness
    return Measured(name, (attack, attack), UtilityLosses(fall, fall, fall), error)
