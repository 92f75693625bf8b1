"""HTML reports: self-contained files that show aggregates, never a record."""

from hybrid.report.compare import TableComparison, compare_tables
from hybrid.report.comparison import render_comparison
from hybrid.report.comparison_data import comparison_json
from hybrid.report.inputs import Change, Loss, MetricText, ReportInputs, TradeOff, WalkStep, describe
from hybrid.report.render import render_report

__all__ = [
    "Change",
    "Loss",
    "MetricText",
    "ReportInputs",
    "TableComparison",
    "TradeOff",
    "WalkStep",
    "compare_tables",
    "comparison_json",
    "describe",
    "render_comparison",
    "render_report",
]
