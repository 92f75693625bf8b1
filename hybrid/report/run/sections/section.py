"""Section of a run's report, and the run as sections see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from hybrid.anonymize import AnonymizedTable
from hybrid.constraints import Redrawn, Rules
from hybrid.evaluation.measure import Evaluation
from hybrid.protect import Protected
from hybrid.publication.policy import Policy
from hybrid.report.run.inputs import ReportInputs
from hybrid.table import Table


class ReportedRun(Protocol):
    """A finished run (:class:`hybrid.pipeline.table_run.TableRun`) as sections see it."""

    @property
    def train(self) -> Table:
        """Records the generator may learn from."""

    @property
    def control(self) -> Table | None:
        """Records that no generator sees."""

    @property
    def protected(self) -> Protected | None:
        """Training records without rare values; None where protection is off.

        Rare values are those that few people hold.
        """

    @property
    def anonymized(self) -> AnonymizedTable | None:
        """The intermediate table; None if nothing is anonymized."""

    @property
    def synthetic(self) -> Table:
        """The table to be released, or its judged sample."""

    @property
    def released_rows(self) -> int:
        """Rows of the table to be released."""

    @property
    def learned_records(self) -> int | None:
        """Records that the generator learned from; None where none ran, or where their number is not published."""

    @property
    def evaluation(self) -> Evaluation:
        """All metrics."""

    @property
    def table(self) -> Table:
        """The source, with all its columns."""

    @property
    def config(self) -> BaseModel:
        """The configuration as resolved."""

    @property
    def policy(self) -> Policy:
        """The rules of the gate."""

    @property
    def rules(self) -> Rules:
        """The declared constraints, fitted to the training records."""

    @property
    def redrawn(self) -> Redrawn | None:
        """Rows drawn again for constraints or a condition; None without."""

    @property
    def is_unsynthesized(self) -> bool:
        """True if no generator runs."""

    @property
    def is_private(self) -> bool:
        """True if differential privacy is claimed."""


@dataclass(frozen=True)
class Section:
    """A section of the report."""

    anchor: str
    """Id of the section's element; unique."""
    title: str
    """Heading, and entry of the navigation."""
    template: str
    """Jinja source of the content below the heading. It sees ``run`` (the :class:`ReportInputs`), what ``values``
    returns, the macros of ``templates/parts.html`` (``exposure_table``, ``metric_tables``) and the filters ``number``,
    ``percent`` and ``count``. Everything it prints is escaped."""
    values: Callable[[ReportInputs], Mapping[str, Any] | None] = lambda inputs: {}  # noqa: ARG005
    """From the report's inputs to the names the template uses; None leaves the section out. Not given: the template
    reads ``run`` alone."""
    lead: str = ""
    """A sentence below the heading."""
    collect: Callable[[ReportedRun, int], Any] | None = None
    """From the finished run to what only this section needs: aggregates of at least ``smallest`` records each, never a
    record. ``values`` finds it in ``inputs.collected`` under the anchor; it is not there for audits, which have no
    run."""
