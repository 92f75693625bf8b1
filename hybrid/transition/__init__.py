"""From generalized labels back to specific values, one file per strategy."""

from hybrid.transition.base import FittedTransition, Restored, Transition
from hybrid.transition.conditional import Conditional
from hybrid.transition.single import Single
from hybrid.transition.uniform import Uniform

REGISTRY: dict[str, Transition] = {strategy.name: strategy for strategy in (Single(), Uniform(), Conditional())}
"""Every strategy by the name that ``transition.method`` gives it."""

__all__ = ["REGISTRY", "FittedTransition", "Restored", "Transition"]
