"""HTML reports: self-contained files that show aggregates and made-up rows, never a real record."""

from hybrid.report.comparison.data import comparison_json
from hybrid.report.comparison.page import render_comparison
from hybrid.report.run.inputs import (
    LossCurve,
    MetricText,
    ReportedChange,
    ReportedStage,
    ReportInputs,
    TradeOffPoint,
    describe,
)
from hybrid.report.run.render import render_report
from hybrid.report.side_by_side import compare_tables

__all__ = [
    "ReportedChange",
    "LossCurve",
    "MetricText",
    "ReportInputs",
    "TradeOffPoint",
    "ReportedStage",
    "compare_tables",
    "comparison_json",
    "describe",
    "render_comparison",
    "render_report",
]
