"""Formal promises about one table of a run: their explanation, and their names."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hybrid.base.errors import ConfigError
from hybrid.pipeline.guarantees import promise, promises
from hybrid.pipeline.privacy_statements import Explanation, StatementBasis, combined_explanation
from hybrid.pipeline.private_mode import explain_private
from hybrid.table import Schema

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun


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
        """The explanation in words, with the account of a budget; None where there is nothing to explain."""
        run = self._run
        if run.config.privacy is not None:
            return explain_private(run.config, secret_seed=not run.seeded, spent=run.budget).text
        return self.explanation.text if self.explanations else None

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
