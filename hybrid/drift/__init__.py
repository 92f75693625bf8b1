"""Whether tonight's table is still the one that was released last."""

from hybrid.drift.baseline import Baseline, find_baseline, keep_baseline
from hybrid.drift.compare import DriftFinding, compare
from hybrid.drift.options import DriftOptions
from hybrid.drift.statistics import TableStatistics, describe

__all__ = [
    "Baseline",
    "DriftFinding",
    "DriftOptions",
    "TableStatistics",
    "compare",
    "describe",
    "find_baseline",
    "keep_baseline",
]
