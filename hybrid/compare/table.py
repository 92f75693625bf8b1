"""The results table of a comparison: one row per trial, and the report made from it.

Columns, in this order:

- ``configuration``, one per factor (its dotted key; mappings and lists as one line of YAML), ``seed``;
- ``status`` (``ok`` or ``failed``), ``reason`` (of a failure), ``verdict`` (of the gate);
- per stage and metric ``<stage>.<metric>[.<column>]`` and, where it has them, the same name with ``_low``, ``_high``
  (interval) and ``_reference``; stages are anonymized, synthetic and baseline. Missing: not computable;
- ``seconds.<stage of the walk>``: what computing that stage took, in this trial or the one that computed it.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from hybrid.compare.plan import ComparePlan
from hybrid.evaluate import REGISTRY
from hybrid.report import describe, render_comparison
from hybrid.table.write import write_text

STAGES = ("anonymized", "synthetic", "baseline")
BESIDE = ("low", "high", "reference")
"""What stands beside a metric's value, in columns of their own."""


def metric_names(comparison: pd.DataFrame) -> list[str]:
    """The columns of a comparison that are values of metrics."""
    names = [name for name in comparison.columns if name.partition(".")[0] in STAGES]
    beside = {f"{name}_{what}" for name in names for what in BESIDE}
    return [name for name in names if name not in beside]


def write_comparison(plan: ComparePlan, comparison: pd.DataFrame, out: Path) -> Path:
    """Write ``comparison.html``; returns its path."""
    report = out / "comparison.html"
    write_text(
        report,
        render_comparison(
            plan.name, comparison, list(plan.factors), metric_names(comparison), describe(REGISTRY.values())
        ),
    )
    return report
