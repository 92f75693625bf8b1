"""From generalized labels back to specific values, one file per strategy."""

from hybrid.transition.base import FittedTransition, Restored, Transition
from hybrid.transition.blend import Blend
from hybrid.transition.chow_liu import ChowLiu
from hybrid.transition.conditional import Conditional
from hybrid.transition.marginal import Marginal
from hybrid.transition.noisy import Noisy
from hybrid.transition.shrunk import Shrunk
from hybrid.transition.single import Single
from hybrid.transition.tree import Tree
from hybrid.transition.uniform import Uniform

_STRATEGIES = (Single(), Uniform(), Conditional(), Tree(), Marginal(), ChowLiu(), Noisy(), Blend(), Shrunk())
REGISTRY: dict[str, Transition] = {strategy.name: strategy for strategy in _STRATEGIES}
"""Every strategy by the name that ``transition.method`` gives it."""

__all__ = ["REGISTRY", "FittedTransition", "Restored", "Transition"]
