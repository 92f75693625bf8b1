"""Formal promises about one table of a run: one statement per mechanism, in words and by name.

Mechanisms are sampling with k-anonymity, noise, and a private generator.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from hybrid.base.errors import ConfigError
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.privacy_statements import (
    Explanation,
    StatementBasis,
    combined_explanation,
    explain_generator,
    explain_masking,
    explain_noisy,
    stated_budget,
)
from hybrid.pipeline.private_mode import explain_private
from hybrid.pipeline.sampled_labels import explain
from hybrid.privacy.accounting import at_most
from hybrid.table import Schema

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun

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


class Promises:
    """Formal promises about one table.

    Of the person table, columns of all linked tables are explained, which nothing generalizes.
    """

    def __init__(self, run: TableRun) -> None:
        self._run = run

    @cached_property
    def explanation(self) -> Explanation:
        """Privacy statement of the configuration."""
        if not self.explanations:
            raise ConfigError("without anonymization there is no guarantee to explain", hint="add an anonymize section")
        return combined_explanation(self.explanations)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """The promises of every mechanism of the configuration."""
        return self._explained(seeded=self._run.seeded)

    @property
    def names(self) -> str:
        """Formal promises of the configuration, where a run has a secret seed."""
        return promise(self._run.config, self._explained(seeded=False))

    @property
    def text(self) -> str | None:
        """The explanation as plain text, as a manifest keeps it, with the account of a budget; None without any."""
        run = self._run
        if run.config.privacy is not None:
            return str(explain_private(run.config, secret_seed=not run.seeded, spent=run.budget).text)
        return str(self.explanation.text) if self.explanations else None

    @property
    def is_private(self) -> bool:
        """True if differential privacy is claimed."""
        return any(explanation.is_private for explanation in self.explanations)

    def _explained(self, *, seeded: bool) -> tuple[Explanation, ...]:
        run = self._run
        if run.config.privacy is not None:
            return (explain_private(run.config, secret_seed=not seeded),)
        own = run.table.schema.without_identifiers()
        schema, known, whole = Schema((*own, *run.beside)), run.hierarchies, run.inputs.whole
        derived = [name for name in schema.quasi_identifiers if name in known and known[name].rule]
        basis = StatementBasis(
            run.config,
            schema,
            derived,
            seeded=seeded,
            nameless=bool((run.table.persons < 0).any()),
            linked=bool(run.beside),
            drawn=1.0 if whole is None else whole.result.drawn_share,
        )
        return promises(basis, run.inputs.domains)
