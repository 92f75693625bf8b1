"""Privacy statements of a configuration, one per mechanism: sampling with k-anonymity, noise, a private generator."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.privacy_statements import (
    Explanation,
    StatementBasis,
    explain_generator,
    explain_masking,
    explain_noisy,
    stated_budget,
)
from hybrid.pipeline.sampled_labels import explain
from hybrid.privacy.accounting import at_most

NOTHING = "no proven promise"


def promise(config: RunConfig, explanations: Sequence[Explanation]) -> str:
    """Formal promises of a configuration with their numbers, the strongest first; :data:`NOTHING` where there is none.

    ``explanations`` are those of every mechanism of the configuration, with a secret seed.
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


def promises(basis: StatementBasis, listed: Container[str]) -> tuple[Explanation, ...]:
    """Explain each mechanism that a configuration uses.

    Empty where nothing is anonymized and the generator has no budget. ``listed`` are columns whose values hierarchy
    files list, so that a generator does not take them from the records.
    """
    found = explain_sampling(basis), explain_noisy(basis), explain_generator(basis, listed)
    return tuple(explanation for explanation in found if explanation is not None)


def explain_sampling(basis: StatementBasis) -> Explanation | None:
    """Explain anonymization with sampling; None without anonymization."""
    config = basis.config
    if config.anonymize is None or config.transition is None:
        return None
    return explain(basis) if config.anonymize.generalizes else explain_masking(basis)
