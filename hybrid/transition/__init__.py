"""Transitions: from generalized labels back to specific values."""

from collections.abc import Mapping
from typing import Any

from hybrid.transition.fit import Repeats, fit_transition
from hybrid.transition.protocol import FittedTransition, Restored, Transition
from hybrid.transition.strategies.chow_liu import ChowLiu
from hybrid.transition.strategies.conditional import Conditional, Original
from hybrid.transition.strategies.labels import Single, Uniform
from hybrid.transition.strategies.mixtures import Blend, Marginal, Shrunk
from hybrid.transition.strategies.noisy import Noisy
from hybrid.transition.strategies.trees import Learned, Tree

_STRATEGIES = (
    *(Single(), Uniform(), Conditional(), Tree(), Marginal(), ChowLiu(), Noisy(), Blend(), Shrunk(), Learned()),
    Original(),
)
REGISTRY: dict[str, Transition] = {strategy.name: strategy for strategy in _STRATEGIES}
"""Every strategy by the name that ``transition.method`` gives it."""


def reads_originals(transition: Mapping[str, Any]) -> bool:
    """True if the strategy of a section ``transition``, of JSON types, reads original values.

    Also for a method that is not registered: nothing is known about it.
    """
    strategy = REGISTRY.get(str(transition.get("method")))
    if strategy is None:
        return True
    own = {name: transition[name] for name in strategy.Options.model_fields if name in transition}
    return strategy.reads_originals(strategy.Options.model_validate(own))


__all__ = ["REGISTRY", "FittedTransition", "Repeats", "Restored", "Transition", "fit_transition", "reads_originals"]
