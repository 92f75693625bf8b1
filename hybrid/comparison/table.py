"""The results table of a comparison: one row per trial.

Columns, in this order:

- ``configuration``, one per factor (its dotted key; mappings and lists as one line of YAML), ``seed``;
- ``status`` (``ok`` or ``failed``), ``reason`` (of a failure), ``verdict`` (of the gate);
- per stage and metric ``<stage>.<metric>[.<column>]`` and, where it has them, the same name with ``_low``, ``_high``
  (interval) and ``_reference``; stages are original, anonymized, synthetic and baseline. Missing: not computable;
- ``seconds.<stage of the walk>``: what computing that stage took, in this trial or the one that computed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from hybrid.analysis.results import BESIDE, STAGES
from hybrid.comparison.expand import Expansion, shown

TABLE = "comparison.csv"
LEFT_OUT = "left_out.csv"


def results_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table: what every row has, then the metrics, then the seconds."""
    columns = dict.fromkeys(name for row in rows for name in row)
    last = [name for name in columns if name.startswith("seconds.")]
    return pd.DataFrame(rows, columns=[name for name in columns if name not in last] + last)


def left_out_table(expansion: Expansion) -> pd.DataFrame:
    """Combinations that were not run: a column per factor, and ``reason``."""
    rows = [
        {name: shown(value) for name, value in each.factors.items()} | {"reason": each.reason}
        for each in expansion.left_out
    ]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["reason"])


def metric_names(comparison: pd.DataFrame) -> list[str]:
    """The columns of a comparison that are values of metrics."""
    names = [name for name in comparison.columns if name.partition(".")[0] in STAGES]
    beside = {f"{name}_{what}" for name in names for what in BESIDE}
    return [name for name in names if name not in beside]
