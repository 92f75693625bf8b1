"""Overviews of columns for the page of the roles: frequent values, their shares, and the effect of each role.

Cell values are on the screen of the steward alone, and there only those that enough people share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from hybrid.base.language import ENGLISH, Language
from hybrid.desk.editor import Editor
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.draft_column import DraftColumn
from hybrid.report.charts.exploration import strip_chart
from hybrid.table import Kind, Table
from hybrid.table.cells import column_cells, least_cell
from hybrid.table.dependencies import unique_share

MOST_CELLS = 30_000_000
"""Rows times columns of a table beyond which uniqueness is on the page of each column alone, and no run is forecast."""
_FREQUENT, _LONGEST = 3, 24


@dataclass(frozen=True)
class ColumnOverview:
    """One column of the page of the roles."""

    kind: Kind
    """Of its values."""
    distinct: int
    missing: int
    """Different values, and rows without one."""
    name: str
    """Of the column."""
    shares: tuple[tuple[str, float], ...]
    """Values or intervals that enough people share, with their shares of the known values, 0..1."""
    known: float | None = None
    unknown: float | None = None
    """Share of rows, 0..1, of people who are alone on the quasi-identifiers, if others know this column, too, and if
    they do not. None where that is not measured."""

    def frequent(self, language: Language = ENGLISH) -> list[tuple[str, float]]:
        """The most frequent of the values or intervals."""
        return sorted(self._labelled(language), key=lambda one: -one[1])[:_FREQUENT]

    def chart(self, language: Language = ENGLISH) -> Markup:
        """Shares of all of them."""
        return strip_chart(self.name, self._labelled(language), language)

    def _labelled(self, language: Language) -> list[tuple[str, float]]:
        in_words = language.label if self.kind.is_continuous else str
        return [(in_words(label), share) for label, share in self.shares]

    @property
    def risk(self) -> float:
        """Increase of the share of rows of people who are alone by this column, 0..1; 0 where not measured."""
        return 0.0 if self.known is None or self.unknown is None else max(self.known - self.unknown, 0.0)


class Overviews:
    """Overviews of the columns of a configuration, measured anew where table or quasi-identifiers changed."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._kept: dict[str, tuple[pd.DataFrame, object, ColumnOverview]] = {}

    def of(self, draft: Draft, column: DraftColumn) -> ColumnOverview | None:
        """Overview of a column; None if the table has no such column."""
        table, own = self._editor.table(column), column.path[-1]
        if own not in table.schema:
            return None
        among = table.schema.quasi_identifiers if _has_people(draft, column) else ()
        least = least_cell(draft.config.k)
        key = tuple(among), least, table.schema[own].kind
        kept = self._kept.get(column.name)
        if kept is None or kept[0] is not table.frame or kept[1] != key:
            kept = self._kept[column.name] = table.frame, key, _overview(table, own, among, least)
        return kept[2]


def _has_people(draft: Draft, column: DraftColumn) -> bool:
    return column.table in (None, draft["person"])


def _overview(table: Table, name: str, among: Sequence[str], least: int) -> ColumnOverview:
    values, kind = table.frame[name], table.schema[name].kind
    others = [one for one in among if one != name]
    measured = bool(len(table)) and len(table) * len(table.schema) <= MOST_CELLS
    known = unique_share(table, [*others, name]) if measured else None
    unknown = unique_share(table, others) if measured else None
    shares = tuple(_shares(table, name, least))
    return ColumnOverview(kind, int(values.nunique()), int(values.isna().sum()), name, shares, known, unknown)


def _shares(table: Table, name: str, least: int) -> list[tuple[str, float]]:
    """Values or intervals with their shares, without those of fewer than ``least`` people."""
    cells = column_cells(table, name, least)
    if cells is None:
        return []
    counts = np.bincount(cells.assign(table.frame[name]), minlength=len(cells))[: len(cells)]
    shown = len(cells) if cells.edges else len(cells) - 1
    whole = counts.sum() - (counts[shown:].sum() if cells.hidden else 0)
    return [
        (label[:_LONGEST], float(count / whole)) for label, count in zip(cells.labels, counts[:shown], strict=False)
    ]
