"""Audit of a synthetic table that any tool made, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.bars import shown
from hybrid.base.errors import ConfigError
from hybrid.base.notebook import NotebookResult
from hybrid.base.progress import Progress
from hybrid.python.frames import AnyTables, several_in_memory

if TYPE_CHECKING:
    from hybrid.evaluation import Evaluation
    from hybrid.jobs.audit import JudgedTables
    from hybrid.publication.verdict import Verdict
    from hybrid.python.status import Page
    from hybrid.report.charts.svg import Figure


class Audit(NotebookResult):
    """Judgement of a synthetic table. Holds the original records: private."""

    def __init__(self, judged: JudgedTables) -> None:
        self._judged = judged

    @property
    def verdict(self) -> Verdict:
        """Verdict of the policy's rules about metrics; an audit sees no intermediate table."""
        return self._judged.verdict

    @property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity; ``.to_frame()`` has a row per metric.

        The stage ``original`` is the training table judged as if it were the synthetic one: the worst case.
        """
        return self._judged.evaluation

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the tables for readers of the results; no cell values."""
        return tuple(self._judged.audited.notes)

    def report(self, *, details: bool = False) -> Page:
        """Report, shown inline by a notebook; with ``details``, its second page: every check and every figure."""
        from hybrid.python.status import Page, chosen

        return Page("report of an audit", chosen(self._judged.pages(), details=details))

    def plot(self, *columns: str) -> Figure:
        """Draw columns of a single table, real beside synthetic, without small groups; by default all."""
        from hybrid.pipeline.config import SINGLE
        from hybrid.pipeline.display import compared_figure

        found = self._judged.audited.tables.get(SINGLE)
        if found is None:
            raise ConfigError("linked tables have charts in their reports", hint="audit.save(FOLDER)")
        return compared_figure(found.train, found.synthetic, found.control, columns)

    def save(self, folder: Path | str) -> Path:
        """Write evaluation and report, as ``hybrid audit --out`` does; gives the folder, and raises as the command."""
        self._judged.write(Path(folder))
        return Path(folder)

    def __repr__(self) -> str:
        lines = [f"Audit: {self.verdict!r}", *(f"  {note}" for note in self.notes)]
        return "\n".join([*lines, "  .evaluation.to_frame()  .report()  .plot()  .save(folder)"])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{self.verdict._repr_html_()}<ul>{notes}</ul>"


def audit(
    *,
    train: AnyTables,
    synthetic: AnyTables,
    control: AnyTables | None = None,
    quasi_identifiers: Sequence[str] = (),
    secrets: Sequence[str] = (),
    targets: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    config: Any = None,
    seed: int | None = None,
    progress: Progress | bool = True,
) -> Audit:
    """Measure what a synthetic table discloses, and what it is worth, whichever tool made it.

    Nothing is written.

    Parameters
    ----------
    train : table, path, or mapping of str to tables
        Records that the generator learned from, of any library (see :func:`hybrid.synthesize`).
    synthetic : table, path, or mapping
        Records that it made, with the same columns in any order.
    control : table, path, or mapping, optional
        Records of the same population that it never saw. Without them no attack can be compared with people outside
        the data, and the verdict is a review at best.
    quasi_identifiers : sequence of str
        Columns that an attacker may know already.
    secrets : sequence of str
        Columns that an attacker wants to learn.
    targets : sequence of str
        Columns that users will predict.
    metrics : sequence of str, optional
        Only these; by default all that the policy judges.
    config : RunConfig, Draft, Path or str, optional
        Roles, metrics and policy; linked tables need one. Path or str: a YAML file.
    seed, progress
        As for :func:`hybrid.synthesize`.

    Returns
    -------
    Audit
        ``.verdict``, ``.evaluation``, ``.report()``.

    Raises
    ------
    ConfigError
        A column does not exist, or linked tables have no configuration.
    DataError
        Tables lack columns of train; control records are those of train.

    Examples
    --------
    >>> hybrid.audit(train=real, synthetic=made, control=held_out).verdict  # doctest: +SKIP
    """
    from hybrid.jobs.audit import config_with_roles, judge_tables, read_audit
    from hybrid.jobs.start import configuration
    from hybrid.table.typed_table import DATA_FRAME

    with shown(progress) as told:
        told("read", 0)
        loaded = None if config is None else configuration(config)
        if any(isinstance(one, Mapping) for one in (train, synthetic, control)):
            if quasi_identifiers or secrets or targets or metrics is not None:
                raise ConfigError("roles and metrics of linked tables are in their configuration", hint="config=...")
            if loaded is None or not loaded.is_linked:
                hint = "config=hybrid.synthesize(train, judge=False).draft guesses them, or hybrid init FOLDER"
                raise ConfigError("the audit of linked tables needs their keys and parents", hint=hint)
            given: Any = loaded
        else:
            path = str(train) if isinstance(train, str | Path) else DATA_FRAME
            given = config_with_roles(loaded, path, targets, secrets, quasi_identifiers)
            given = given if metrics is None else given.with_values({"evaluate.metrics": list(metrics)})
        held = None if control is None else _source(control)
        return Audit(judge_tables(read_audit(_source(train), held, _source(synthetic), given), given, seed, told))


def _source(data: Any) -> Any:
    return Path(data) if isinstance(data, str | Path) else several_in_memory(data)
