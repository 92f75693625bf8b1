"""From generalized labels back to specific values, one file per strategy."""

from hybrid.transition.known_values import fit_transition
from hybrid.transition.protocol import FittedTransition, Restored, Transition
from hybrid.transition.strategies.blend import Blend
from hybrid.transition.strategies.chow_liu import ChowLiu
from hybrid.transition.strategies.conditional import Conditional
from hybrid.transition.strategies.marginal import Marginal
from hybrid.transition.strategies.noisy import Noisy
from hybrid.transition.strategies.shrunk import Shrunk
from hybrid.transition.strategies.single import Single
from hybrid.transition.strategies.tree import Tree
from hybrid.transition.strategies.uniform import Uniform

_STRATEGIES = (Single(), Uniform(), Conditional(), Tree(), Marginal(), ChowLiu(), Noisy(), Blend(), Shrunk())
REGISTRY: dict[str, Transition] = {strategy.name: strategy for strategy in _STRATEGIES}
"""Every strategy by the name that ``transition.method`` gives it."""

__all__ = ["REGISTRY", "FittedTransition", "Restored", "Transition", "fit_transition"]
