"""Formal promises of a configuration, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.explanation import Explanation
from hybrid.pipeline.guarantees import stated_budget
from hybrid.privacy.accounting import at_most

NOTHING = "no proven promise"


def promise(config: RunConfig, explanations: Sequence[Explanation]) -> str:
    """Name the formal promises of a configuration.

    Parameters
    ----------
    config : RunConfig
        What is done.
    explanations : sequence of Explanation
        Of every mechanism of the configuration, with a secret seed.

    Returns
    -------
    str
        Each with its numbers, the strongest first; :data:`NOTHING` where there is none.
    """
    return "; ".join(_promises(config, explanations)) or NOTHING


def _promises(config: RunConfig, explanations: Sequence[Explanation]) -> Iterator[str]:
    for explanation in explanations:
        if explanation.is_private:
            yield f"differential privacy, {_budget(config, explanation)}"
    if config.anonymize is not None:
        yield f"k-anonymous labels, k = {config.anonymize.k}"
    if any(explanation.of_values and explanation.holds for explanation in explanations):
        yield f"exact values below labels hidden, epsilon = {getattr(config.transition, 'epsilon', 0):g}"
    if config.protection is not None:
        yield f"values of fewer than {config.protection.least_holders(config.k)} people replaced"


def _budget(config: RunConfig, explanation: Explanation) -> str:
    """Epsilon and delta of a statement that holds."""
    if explanation.guarantees:
        first = explanation.guarantees[0]
        return f"epsilon = {at_most(first.epsilon, 3)} and delta <= {at_most(first.delta, 2)}"
    if config.privacy is not None:
        return _both(config.privacy.epsilon, config.privacy.delta)
    budget = stated_budget(config)
    assert budget is not None
    return _both(*budget)


def _both(epsilon: float, delta: float) -> str:
    return f"epsilon = {at_most(epsilon, 6)} and delta = {at_most(delta, 6)}"
