"""Public report of a differentially private table.

It has no figure of a real record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hybrid.base.language import ENGLISH, Language, in_language
from hybrid.publication.first_page import FirstPage
from hybrid.publication.private_words import account
from hybrid.report.charts.figures import percent
from hybrid.report.run.render import environment
from hybrid.table import Column, Table
from hybrid.table.text import as_text

_SHOWN = 5
"""Most frequent categories that are shown."""
_QUANTILES = {"10 %": 0.1, "half": 0.5, "90 %": 0.9}


@dataclass(frozen=True)
class ReleasedColumn:
    """Distribution of one column of the released table."""

    name: str
    kind: str
    """What the column is."""
    missing: float
    """Share of missing values, 0..1."""
    distinct: int
    """Different values that are not missing."""
    words: str
    """Quantiles of a number, date or time; the most frequent categories with their shares."""


def render_public(
    name: str,
    day: str,
    page: FirstPage,
    budget: Mapping[str, Any],
    table: Table,
    config: str,
    versions: Mapping[str, str],
    language: Language = ENGLISH,
) -> str:
    """Render the report of a private table as one self-contained HTML document.

    ``page`` is that of :func:`hybrid.publication.first_page.private_page`, ``budget`` that of
    :meth:`hybrid.privacy.accounting.Budget.to_json`, ``config`` the public configuration as YAML; ``day`` is in ISO
    8601. As :func:`hybrid.report.run.render.render_report`, in a language as a whole.
    """
    columns = [_released(column, table.frame[column.name]) for column in table.schema]
    known: dict[str, Any] = {
        "name": name,
        "day": day,
        "page": page,
        "budget": budget,
        "config": config,
        "versions": versions,
    }
    known |= {"account": account(budget), "columns": columns}
    return in_language(
        language,
        lambda chosen, note: environment(chosen.code).get_template("public.html").render(note=note, **known),
    )


def _released(column: Column, values: pd.Series) -> ReleasedColumn:
    present = values.dropna()
    words = _quantiles(column, present) if column.kind.is_continuous else _frequent(present)
    return ReleasedColumn(column.name, str(column.kind), float(values.isna().mean()), present.nunique(), words)


def _quantiles(column: Column, present: pd.Series) -> str:
    if present.empty:
        return ""
    texts = as_text(present.sort_values(ignore_index=True), column)
    at = {words: texts.iloc[int(share * (len(texts) - 1))] for words, share in _QUANTILES.items()}
    return ", ".join(f"{words} up to {value}" for words, value in at.items())


def _frequent(present: pd.Series) -> str:
    shares = present.value_counts(normalize=True)
    shares = shares[shares > 0]
    shown = [f"{value} ({percent(share)})" for value, share in shares.head(_SHOWN).items()]
    others = f", {len(shares) - _SHOWN} more" if len(shares) > _SHOWN else ""
    return ", ".join(shown) + others
