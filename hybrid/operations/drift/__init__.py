"""Drift of tonight's table from the one that was released last."""

from hybrid.operations.drift.baseline import Baseline, find_baseline, keep_baseline
from hybrid.operations.drift.findings import DriftFinding, compare, compare_tables
from hybrid.operations.drift.options import DriftOptions
from hybrid.operations.drift.statistics import TableStatistics, describe

__all__ = [
    "Baseline",
    "DriftFinding",
    "DriftOptions",
    "TableStatistics",
    "compare",
    "compare_tables",
    "describe",
    "find_baseline",
    "keep_baseline",
]
