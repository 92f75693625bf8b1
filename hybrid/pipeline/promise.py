"""Formal promises of a configuration, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.explanation import Explanation

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
        return f"epsilon = {first.epsilon:.3g} and delta <= {first.delta:.2g}"
    if config.privacy is not None:
        return f"epsilon = {config.privacy.epsilon:g} and delta = {config.privacy.delta:g}"
    options = config.synthesize.resolve()
    return f"epsilon = {getattr(options, 'epsilon', 0):g} and delta = {getattr(options, 'delta', 0):g}"
