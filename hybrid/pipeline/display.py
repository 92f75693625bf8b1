"""Short forms of a run for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError
from hybrid.report.charts.figures import column_chart
from hybrid.report.charts.svg import Figure
from hybrid.report.side_by_side import compare_tables
from hybrid.table.cells import least_cell

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun
    from hybrid.table import Table


def in_words(what: str, run: Any, name: str) -> str:
    """A run in a few lines: what is computed of it already."""
    if not _is_judged(run):
        return f"{what} {name}: not judged yet; .verdict computes everything"
    return f"{what} {name}: {run.verdict!r}\n{run.evaluation!r}"


def in_html(run: Any, name: str) -> str:
    """A run for a notebook: as :func:`in_words`."""
    if not _is_judged(run):
        return f"<p>{escape(name)}: not judged yet</p>"
    return f"<h4>{escape(name)}</h4>{run.verdict._repr_html_()}<p>{escape(repr(run.evaluation))}</p>"


def _is_judged(run: Any) -> bool:
    return all(stage in vars(run) for stage in ("evaluation", "power"))


def plotted(pipeline: TableRun, columns: Sequence[str]) -> Figure:
    """Charts of columns, real beside synthetic; as :meth:`hybrid.pipeline.table_run.TableRun.plot`."""
    compared, control = pipeline.charted
    return compared_figure(compared, pipeline.generated.table, control, columns, pipeline.config.k)


def compared_figure(real: Table, made: Table, control: Table | None, columns: Sequence[str], k: int = 0) -> Figure:
    """Charts of columns of two tables, without small groups.

    ``control`` are records that the second was not made from. No ``columns``: all. Groups of fewer than max(5, k)
    people are pooled.
    """
    found = compare_tables(real, made, control, least_cell(k))
    views = {view.name: view for view in found.columns}
    unknown = [name for name in columns if name not in views]
    if unknown:
        raise ConfigError(f"no such column: {', '.join(unknown)}", hint=f"one of: {', '.join(views)}")
    chosen = [views[name] for name in columns] or list(views.values())
    return Figure(tuple((view.name, column_chart(view)) for view in chosen))
